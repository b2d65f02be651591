// bfloat16 and binary16 to binary32 and back, round to nearest even, as numerics.md section 0 pins
// them.
#ifndef VERBATIM_BASE_HALF_H_
#define VERBATIM_BASE_HALF_H_

#include <bit>
#include <cstdint>

namespace verbatim {

inline float Bf16ToFloat(uint16_t h) { return std::bit_cast<float>(uint32_t{h} << 16); }

// NaN maps to 0x7fc0 whatever its payload and sign.
inline uint16_t FloatToBf16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

inline float F16ToFloat(uint16_t h) {
  const uint32_t sign = uint32_t{h & 0x8000u} << 16;
  const uint32_t exponent = (h >> 10) & 0x1f;
  const uint32_t mantissa = h & 0x3ff;
  if (exponent == 0x1f) {
    return std::bit_cast<float>(mantissa != 0 ? 0x7fc00000u : sign | 0x7f800000u);
  }
  if (exponent == 0) {  // zero or denormal: mantissa * 2^-24 is exact in binary32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

// NaN maps to 0x7e00 whatever its payload and sign.
inline uint16_t FloatToF16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7e00;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00;  // rounds to infinity from 65520 on
  if (magnitude < 0x38800000u) {                       // below 2^-14: denormal, in units of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) + 0.5f;  // rounds at 2^-24, ties to even
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(scaled) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

// All NaNs are one value in comparisons and digests (numerics.md 0).
inline uint32_t CanonicalBits(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
}

}  // namespace verbatim

#endif  // VERBATIM_BASE_HALF_H_
