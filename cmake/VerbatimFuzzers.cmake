# verbatim_fuzzer: a libFuzzer target, and a ctest case (label fuzz) that runs it. Only in the fuzz preset.
set(VERBATIM_FUZZ_SECONDS 60 CACHE STRING "How long ctest runs each fuzz target, in seconds")
add_custom_target(verbatim_fuzzers)  # all of them

# verbatim_fuzzer(reader_fuzz SOURCES a.cc DEPS verbatim::x [CORPUS folder of seeds in the source tree])
# New inputs go to a folder in the build tree; a crash is written there too and the case fails.
function(verbatim_fuzzer name)
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE VERBATIM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_dependencies(verbatim_fuzzers ${name})
  set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}.found)
  file(MAKE_DIRECTORY ${found})
  set(seeds)
  if(ARG_CORPUS)
    get_filename_component(seeds ${ARG_CORPUS} ABSOLUTE)
  endif()
  # 4096 MB and 1 MB inputs: a reader that allocates by what a header claims must fail here, not on a user's machine.
  add_test(NAME fuzz.${name} COMMAND ${name} -max_total_time=${VERBATIM_FUZZ_SECONDS} -rss_limit_mb=4096
    -max_len=1048576 -timeout=30 -print_final_stats=1 -artifact_prefix=${found}/crash- ${found} ${seeds})
  math(EXPR timeout "${VERBATIM_FUZZ_SECONDS} + 120")
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT ${timeout})
endfunction()
