// The cut of a linear's K axis into 8 segments and how they are added (numerics.md 1). Not a
// schedule: who computes a segment is the kernel's business.
#ifndef VERBATIM_NUMERICS_SEGMENTS_H_
#define VERBATIM_NUMERICS_SEGMENTS_H_

#include <cstdint>

namespace verbatim {

// Fixed by the profile: 8 leaves enough to split a narrow matrix over threads, blocks or devices.
inline constexpr int kSegments = 8;

// K values per group of 16- and 32-bit weights; K is padded with zeros to a multiple of it.
inline constexpr int kDenseGroup = 32;

// First group of segment s of `groups` groups; s in [0, kSegments], s = kSegments gives the end.
constexpr int64_t SegmentBegin(int64_t groups, int s) { return groups * s / kSegments; }

constexpr int64_t DenseGroups(int64_t cols) { return (cols + kDenseGroup - 1) / kDenseGroup; }

// The sum of the segments' sums, in the one order that counts.
constexpr float CombineSegments(const float (&s)[kSegments]) {
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

}  // namespace verbatim

#endif  // VERBATIM_NUMERICS_SEGMENTS_H_
