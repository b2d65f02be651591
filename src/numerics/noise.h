// Gumbel noise of numerics.md section 9: a pure function of seed, position, choice and token id.
#ifndef VERBATIM_NUMERICS_NOISE_H_
#define VERBATIM_NUMERICS_NOISE_H_

#include <algorithm>
#include <cstdint>

#include "base/philox.h"
#include "numerics/elementary.h"

namespace verbatim::numerics {

struct NoiseSource {
  uint64_t seed = 0;
  uint32_t choice = 0;
  uint64_t position = 0;  // index in the sequence of the token being chosen
};

// The random words of ids 4 * group to 4 * group + 3.
inline PhiloxCounter NoiseWords(const NoiseSource& source, uint32_t group) {
  const auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
  const auto high = [](uint64_t value) { return static_cast<uint32_t>(value >> 32); };
  return Philox4x32({group, low(source.position), high(source.position), source.choice},
                    {low(source.seed), high(source.seed)});
}

// -log(-log(1 - u)) with u = word * 2^-32 in (0, 1).
inline float NoiseOfWord(uint32_t word) {
  constexpr float kScale = 0x1p-32F;
  constexpr float kMost = 1.0F - 0x1p-24F;  // the largest binary32 below 1
  const float u = std::min(static_cast<float>(word | 1U) * kScale, kMost);
  return -elementary::Log(-elementary::Log1p(-u));
}

inline float Noise(const NoiseSource& source, int32_t id) {
  const auto index = static_cast<uint32_t>(id);
  return NoiseOfWord(NoiseWords(source, index >> 2)[index & 3]);
}

// No noise is larger: -log(-log1p(-2^-32)) = 32 ln 2 = 22.1807..., and a little for rounding.
inline constexpr float kNoiseBound = 22.2F;

}  // namespace verbatim::numerics

#endif  // VERBATIM_NUMERICS_NOISE_H_
