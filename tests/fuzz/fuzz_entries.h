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

// The quantization block of a config.json; from the first NUL byte on, one --override of quantize.
void FuzzQuantization(std::span<const std::byte> bytes);

// A generation_config.json.
void FuzzGenerationConfig(std::span<const std::byte> bytes);

// A model.safetensors.index.json beside two shards, x.safetensors and y.safetensors, of one tensor
// each, x and y.
void FuzzShardIndex(std::span<const std::byte> bytes);

// A model id; from the first NUL byte on, the content of refs/main of org/name in a hub cache.
void FuzzHubCache(std::span<const std::byte> bytes);

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_FUZZ_ENTRIES_H_
