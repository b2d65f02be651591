# verbatim_python_test: a Python unittest file as one ctest case. Not for pytest.
find_program(VERBATIM_PYTHON python3 REQUIRED)

# verbatim_python_test(cli_test.py [CLIENTS] [LABELS slow] [TIMEOUT 300]) -> the case python.<folder>.cli_test
# Standard library only, but with CLIENTS: these run in the environment of tools/python_env.sh (or with VERBATIM_TEST_PYTHON, cached or from the environment), and are skipped where there is none;
# a script may say by exit code 77 that it is skipped, and why.
# The script finds the program in VERBATIM_BINARY (when it is built), the one that takes planted breaks in VERBATIM_BREAKABLE, the checkout in VERBATIM_SOURCE_DIR and the build tree in
# VERBATIM_BUILD_DIR; how much longer than usual a run may take in VERBATIM_TIMEOUT_FACTOR; the sanitizers, if any, in VERBATIM_SANITIZER.
function(verbatim_python_test script)
  cmake_parse_arguments(ARG "CLIENTS" "TIMEOUT" "LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * ${VERBATIM_TIMEOUT_FACTOR}")
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  get_filename_component(stem ${script} NAME_WE)
  set(environment VERBATIM_SOURCE_DIR=${PROJECT_SOURCE_DIR} VERBATIM_BUILD_DIR=${CMAKE_BINARY_DIR}
    VERBATIM_TIMEOUT_FACTOR=${VERBATIM_TIMEOUT_FACTOR} VERBATIM_SANITIZER=${VERBATIM_SANITIZER})
  if(TARGET verbatim)
    list(APPEND environment VERBATIM_BINARY=$<TARGET_FILE:verbatim>)
  endif()
  if(TARGET verbatim_breakable)
    list(APPEND environment VERBATIM_BREAKABLE=$<TARGET_FILE:verbatim_breakable>)
  endif()
  set(runner ${VERBATIM_PYTHON} -B)
  if(ARG_CLIENTS)
    set(runner ${PROJECT_SOURCE_DIR}/tools/python_env.sh run)
    if(VERBATIM_TEST_PYTHON)
      list(APPEND environment VERBATIM_TEST_PYTHON=${VERBATIM_TEST_PYTHON})
    endif()
  endif()
  add_test(NAME python.${folder}.${stem}
    COMMAND ${CMAKE_COMMAND} -E env ${environment} ${runner} ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  set_tests_properties(python.${folder}.${stem} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  if(ARG_CLIENTS)
    set_tests_properties(python.${folder}.${stem} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()
