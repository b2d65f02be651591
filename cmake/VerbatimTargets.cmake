# verbatim_library and verbatim_test: every target of the house gets the same flags. Not for third-party code.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(verbatim_flags INTERFACE)
# numerics.md 0: the compiler may not fuse a*b+c; only what is written as fma is fused.
target_compile_options(verbatim_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  $<$<BOOL:${VERBATIM_WARNINGS_AS_ERRORS}>:-Werror>)
target_include_directories(verbatim_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
if(VERBATIM_SANITIZER)
  target_compile_options(verbatim_flags INTERFACE -fsanitize=${VERBATIM_SANITIZER} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(verbatim_flags INTERFACE -fsanitize=${VERBATIM_SANITIZER})
endif()
if(VERBATIM_BUILD_FUZZERS)  # coverage for libFuzzer in every library; its main() only in verbatim_fuzzer targets
  target_compile_options(verbatim_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(verbatim_flags INTERFACE -fsanitize=fuzzer-no-link)
  include(VerbatimFuzzers)
endif()
include(VerbatimPythonTests)

# Some thirty test programs with the layers in each: instrumented, that is 1.5 GB, so there they share them.
set(VERBATIM_LIBRARY_TYPE STATIC)
if(VERBATIM_SANITIZER AND NOT VERBATIM_BUILD_FUZZERS)
  set(VERBATIM_LIBRARY_TYPE SHARED)
endif()

# verbatim_library(base SOURCES a.cc b.cc DEPS verbatim::x OpenSSL::Crypto) -> target verbatim::base
function(verbatim_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(verbatim_${name} ${VERBATIM_LIBRARY_TYPE} ${ARG_SOURCES})
  add_library(verbatim::${name} ALIAS verbatim_${name})
  target_link_libraries(verbatim_${name} PUBLIC verbatim_flags ${ARG_DEPS})
endfunction()

# A sanitizer's build is five to twenty times slower, and as many tests run at a time as there are cores.
set(VERBATIM_TIMEOUT_FACTOR 1)
if(VERBATIM_SANITIZER)
  set(VERBATIM_TIMEOUT_FACTOR 6)
endif()

# verbatim_test(base_test SOURCES a_test.cc DEPS verbatim::base [LABELS slow] [TIMEOUT 300])
# Each gtest case becomes a ctest case; VERBATIM_SOURCE_DIR names the checkout for tests that read files.
function(verbatim_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * ${VERBATIM_TIMEOUT_FACTOR}")
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE VERBATIM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(VERBATIM_SANITIZER)  # tests/support/sample_size.h
    target_compile_definitions(${name} PRIVATE VERBATIM_SANITIZED)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
