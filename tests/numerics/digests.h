// Pinned digests: a text file of "name sha256" lines, and the comparison with it. To pin a new
// case, run the test and copy the line that its failure prints.
#ifndef VERBATIM_TESTS_NUMERICS_DIGESTS_H_
#define VERBATIM_TESTS_NUMERICS_DIGESTS_H_

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <span>
#include <string>

#include "base/sha256.h"

namespace verbatim {

inline std::string DigestOf(std::span<const float> values) {
  Sha256 sha;
  sha.UpdateFloats(values);
  return sha.HexDigest();
}

class PinnedDigests {
 public:
  // `file` is relative to tests/goldens/numerics. A missing file has no cases, so every test fails.
  explicit PinnedDigests(const std::string& file) : file_(file) {
    std::ifstream in(std::string(VERBATIM_SOURCE_DIR "/tests/goldens/numerics/") + file);
    std::string line;
    while (std::getline(in, line)) {
      const size_t space = line.find(' ');
      if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
      digests_[line.substr(0, space)] = line.substr(space + 1);
    }
  }

  void Expect(const std::string& name, std::span<const float> values) const {
    const auto pinned = digests_.find(name);
    const std::string digest = DigestOf(values);
    ASSERT_TRUE(pinned != digests_.end()) << file_ << " lacks the line:\n" << name << " " << digest;
    EXPECT_EQ(pinned->second, digest) << "pinned in " << file_ << ":\n" << name << " " << digest;
  }

 private:
  std::string file_;
  std::map<std::string, std::string> digests_;
};

}  // namespace verbatim

#endif  // VERBATIM_TESTS_NUMERICS_DIGESTS_H_
