// The entry functions of the fuzzers of answers: what constrains them and what reads them. Run by
// libFuzzer (clang) and over the seeds by an ordinary test.
#ifndef VERBATIM_TESTS_FUZZ_ANSWER_ENTRIES_H_
#define VERBATIM_TESTS_FUZZ_ANSWER_ENTRIES_H_

#include <cstddef>
#include <span>

namespace verbatim::fuzz {

// A letter (o: JSON object, s: JSON schema, r: regex, g: Lark grammar, t: tool definitions) and the
// constraint's text; from the first NUL byte on, bytes that choose tokens and rollbacks. A mask
// must not depend on what was rolled back. Returns false as FuzzTokenizer does.
bool FuzzConstraint(std::span<const std::byte> bytes);

// A letter (bits: split reasoning, starts in it, tools), a letter that says where to cut, and an
// answer's text. No cut may change what is said.
void FuzzAnswerParser(std::span<const std::byte> bytes);

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_ANSWER_ENTRIES_H_
