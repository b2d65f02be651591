// The entry functions of the fuzzers of the text layer, which reach the Rust crates through their
// C ABI. Run by libFuzzer (clang) and over the seeds by an ordinary test.
#ifndef VERBATIM_TESTS_FUZZ_TEXT_ENTRIES_H_
#define VERBATIM_TESTS_FUZZ_TEXT_ENTRIES_H_

#include <cstddef>
#include <span>

namespace verbatim::fuzz {

// A tokenizer.json; from the first NUL byte on, a tokenizer_config.json; from the second on, a text
// to encode. Returns false for an input that used up memory or time, which a fuzzer had better not
// vary further: each such costs memory for good.
bool FuzzTokenizer(std::span<const std::byte> bytes);

// A chat template; from the first NUL byte on, messages as JSON. Returns as FuzzTokenizer.
bool FuzzChatTemplate(std::span<const std::byte> bytes);

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_TEXT_ENTRIES_H_
