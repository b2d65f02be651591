#!/usr/bin/env bash
# cargo fmt and clippy over src/text/ffi where they are installed; they are no prerequisite. Not a build.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly CRATE=src/text/ffi
if [[ ! -f "$CRATE/Cargo.toml" ]]; then
  echo "rust: skipped, $CRATE/Cargo.toml is not there"
  exit 0
fi
if cargo fmt --version >/dev/null 2>&1; then
  cargo fmt --manifest-path "$CRATE/Cargo.toml" --check
  echo "rust format: ok"
else
  echo "rust format: skipped, rustfmt is not installed (rustup component add rustfmt)"
fi
if cargo clippy --version >/dev/null 2>&1; then
  CARGO_TARGET_DIR=build/clippy cargo clippy --quiet --locked --manifest-path "$CRATE/Cargo.toml" -- -D warnings
  echo "clippy: ok"
else
  echo "clippy: skipped, it is not installed (rustup component add clippy)"
fi
