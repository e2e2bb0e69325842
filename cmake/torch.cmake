# forerun_link_torch(TARGET): LibTorch for the trainers, with the headers of NCCL and gloo where they are found.
# LibTorch is Debian's, or the one inside a PyTorch (CMAKE_PREFIX_PATH = torch.utils.cmake_prefix_path).
find_package(Torch QUIET)

function(forerun_link_torch target)
  find_path(GLOO_INCLUDE gloo/allreduce.h)
  if(TARGET torch_cuda)  # PyTorch's packages install NCCL in a folder next to their own
    find_path(NCCL_INCLUDE nccl.h HINTS ${TORCH_INSTALL_PREFIX}/../nvidia/nccl/include)
  endif()
  target_link_libraries(${target} PUBLIC ${TORCH_LIBRARIES})
  target_include_directories(${target} SYSTEM PUBLIC ${TORCH_INCLUDE_DIRS})
  foreach(folder ${TORCH_INCLUDE_DIRS})
    if(EXISTS ${folder}/fmt/format.h AND NOT folder STREQUAL "/usr/include")  # PyTorch ships fmt's headers without its library
      target_compile_definitions(${target} PUBLIC FMT_HEADER_ONLY)
    endif()
  endforeach()
  target_compile_options(${target} PUBLIC -Wno-unknown-pragmas)
  if(NCCL_INCLUDE)
    target_include_directories(${target} SYSTEM PUBLIC ${NCCL_INCLUDE})
  endif()
  # For one file only, so that other libraries can share this one's precompiled header.
  set_source_files_properties(training/gnn/process_group.cpp PROPERTIES COMPILE_DEFINITIONS
    "$<$<BOOL:${GLOO_INCLUDE}>:FORERUN_GLOO>;$<$<BOOL:${NCCL_INCLUDE}>:FORERUN_NCCL>")
endfunction()
