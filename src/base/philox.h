// Philox 4x32-10: random words as a pure function of a key and a counter (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", 2011). Not a generator with state.
#ifndef VERBATIM_BASE_PHILOX_H_
#define VERBATIM_BASE_PHILOX_H_

#include <array>
#include <cstdint>

namespace verbatim {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

inline PhiloxCounter Philox4x32(PhiloxCounter counter, PhiloxKey key) {
  // Multipliers and key increments of the paper: golden ratio and sqrt(3) - 1 in 32 bits.
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

}  // namespace verbatim

#endif  // VERBATIM_BASE_PHILOX_H_
