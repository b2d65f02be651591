# What cmake --install gives: program, man page, completions, libverbatim with headers, CMake package and pkg-config file, documents. Not the build of the layers.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS verbatim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# Made by the program that was just built, so that they say what it says. A cross build without an emulator has none.
add_custom_target(verbatim_install_files ALL DEPENDS verbatim)
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(made ${CMAKE_BINARY_DIR}/share)
  # verbatim_made(file folder arguments...): the program's output as folder/file, installed there.
  function(verbatim_made file folder)
    set(output ${made}/${folder}/${file})
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/${folder}
      COMMAND verbatim ${ARGN} > ${output}
      DEPENDS verbatim
      COMMENT "Making ${file}")
    set_property(TARGET verbatim_install_files APPEND PROPERTY VERBATIM_FILES ${output})
    install(FILES ${output} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
  endfunction()
  verbatim_made(verbatim.1 man/man1 help --man)
  verbatim_made(verbatim bash-completion/completions completion bash)
  verbatim_made(_verbatim zsh/site-functions completion zsh)
  verbatim_made(verbatim.fish fish/vendor_completions.d completion fish)
  get_target_property(files verbatim_install_files VERBATIM_FILES)
  add_custom_target(verbatim_made DEPENDS ${files})
  add_dependencies(verbatim_install_files verbatim_made)
endif()

install(FILES LICENSE THIRD_PARTY.md docs/cli.md docs/measuring.md docs/cpp_api.md docs/contract.md docs/numerics.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

# A sanitizer's runtime has to be in the program that loads the library, so those builds have none.
if(VERBATIM_SANITIZER OR VERBATIM_BUILD_FUZZERS)
  return()
endif()

# libverbatim: the objects of the layers linked once more, not compiled again (they are position independent already).
# The program itself stays static. Shared, because the layers' libraries and the Rust crates then are nobody else's concern.
set(layers base numerics checkpoint text ops backend state model draft engine)
list(TRANSFORM layers PREPEND verbatim_ OUTPUT_VARIABLE layer_targets)
list(TRANSFORM layer_targets REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE layer_objects)
add_library(verbatim_shared SHARED ${layer_objects})
target_link_libraries(verbatim_shared PRIVATE ${layer_targets})
target_include_directories(verbatim_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(verbatim_shared INTERFACE cxx_std_20)
# Before 1.0 every minor version may change the binary interface, so it is part of the library's name.
set_target_properties(verbatim_shared PROPERTIES OUTPUT_NAME verbatim EXPORT_NAME verbatim LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libverbatim.map)
target_link_options(verbatim_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/libverbatim.map
  -Wl,--no-undefined -Wl,--as-needed -Wl,--gc-sections)
add_dependencies(verbatim_install_files verbatim_shared)

install(TARGETS verbatim_shared EXPORT verbatimTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/verbatim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/verbatim)
configure_package_config_file(cmake/verbatimConfig.cmake.in ${CMAKE_BINARY_DIR}/verbatimConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/verbatimConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT verbatimTargets NAMESPACE verbatim:: DESTINATION ${package})
install(FILES ${CMAKE_BINARY_DIR}/verbatimConfig.cmake ${CMAKE_BINARY_DIR}/verbatimConfigVersion.cmake
  DESTINATION ${package})

# The places as seen from the file, so that a moved tree needs no change; absolute folders, which can't move, stay what they are.
set(pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE "${pkgconfig}")
  set(VERBATIM_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH to_prefix /prefix/${pkgconfig} /prefix)
  string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
  set(VERBATIM_PC_PREFIX "\${pcfiledir}/${to_prefix}")
endif()
foreach(folder INCLUDEDIR LIBDIR)
  set(VERBATIM_PC_${folder} "\${prefix}")
  cmake_path(APPEND VERBATIM_PC_${folder} "${CMAKE_INSTALL_${folder}}")
endforeach()
configure_file(cmake/verbatim.pc.in ${CMAKE_BINARY_DIR}/verbatim.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/verbatim.pc DESTINATION ${pkgconfig})
