// The entry function of the fuzzer of receipts. Run by libFuzzer (clang) and over the seeds by an
// ordinary test.
#ifndef VERBATIM_TESTS_FUZZ_RECEIPT_ENTRIES_H_
#define VERBATIM_TESTS_FUZZ_RECEIPT_ENTRIES_H_

#include <cstddef>
#include <span>

namespace verbatim::fuzz {

// A receipt file.
void FuzzReceipt(std::span<const std::byte> bytes);

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_RECEIPT_ENTRIES_H_
