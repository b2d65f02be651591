#!/usr/bin/env bash
# clang-format over every tracked C++ file: fails on a difference, or rewrites with --fix. Not for other languages.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly VERSION=19  # another version formats differently, so exactly this one
if ! command -v "clang-format-$VERSION" >/dev/null; then
  echo "[format] expected clang-format-$VERSION, received none; try tools/setup.sh check" >&2
  exit 1
fi
mode=(--dry-run -Werror)
[[ "${1:-}" == --fix ]] && mode=(-i)
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' | while IFS= read -r -d '' file; do
  [[ -f "$file" ]] && printf '%s\0' "$file"
done | xargs -0 -r -n 32 "clang-format-$VERSION" "${mode[@]}"
echo "format: ok"
