// The entry function of the fuzzer of request bodies. Run by libFuzzer (clang) and over the seeds
// by an ordinary test.
#ifndef VERBATIM_TESTS_FUZZ_API_ENTRIES_H_
#define VERBATIM_TESTS_FUZZ_API_ENTRIES_H_

#include <cstddef>
#include <span>

namespace verbatim::fuzz {

// A body, read as one of each API and of the small endpoints.
void FuzzApiBody(std::span<const std::byte> bytes);

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_API_ENTRIES_H_
