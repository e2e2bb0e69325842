# FORERUN_PORTABLE: what is compiled needs glibc 2.36 and libstdc++ of GCC 12 alone; the other libraries are linked statically.
# REQUIRES: fmt, LibArchive, ZLIB and SQLite were found as shared libraries; their targets are pointed at the archives.
function(forerun_use_archive target library)
  find_library(FORERUN_${library}_ARCHIVE NAMES lib${library}.a REQUIRED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${FORERUN_${library}_ARCHIVE})
endfunction()

foreach(library lzma zstd bz2)
  find_library(FORERUN_${library}_ARCHIVE NAMES lib${library}.a REQUIRED)
  list(APPEND forerun_packers ${FORERUN_${library}_ARCHIVE})
endforeach()
# Objects of libarchive for formats that are not read here (xar, 7zip …) are left behind, and their libraries with them.
forerun_use_archive(LibArchive::LibArchive archive)
set_property(TARGET LibArchive::LibArchive APPEND PROPERTY INTERFACE_LINK_LIBRARIES "${forerun_packers};ZLIB::ZLIB")
forerun_use_archive(ZLIB::ZLIB z)
set_property(TARGET ZLIB::ZLIB PROPERTY IMPORTED_LOCATION_RELEASE ${FORERUN_z_ARCHIVE})
find_library(FORERUN_sqlite3_ARCHIVE NAMES libsqlite3.a REQUIRED)
set_property(TARGET PkgConfig::sqlite PROPERTY INTERFACE_LINK_LIBRARIES "${FORERUN_sqlite3_ARCHIVE};${CMAKE_DL_LIBS};m")
add_library(forerun_fmt STATIC ${CMAKE_SOURCE_DIR}/packaging/fmt.cpp)
get_target_property(forerun_fmt_configurations fmt::fmt IMPORTED_CONFIGURATIONS)
foreach(configuration ${forerun_fmt_configurations})
  set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION_${configuration}
                        ${CMAKE_BINARY_DIR}/${CMAKE_STATIC_LIBRARY_PREFIX}forerun_fmt${CMAKE_STATIC_LIBRARY_SUFFIX})
endforeach()
set_target_properties(forerun_fmt PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_dependencies(fmt::fmt forerun_fmt)
