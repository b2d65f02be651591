#!/usr/bin/env bash
# Removes what `cmake --install BUILD --prefix PREFIX` would write, and our folders if nothing else is in them. Not what others put there.
#   [DESTDIR=...] tools/uninstall.sh BUILD PREFIX
set -euo pipefail
build="$1" prefix="$(realpath -ms "$2")"
stage="$(mktemp -d)"
trap 'rm -rf "$stage"' EXIT
# The list is made anew by a staged installation: a manifest would be that of the last installation, wherever it went.
DESTDIR="$stage" cmake --install "$build" --prefix "$prefix" >/dev/null
cd "$stage"
find . \( -type f -o -type l \) -printf '%P\0' | while IFS= read -r -d '' file; do
  if [[ -e "${DESTDIR:-}/$file" || -L "${DESTDIR:-}/$file" ]]; then rm -fv -- "${DESTDIR:-}/$file"; fi
done
# Deepest first; shared ones such as bin stay, as do those with other people's files.
find . -depth -type d -path '*/verbatim*' -printf '%P\0' | while IFS= read -r -d '' folder; do
  rmdir --ignore-fail-on-non-empty -- "${DESTDIR:-}/$folder" 2>/dev/null || true
done
