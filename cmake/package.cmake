# `cmake --install` and CPack: the program, its manual page, completions, documents and examples of how to run it.
include(GNUInstallDirs)
set(pages ${CMAKE_BINARY_DIR}/pages)
add_custom_command(
  OUTPUT ${pages}/forerun.1.gz ${pages}/forerun.bash ${pages}/_forerun
  COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}
  COMMAND forerun manual --man > ${pages}/forerun.1
  COMMAND gzip -9nf ${pages}/forerun.1
  COMMAND forerun manual --bash > ${pages}/forerun.bash
  COMMAND forerun manual --zsh > ${pages}/_forerun
  COMMAND forerun completion fish > ${pages}/forerun.fish
  DEPENDS forerun VERBATIM)
add_custom_target(forerun_pages ALL DEPENDS ${pages}/forerun.1.gz)

install(TARGETS forerun DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES ${pages}/forerun.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${pages}/forerun.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME forerun COMPONENT program)
install(FILES ${pages}/_forerun DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${pages}/forerun.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT program)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)  # takes only the components above
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_VENDOR Forerun)
set(CPACK_PACKAGE_CONTACT "The Forerun authors <forerun@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "How a neural network will run before it runs")
set(CPACK_PACKAGE_DESCRIPTION "Latency, throughput, memory, energy, cost and carbon of a network on any device of its catalogue,
for inference, training and serving, from the model file alone: no GPU, no framework and no weights are needed.")
set(CPACK_PACKAGE_FILE_NAME forerun-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_NAME forerun)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), libstdc++6 (>= 12), libgcc-s1 (>= 3.0)")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
