// PackedLinear: a matrix in the form that the CPU kernels read, and how it is made. Not the
// kernels.
//
// Tiles of 16 output features, one lane each; N is padded with zero weights, K of dense weights
// with zeros to a multiple of 32. A tile is one run of memory, read once from front to back:
//   f32        [K][16]
//   f16        [K][16]
//   bf16       [K / 2][16][2]: a 64-byte load gives 16 even and 16 odd values, one operation each
//   affine     per group: scales [16], biases [16] (the file's type), then the group's chunks of 32
//   values
// A chunk of b bits is 64 * b bytes. It holds 8 blocks of [16 outputs][4 values of K], a byte each,
// split into planes of bits: 8 = 8, 4 = 4, 2 = 2, 3 = 2 + 1, 5 = 4 + 1, 6 = 4 + 2, low bits first.
// A plane of w bits is w vectors of 64 bytes; vector j holds blocks j, j + w, j + 2w, ... at bits
// 0, w, 2w, ... of each byte. One pass reads what the checkpoint has: bits + 2 * 16 / group per
// weight.
#ifndef VERBATIM_BACKEND_CPU_PACK_H_
#define VERBATIM_BACKEND_CPU_PACK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/cpu/linear_kernels.h"
#include "base/huge_page_arena.h"
#include "base/thread_pool.h"
#include "ops/linear.h"
#include "verbatim/status.h"

namespace verbatim::cpu {

class PackedLinear final : public ops::PreparedLinear {
 public:
  // Throws std::bad_alloc.
  PackedLinear(int64_t out_features, int64_t in_features, const WeightFormat& format,
               HugePageArena& arena);

  int64_t bytes() const override { return num_tiles_ * tile_bytes_; }
  int64_t num_tiles() const { return num_tiles_; }
  int64_t tile_bytes() const { return tile_bytes_; }
  int group_size() const { return group_size_; }  // 32 for dense weights
  int64_t num_groups() const { return num_groups_; }
  const std::byte* tile(int64_t index) const { return data_.get() + index * tile_bytes_; }
  std::byte* mutable_tile(int64_t index) { return data_.get() + index * tile_bytes_; }

 private:
  int group_size_;
  int64_t num_groups_;
  int64_t tile_bytes_;
  int64_t num_tiles_;
  std::shared_ptr<std::byte> data_;
};

// kUnsupported: bits, group or type that no kernel has; kCorrupt: sizes that contradict the shape.
Status CheckMatrix(const WeightMatrix& matrix);

// Errors: those of CheckMatrix; kCorrupt: a NaN scale or bias; kResourceExhausted: memory.
Expected<std::unique_ptr<PackedLinear>> PackLinear(const WeightMatrix& matrix, ThreadPool& pool,
                                                   HugePageArena& arena);

}  // namespace verbatim::cpu

#endif  // VERBATIM_BACKEND_CPU_PACK_H_
