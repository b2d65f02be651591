// SplitMix64 and what tests draw from it: the same inputs on every machine and standard library
// (std distributions are not portable). Not for sampling tokens.
#ifndef VERBATIM_TESTS_NUMERICS_SPLITMIX_H_
#define VERBATIM_TESTS_NUMERICS_SPLITMIX_H_

#include <bit>
#include <cstdint>
#include <vector>

namespace verbatim {

class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>((Next() >> 32) * n >> 32); }
  // Multiples of 2^-23 in [-1, 1), exact in binary32.
  float Uniform() {
    return static_cast<float>(static_cast<int64_t>(Next() >> 40) - 0x800000) * 0x1p-23f;
  }
  // Any binary32 at all: denormals, infinities, NaNs.
  float AnyBits() { return std::bit_cast<float>(static_cast<uint32_t>(Next() >> 32)); }

  std::vector<float> Uniforms(int64_t n, float scale = 1.0f) {
    std::vector<float> values(n);
    for (float& value : values) value = Uniform() * scale;
    return values;
  }

 private:
  uint64_t state_;
};

}  // namespace verbatim

#endif  // VERBATIM_TESTS_NUMERICS_SPLITMIX_H_
