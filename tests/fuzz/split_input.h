// SplitInput: the parts of a fuzzer's input, separated by NUL bytes. Not a parser of anything.
#ifndef VERBATIM_TESTS_FUZZ_SPLIT_INPUT_H_
#define VERBATIM_TESTS_FUZZ_SPLIT_INPUT_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace verbatim::fuzz {

// At most `most` parts, at least one; the last has the rest, with its NUL bytes.
inline std::vector<std::string_view> SplitInput(std::span<const std::byte> bytes, size_t most) {
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < most) {
    const size_t nul = rest.find('\0');
    if (nul == rest.npos) break;
    parts.push_back(rest.substr(0, nul));
    rest.remove_prefix(nul + 1);
  }
  parts.push_back(rest);
  return parts;
}

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_SPLIT_INPUT_H_
