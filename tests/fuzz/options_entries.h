// The entry functions of the fuzzers of the command line's parsers. Run by libFuzzer (clang) and
// over the seeds by an ordinary test.
#ifndef VERBATIM_TESTS_FUZZ_OPTIONS_ENTRIES_H_
#define VERBATIM_TESTS_FUZZ_OPTIONS_ENTRIES_H_

#include <cstddef>
#include <span>

namespace verbatim::fuzz {

// Command-line arguments separated by NUL bytes, without the program's name.
void FuzzCommandLine(std::span<const std::byte> bytes);

// A list of token ids, as of --ids or a file of --spec replay:FILE.
void FuzzTokenList(std::span<const std::byte> bytes);

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_OPTIONS_ENTRIES_H_
