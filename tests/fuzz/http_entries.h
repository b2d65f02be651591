// The entry functions of the fuzzers of the server's transport. Run by libFuzzer (clang) and over
// the seeds by an ordinary test.
#ifndef VERBATIM_TESTS_FUZZ_HTTP_ENTRIES_H_
#define VERBATIM_TESTS_FUZZ_HTTP_ENTRIES_H_

#include <cstddef>
#include <span>

namespace verbatim::fuzz {

// Bytes of a connection, to the parser: whole, and in pieces as long as the first byte says.
void FuzzHttpRequest(std::span<const std::byte> bytes);

// The same to a server of this process over a Unix socket, whose client then closes its sending
// side.
void FuzzHttpConnection(std::span<const std::byte> bytes);

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_HTTP_ENTRIES_H_
