# Every command of the project: make demo, make test, make check and so on. Not the build itself, which is CMake's (CMakePresets.json).
.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
SHELL := /bin/bash

JOBS ?= $(shell tools/setup_jobs.sh)
FUZZ_SECONDS ?= 60
BENCH_FILTER ?= .
# Warnings are errors in `make dev` and .ci/run only: a newer compiler's new warning must not break somebody's demo.
WERROR ?= OFF
export CARGO_BUILD_JOBS := $(JOBS)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
# The cargo that setup found may not be the first in PATH.
WITH_CARGO = PATH="$$(tools/setup.sh --cargo-dir):$$PATH"
CTEST = ctest --output-on-failure --no-label-summary -j $(JOBS)
# ThreadSanitizer's fixed memory map collides with wide address randomisation; setarch -R turns that off where allowed.
NO_ASLR = $$(setarch -R true 2>/dev/null && echo setarch -R)

##@ The two commands
.PHONY: demo
demo: build  ## Set up, build and run the demo: classic decode and MTP on the same prompt, and whether they agree
	@build/verbatim demo -m models/tiny-qwen35-4bit --draft-tokens auto

.PHONY: test
test: build-all clients  ## Set up, build and run every test but the slow ones
	@$(CTEST) --test-dir build/release -LE slow

##@ Measuring
.PHONY: report
report: build  ## Measure speed, acceptance and quantization: docs/benchmark_results (about half an hour)
	@python3 tools/report.py

.PHONY: bench
bench: build/release/build.ninja | setup-bench  ## Time single kernels, those whose name BENCH_FILTER matches (all)
	@$(WITH_CARGO) cmake --preset release -DVERBATIM_BUILD_BENCHMARKS=ON
	@$(WITH_CARGO) cmake --build build/release --target verbatim_kernel_bench
	@build/release/bench/verbatim_kernel_bench --benchmark_filter='$(BENCH_FILTER)'

##@ Building
.PHONY: build
build: build/release/build.ninja  ## Build the program (build/verbatim)
	@$(WITH_CARGO) cmake --build build/release --target verbatim
	@ln -sfn release/apps/verbatim/verbatim build/verbatim

.PHONY: build-all
build-all: build/release/build.ninja
	@$(WITH_CARGO) cmake --build build/release
	@ln -sfn release/apps/verbatim/verbatim build/verbatim

.PHONY: dev
dev: build/dev/build.ninja  ## Build everything with -O1 -g and warnings as errors (build/dev)
	@$(WITH_CARGO) cmake --build build/dev

.PHONY: setup
setup:  ## Check the prerequisites and install missing packages
	@tools/setup.sh build

# Browser and Python clients of the tests. Without network, what needs them is skipped, and this says why.
.PHONY: clients
clients:
	@tools/setup.sh clients || echo "setup: no chromium, so the tests in a browser are skipped" >&2
	@tools/python_env.sh setup || true

.PHONY: setup-check setup-fuzz setup-arm64
setup-check:
	@tools/setup.sh check
setup-fuzz:
	@tools/setup.sh fuzz
.PHONY: setup-bench
setup-bench:
	@tools/setup.sh bench
setup-arm64:
	@tools/setup.sh arm64

# Ninja configures again by itself when a CMakeLists.txt changes; make does it for the presets.
build/%/build.ninja: CMakePresets.json | setup
	@$(WITH_CARGO) cmake --preset $*

.PHONY: configure
configure: | setup  ## Configure build/release again, e.g. make configure WERROR=ON
	@$(WITH_CARGO) cmake --preset release -DVERBATIM_WARNINGS_AS_ERRORS=$(WERROR)

.PHONY: clean
clean:  ## Remove build/
	@rm -rf build

##@ Installing
PREFIX ?= /usr/local
# The loader's cache is told of libverbatim where that is possible and wanted, as libtool does.
.PHONY: install
install: build/release/build.ninja  ## Build and install below PREFIX (/usr/local); DESTDIR is honoured
	@$(WITH_CARGO) cmake --build build/release --target verbatim_install_files
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"
	@if [[ -z "$(DESTDIR)" && "$$(id -u)" == 0 ]]; then ldconfig; fi

.PHONY: uninstall
uninstall:  ## Remove what make install with the same PREFIX and DESTDIR writes
	@DESTDIR="$(DESTDIR)" tools/uninstall.sh build/release "$(PREFIX)"

##@ More tests
.PHONY: test-full
test-full: build-all clients  ## Every test, the slow ones too
	@VERBATIM_PROBE_SEEDS=100 VERBATIM_SOAK_SECONDS=1200 VERBATIM_LOAD_SECONDS=600 $(CTEST) --test-dir build/release

.PHONY: asan ubsan tsan
asan: build/asan-ubsan/build.ninja clients  ## Build and test with the address and undefined behaviour sanitizers
	@$(WITH_CARGO) cmake --build build/asan-ubsan
	@$(CTEST) --preset asan-ubsan

ubsan: asan  ## The same: one build serves both

tsan: build/tsan/build.ninja clients  ## Build and test with the thread sanitizer
	@$(WITH_CARGO) cmake --build build/tsan
	@$(NO_ASLR) $(CTEST) --preset tsan

.PHONY: test-arm64
test-arm64: | setup-arm64  ## Cross-build for aarch64; kernels and a digest under qemu-user
	@$(WITH_CARGO) cmake --preset arm64 -DVERBATIM_WARNINGS_AS_ERRORS=$(WERROR)
	@$(WITH_CARGO) cmake --build --preset arm64
	@$(CTEST) --preset arm64

.PHONY: fuzz
fuzz: | setup-fuzz  ## Run every fuzz target for FUZZ_SECONDS (60)
	@$(WITH_CARGO) cmake --preset fuzz -DVERBATIM_FUZZ_SECONDS=$(FUZZ_SECONDS)
	@$(WITH_CARGO) cmake --build build/fuzz --target verbatim_fuzzers
	@$(CTEST) --test-dir build/fuzz -L fuzz --no-tests=error

##@ Checks
.PHONY: check
check: check-includes check-style check-format check-rust check-tidy  ## Format, tidy, include rule, house style

.PHONY: check-includes
check-includes:  ## The include rule of ARCHITECTURE.md, and that its checker can fail
	@python3 -m unittest -q tools/check_includes_test.py tools/check_style_test.py tools/record_demo_test.py \
	  tools/report_test.py
	@python3 tools/check_includes.py

.PHONY: check-style
check-style:  ## First lines, file lengths, leftover markers
	@python3 tools/check_style.py

.PHONY: check-format
check-format: setup-check  ## clang-format, without changing anything
	@tools/check_format.sh

.PHONY: format
format: setup-check  ## clang-format every tracked file in place
	@tools/check_format.sh --fix

.PHONY: check-rust
check-rust: | setup  ## cargo fmt and clippy of src/text/ffi, where they are installed
	@$(WITH_CARGO) tools/check_rust.sh

.PHONY: check-tidy
check-tidy: setup-check build/release/build.ninja  ## clang-tidy
	@$(WITH_CARGO) cmake --build build/release --target verbatim_git_commit verbatim_page_table  # headers that are made at build time
	@tools/check_tidy.sh build/release $(JOBS)

.PHONY: help
help:  ## This list
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*##/ {printf "  make %-15s%s\n", $$1, $$2}' $(MAKEFILE_LIST)
