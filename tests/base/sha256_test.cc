// Sha256 against the published vectors of FIPS 180-4, and its canonical form of floats.
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

namespace verbatim {
namespace {

std::string HexDigestOf(std::string_view text) {
  Sha256 sha;
  sha.Update(std::as_bytes(std::span(text)));
  return sha.HexDigest();
}

TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(HexDigestOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexDigestOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, DigestCanBeReadInTheMiddle) {
  Sha256 sha;
  sha.Update(std::as_bytes(std::span(std::string_view("ab"))));
  EXPECT_EQ(sha.HexDigest(), HexDigestOf("ab"));
  sha.Update(std::as_bytes(std::span(std::string_view("c"))));
  EXPECT_EQ(sha.HexDigest(), HexDigestOf("abc"));
}

TEST(Sha256, FinishStartsAnew) {
  Sha256 sha;
  for (const std::string_view text : {"abc", "", "abc"}) {
    sha.Update(std::as_bytes(std::span(text)));
    EXPECT_EQ(HexOf(sha.Finish()), HexDigestOf(text));
  }
}

TEST(Sha256, FloatsAreLittleEndianWithOneNan) {
  std::vector<float> values(3000, 1.5f);  // longer than the conversion block
  values[2999] = std::bit_cast<float>(0xffc12345u);
  Sha256 ours;
  ours.UpdateFloats(values);
  values[2999] = std::bit_cast<float>(0x7fc00000u);
  Sha256 plain;
  plain.Update(std::as_bytes(std::span<const float>(values)));
  EXPECT_EQ(ours.HexDigest(), plain.HexDigest());
}

}  // namespace
}  // namespace verbatim
