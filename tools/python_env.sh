#!/usr/bin/env bash
# The Python environment of the tests that use real clients (tests/requirements.txt): makes it, finds it, runs in it. Not for building.
#   tools/python_env.sh setup           makes build/python-env, or leaves it where it is up to date
#   tools/python_env.sh run SCRIPT...   runs a script in it; exit code 77, with the reason, where there is none
# VERBATIM_TEST_PYTHON names another interpreter that has the packages; then nothing is made.
set -u

readonly SKIPPED=77  # what ctest counts as skipped (cmake/VerbatimPythonTests.cmake)
readonly ROOT="$(cd "$(dirname "$0")/.." && pwd)"
readonly REQUIREMENTS="$ROOT/tests/requirements.txt"
readonly FOLDER="${VERBATIM_PYTHON_ENV:-$ROOT/build/python-env}"
# A copy of the requirements that the environment was made from, written last: it is whole.
readonly MADE_FROM="$FOLDER/made_from.txt"

say() { printf '%s\n' "python-env: $*" >&2; }

up_to_date() { [[ -x "$FOLDER/bin/python" ]] && cmp -s "$REQUIREMENTS" "$MADE_FROM"; }

setup() {
  [[ -z "${VERBATIM_TEST_PYTHON:-}" ]] || return 0
  up_to_date && return 0
  mkdir -p "$(dirname "$FOLDER")" || return 1
  exec 9>"$FOLDER.lock"
  flock 9  # two makes at once
  up_to_date && return 0
  local log="$FOLDER.log"
  say "installing the clients that tests use into $FOLDER"
  rm -rf "$FOLDER"
  if python3 -m venv "$FOLDER" >"$log" 2>&1 </dev/null &&
    "$FOLDER/bin/python" -m pip install --disable-pip-version-check --quiet --retries 2 --timeout 20 \
      -r "$REQUIREMENTS" >>"$log" 2>&1 </dev/null; then
    cp "$REQUIREMENTS" "$MADE_FROM"
    return 0
  fi
  rm -rf "$FOLDER"
  tail -n 3 "$log" | sed 's/^/python-env:   /' >&2
  say "[python-env] expected to install tests/requirements.txt, received a python3 -m venv or pip that failed (whole log: $log)"
  say "  the tests that need it are skipped"
  say "  try, with network access:  tools/setup.sh clients && tools/python_env.sh setup"
  return 1
}

run() {
  local python="${VERBATIM_TEST_PYTHON:-}"
  if [[ -z "$python" ]]; then
    if ! up_to_date; then
      printf '%s\n' "skipped: no up-to-date $FOLDER; tools/python_env.sh setup makes it"
      exit $SKIPPED
    fi
    python="$FOLDER/bin/python"
  fi
  exec "$python" -B "$@"
}

case "${1:-}" in
  setup) setup ;;
  run) shift; run "$@" ;;
  *)
    say "[arguments] expected setup or run SCRIPT..., received ${1:-nothing}"
    exit 2
    ;;
esac
