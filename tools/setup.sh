#!/usr/bin/env bash
# Checks the prerequisites and installs missing Debian packages. Idempotent, keeps no stamp; not for building.
#   tools/setup.sh [build|check|fuzz|bench|arm64|clients]   what the named work needs (each includes build)
#   tools/setup.sh --cargo-dir                prints the folder of the cargo to use, for PATH
set -u

readonly MIN_CARGO="1.87"  # llguidance, behind src/text/ffi, needs it
readonly MIN_GCC=12        # Debian 12's; C++20 with <span>, <bit>, constexpr std::vector
readonly MIN_CLANG=16      # the first that compiles libstdc++ 12's <ranges>
# Headers alone, 1.74 or newer; the versions' packages exclude each other, so what is there stays.
boost_package() {
  local installed
  installed="$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'libboost[0-9]*-dev' 2>/dev/null |
    grep -m 1 -oE '^installed libboost[0-9]+\.[0-9]+-dev$')"
  printf '%s' "${installed#installed }"
  [[ -n "$installed" ]] || printf 'libboost-dev'
}
readonly BUILD_PACKAGES="ca-certificates ccache cmake $(boost_package) libcli11-dev libdnnl-dev libedit-dev libfmt-dev libgmock-dev libgtest-dev \
libhwy-dev libspdlog-dev libssl-dev libtomlplusplus-dev ninja-build nlohmann-json3-dev pkg-config prometheus-cpp-dev"
# The last four: tests/install asks the shells and the man page's readers themselves, and skips those that are not there.
readonly CHECK_PACKAGES="clang-format-19 clang-tidy-19 fish groff-base mandoc zsh"
readonly BENCH_PACKAGES="libbenchmark-dev"
# The browser of tests/browser, and what tools/python_env.sh makes its environment with.
readonly CLIENT_PACKAGES="chromium python3-venv"
readonly FUZZ_PACKAGES="clang-19 libclang-rt-19-dev"
# The cross compiler, the emulator, and the libraries of BUILD_PACKAGES that are not headers alone.
readonly ARM64_PACKAGES="g++-aarch64-linux-gnu qemu-user libedit-dev:arm64 libfmt-dev:arm64 libgmock-dev:arm64 \
libgtest-dev:arm64 libhwy-dev:arm64 libssl-dev:arm64"
readonly ARM64_RUST="aarch64-unknown-linux-gnu"

say() { printf '%s\n' "setup: $*" >&2; }
# at_least 1.95.0 1.87
at_least() {
  local -i major="${1%%.*}" want_major="${2%%.*}"
  local minor="${1#*.}" want_minor="${2#*.}"
  ((major != want_major)) && { ((major > want_major)); return; }
  ((${minor%%.*} >= want_minor))
}

# Sets CARGO_DIR to the first new enough cargo, and CARGO_SEEN to what was looked at.
find_cargo() {
  CARGO_DIR="" CARGO_SEEN=""
  local dir version seen=":"
  local -a dirs
  IFS=: read -r -a dirs <<<"$PATH"
  for dir in "${dirs[@]}" "${CARGO_HOME:-${HOME:-/root}/.cargo}/bin"; do
    [[ -n "$dir" && -x "$dir/cargo" && "$seen" != *":$dir:"* ]] || continue
    seen+="$dir:"
    # Its own folder first in PATH: cargo must find the rustc that came with it.
    version="$(PATH="$dir:$PATH" "$dir/cargo" --version 2>/dev/null </dev/null)"
    version="${version#cargo }" version="${version%% *}"
    if [[ "$version" =~ ^[0-9]+\.[0-9]+ ]] && at_least "$version" "$MIN_CARGO"; then
      CARGO_DIR="$dir"
      return 0
    fi
    CARGO_SEEN+="${CARGO_SEEN:+, }$dir/cargo (${version:-does not run})"
  done
  return 1
}

check_cargo() {
  find_cargo && return 0
  say "[cargo] expected cargo $MIN_CARGO or newer, received ${CARGO_SEEN:-none, neither in PATH nor in ~/.cargo/bin}"
  say "  try rustup, the Rust project's installer (Debian 12's own cargo is 0.66, too old for today's crates):"
  say "    with rustup already there:  rustup toolchain install stable && rustup default stable"
  say "    without:  follow the rustup instructions of the Rust project, then run this command again"
  return 1
}

check_compiler() {
  local candidate cxx="" version
  # The order in which CMake looks.
  for candidate in ${CXX:-c++ g++ clang++}; do
    if command -v "$candidate" >/dev/null 2>&1; then cxx="$candidate"; break; fi
  done
  if [[ -z "$cxx" ]]; then
    say "[compiler] expected a C++20 compiler (g++ $MIN_GCC or clang++ $MIN_CLANG, or newer), received none" \
      "(looked for: ${CXX:-c++, g++, clang++})"
    say "  try:  apt-get install -y g++"
    return 1
  fi
  local name="g++" want="$MIN_GCC"
  if [[ "$("$cxx" --version 2>/dev/null </dev/null)" == *clang* ]]; then name="clang++" want="$MIN_CLANG"; fi
  version="$("$cxx" -dumpversion 2>/dev/null </dev/null)"
  if [[ ! "$version" =~ ^[0-9]+ ]] || ! at_least "${version%%.*}.0" "$want.0"; then
    say "[compiler] expected $name $want or newer, received $cxx ${version:-that does not run}"
    say "  try:  apt-get install -y g++   or name a newer compiler in CXX"
    return 1
  fi
}

has_rust_std() {
  local folder
  folder="$(PATH="$CARGO_DIR:$PATH" rustc --print target-libdir --target "$1" 2>/dev/null </dev/null)"
  [[ -n "$folder" && -d "$folder" ]]
}

# Rust's standard library for another architecture, which the text crates need.
check_rust_std() {
  has_rust_std "$1" && return 0
  if PATH="$CARGO_DIR:$PATH" command -v rustup >/dev/null 2>&1; then
    say "adding Rust's standard library for $1"
    PATH="$CARGO_DIR:$PATH" rustup --quiet target add "$1" >/dev/null </dev/null
  fi
  has_rust_std "$1" && return 0
  say "[cargo] expected Rust's standard library for $1, received none beside $CARGO_DIR/cargo"
  say "  try, with network access:  rustup target add $1"
  return 1
}

# Prints the packages of "$@" that are not installed.
missing_packages() {
  local installed package
  # Also with the architecture, as ARM64_PACKAGES names some.
  installed=" $(dpkg-query -W -f \
    '${db:Status-Status}:${Package} ${db:Status-Status}:${Package}:${Architecture} ' "$@" 2>/dev/null)"
  for package in "$@"; do
    [[ "$installed" == *" installed:$package "* ]] || printf '%s ' "$package"
  done
}

install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    say "[packages] expected Debian 12 or newer (apt-get, dpkg-query), received another system"
    say "  try: install what these Debian packages hold by your system's means: $*"
    say "  then:  cmake --preset release && cmake --build --preset release"
    return 1
  fi
  missing="$(missing_packages "$@")"
  missing="${missing% }"
  [[ -z "$missing" ]] && return 0
  local command="apt-get update && apt-get install -y --no-install-recommends $missing" foreign=""
  if [[ "$missing" == *:arm64* && "$(dpkg --print-foreign-architectures 2>/dev/null)" != *arm64* ]]; then
    foreign=arm64
    command="dpkg --add-architecture arm64 && $command"
  fi
  if [[ "$(id -u)" != 0 ]]; then
    say "[packages] expected all Debian packages, received an ordinary user and these missing: $missing"
    say "  try:  sudo sh -c '$command'"
    return 1
  fi
  say "installing $missing"
  # A stale or unreachable source that these packages don't need must not stop the setup, so only the
  # install decides. It fetches everything before it unpacks anything: no network leaves nothing half done.
  local log
  log="$(mktemp)"
  local -a apt=(apt-get -q -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=120)
  export DEBIAN_FRONTEND=noninteractive
  [[ -z "$foreign" ]] || dpkg --add-architecture "$foreign" >"$log" 2>&1
  "${apt[@]}" update >>"$log" 2>&1 </dev/null
  # shellcheck disable=SC2086  # a list of names
  "${apt[@]}" install -y --no-install-recommends $missing >>"$log" 2>&1 </dev/null
  missing="$(missing_packages "$@")"
  if [[ -n "$missing" ]]; then
    grep -E '^(E|W|Err)' "$log" | tail -n 5 | sed 's/^/setup:   /' >&2
    say "[packages] expected to install Debian packages, received an apt-get that failed (whole log: $log)"
    say "  missing: $missing"
    say "  try, with network access:  $command"
    return 1
  fi
  rm -f "$log"
}

main() {
  local rust_std=""
  case "${1:-build}" in
    build) set -- $BUILD_PACKAGES ;;
    check) set -- $BUILD_PACKAGES $CHECK_PACKAGES ;;
    fuzz) set -- $BUILD_PACKAGES $FUZZ_PACKAGES ;;
    bench) set -- $BUILD_PACKAGES $BENCH_PACKAGES ;;
    clients) set -- $BUILD_PACKAGES $CLIENT_PACKAGES ;;
    arm64)
      rust_std="$ARM64_RUST"
      set -- $BUILD_PACKAGES $ARM64_PACKAGES
      ;;
    --cargo-dir)
      find_cargo || { check_cargo; return 1; }
      printf '%s\n' "$CARGO_DIR"
      return 0
      ;;
    *)
      say "[arguments] expected build, check, fuzz, bench, arm64, clients or --cargo-dir, received $1"
      return 2
      ;;
  esac
  # Both prerequisites are reported before giving up, and nothing is installed unless both are there.
  local ok=0
  check_cargo || ok=1
  check_compiler || ok=1
  [[ "$ok" == 0 ]] || return 1
  install_packages "$@" || return 1
  [[ -z "$rust_std" ]] || check_rust_std "$rust_std"
}

main "$@"
