// The rope tables: cos and sin of every position and frequency, the same bits on every machine. Not
// the rotation itself (reference/rope.h).
#ifndef VERBATIM_NUMERICS_ROTARY_H_
#define VERBATIM_NUMERICS_ROTARY_H_

#include <cstdint>
#include <vector>

namespace verbatim {

inline constexpr int64_t kMaxRotaryPositions = int64_t{1} << 20;

struct RotaryTables {
  std::vector<float> cos;  // [positions, rotary_dim / 2]
  std::vector<float> sin;  // [positions, rotary_dim / 2]
};

// theta^(-2i / rotary_dim), i in [0, rotary_dim / 2), correctly rounded to binary64.
std::vector<double> RotaryFrequencies(double theta, int rotary_dim);

// angle = position * frequency in binary64, cos and sin of it in binary64, rounded once to
// binary32. theta in [1, 2^64], rotary_dim even and positive, positions in [0, kMaxRotaryPositions
// + 1].
RotaryTables MakeRotaryTables(double theta, int rotary_dim, int64_t positions);

}  // namespace verbatim

#endif  // VERBATIM_NUMERICS_ROTARY_H_
