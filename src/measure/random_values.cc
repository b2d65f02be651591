// The generator and three distributions.
#include "measure/random_values.h"

#include <cmath>
#include <cstring>

namespace verbatim {
namespace {

uint64_t InEachHalf(uint16_t half) { return half * uint64_t{0x0001000100010001}; }

}  // namespace

uint64_t RandomWord(uint64_t seed, uint64_t counter) {
  uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float RandomFloat(uint64_t seed, uint64_t counter, float low, float high) {
  const auto unit = static_cast<float>(RandomWord(seed, counter) >> 40) * 0x1p-24f;
  return low + unit * (high - low);
}

void FillRandomBytes(uint64_t seed, uint64_t first, std::span<std::byte> bytes) {
  for (size_t i = 0; i < bytes.size() / 8; ++i) {
    const uint64_t word = RandomWord(seed, first + i);
    std::memcpy(&bytes[8 * i], &word, 8);
  }
}

RandomHalves::RandomHalves(int64_t columns, bool f16) {
  // The mean square over [1, 2) is 7/3; over that octave and the next, (7/3 + 4 * 7/3) / 2 = 35/6.
  const double wanted = 1.0 / std::sqrt(static_cast<double>(columns) * 35.0 / 6.0);
  const int exponent = static_cast<int>(std::lround(std::log2(wanted)));
  // bfloat16: 7 bits of mantissa and bias 127; binary16: 10 and 15. Adding the random exponent bit
  // never carries out of the 16 bits: the biased exponent is far from its largest.
  const int biased = exponent + (f16 ? 15 : 127);
  keep = InEachHalf(f16 ? 0x87ff : 0x80ff);
  base = InEachHalf(static_cast<uint16_t>(biased << (f16 ? 10 : 7)));
}

void RandomHalves::Fill(uint64_t seed, uint64_t first, std::span<std::byte> bytes) const {
  for (size_t i = 0; i < bytes.size() / 8; ++i) {
    const uint64_t word = (RandomWord(seed, first + i) & keep) + base;
    std::memcpy(&bytes[8 * i], &word, 8);
  }
}

float RandomAffineScale(uint64_t seed, uint64_t group, int bits, int64_t columns) {
  // q uniform over 2^b values has the standard deviation sqrt((4^b - 1) / 12).
  const double deviation = std::sqrt((std::pow(4.0, bits) - 1) / 12);
  const auto typical =
      static_cast<float>(1 / (deviation * std::sqrt(static_cast<double>(columns))));
  return RandomFloat(seed, group, 0.75f * typical, 1.25f * typical);
}

}  // namespace verbatim
