// LinearRunner: one call of the linear op, cut into row tiles and tasks. Not the arithmetic
// (linear_affine-inl.h, linear_dense.cc).
//
// Output tiles of all matrices of a call are spread over threads together, so that a call costs one
// barrier for the activations (none for few rows) and one for the products. Each tile of weights is
// read from memory once; its row tiles follow each other while it is in cache. Thread rule: one
// caller at a time. Run and Embed do not allocate.
#ifndef VERBATIM_BACKEND_CPU_LINEAR_H_
#define VERBATIM_BACKEND_CPU_LINEAR_H_

#include <array>
#include <cstdint>
#include <string>

#include "backend/cpu/linear_kernels.h"
#include "backend/cpu/pack.h"
#include "backend/cpu/targets.h"
#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "ops/dispatch.h"
#include "ops/embed.h"
#include "ops/linear.h"
#include "ops/routes.h"

namespace verbatim::cpu {

// M rows as ceil(M / limit) tiles whose sizes differ by at most one.
struct RowTiles {
  RowTiles() = default;
  RowTiles(int num_rows, int limit)
      : count((num_rows + limit - 1) / limit), base(num_rows / count), longer(num_rows % count) {}

  int first(int tile) const { return tile * base + (tile < longer ? tile : longer); }
  int size(int tile) const { return base + (tile < longer ? 1 : 0); }
  int tile_of(int row) const {
    const int in_longer = longer * (base + 1);
    return row < in_longer ? row / (base + 1) : longer + (row - in_longer) / base;
  }

  int count = 0;
  int base = 0;
  int longer = 0;  // the first ones have a row more
};

class LinearRunner {
 public:
  // `forced_route` names a kernel that is taken wherever the target has it, or is empty.
  LinearRunner(Target target, const LinearKernels& kernels, ThreadPool& pool,
               std::string forced_route);

  void set_log(ops::DispatchLog* log) { log_ = log; }  // null: none

  // Throws std::bad_alloc.
  void Reserve(int max_rows, int64_t max_in_features);

  void Run(const ops::LinearArgs& args);
  void Embed(const ops::EmbedArgs& args);

 private:
  // Activations in the form of one kind of kernel: int8 of groups of 32, 64 or 128, or binary32.
  static constexpr int kNumKinds = 4;
  static constexpr int kDenseKind = 3;
  static int KindOf(const PackedLinear& weights);

  struct Call;  // what Run works out before it starts threads

  void PrepareRow(const Call& call, int kind, int row);
  void RunTiles(const Call& call, int64_t begin, int64_t end) const;
  void RunTaskTiles(const Call& call, const ops::LinearTask& task, int64_t begin,
                    int64_t end) const;
  void Log(const Call& call, int num_tasks);

  Target target_;
  const LinearKernels& kernels_;
  ThreadPool& pool_;
  std::string forced_route_;
  ops::DispatchLog* log_ = nullptr;
  int max_rows_ = 0;
  int64_t max_in_features_ = 0;
  std::array<AlignedBuffer<int8_t>, kDenseKind> xq_;       // row tiles of [K / 4][R][4]
  std::array<AlignedBuffer<float>, kDenseKind> x_scales_;  // row tiles of [groups][2][R]
  AlignedBuffer<float> x_dense_;                           // row tiles of [Kpad / 2][R][2]
};

}  // namespace verbatim::cpu

#endif  // VERBATIM_BACKEND_CPU_LINEAR_H_
