// libFuzzer target of FuzzConfig. Not an ordinary test: built with -DVERBATIM_BUILD_FUZZERS=ON by
// clang.
#include <cstdint>

#include "fuzz/fuzz_entries.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  verbatim::fuzz::FuzzConfig(std::as_bytes(std::span(data, size)));
  return 0;
}
