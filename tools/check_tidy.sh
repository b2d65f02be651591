#!/usr/bin/env bash
# clang-tidy over src and apps with .clang-tidy's checks: tools/check_tidy.sh BUILD_FOLDER JOBS [FILE_PATTERN]. Tests are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly VERSION=19 build="$1" jobs="$2" pattern="${3:-/(src|apps)/.*\.cc$}"
if ! command -v "run-clang-tidy-$VERSION" >/dev/null; then
  echo "[tidy] expected clang-tidy-$VERSION, received none; try tools/setup.sh check" >&2
  exit 1
fi
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
# The compile database is the release compiler's, so clang must not mind g++'s own warning flags.
if ! "run-clang-tidy-$VERSION" -quiet -p "$build" -j "$jobs" -extra-arg=-Wno-unknown-warning-option \
  -extra-arg=-Wno-ignored-optimization-argument "^$PWD$pattern" >"$log" 2>&1; then
  grep -vE '^\[ *[0-9]+/|^[0-9]+ warnings? generated' "$log" >&2 || true
  exit 1
fi
echo "tidy: ok, $(grep -cE '^\[ *[0-9]+/' "$log") files"
