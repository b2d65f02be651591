// The entry functions of the checkpoint fuzzers: parse arbitrary bytes, abort if an invariant of
// the result is broken. Run by libFuzzer (clang) and over the seeds by an ordinary test.
#ifndef VERBATIM_TESTS_FUZZ_FUZZ_ENTRIES_H_
#define VERBATIM_TESTS_FUZZ_FUZZ_ENTRIES_H_

#include <cstddef>
#include <span>

namespace verbatim::fuzz {

// A .safetensors file: its header, then the tensor checks against a fixed small config.
void FuzzSafetensors(std::span<const std::byte> bytes);

// A config.json; from the first NUL byte on, a generation_config.json.
void FuzzConfig(std::span<const std::byte> bytes);

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_FUZZ_ENTRIES_H_
