// KernelTable: the functions of one target that the CPU backend calls. Not their code and not the
// choice of target.
//
// An op is a list of phases; a phase is a number of independent items, so that the backend can
// spread them over threads in any way. No result may depend on how items are cut into ranges.
#ifndef VERBATIM_BACKEND_CPU_KERNELS_H_
#define VERBATIM_BACKEND_CPU_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/linear_kernels.h"
#include "backend/cpu/targets.h"
#include "ops/backend.h"

namespace verbatim::cpu {

// Memory that kernels may use during one call. Contents are undefined at the start of an op;
// `shared` keeps them from one phase of an op to the next. Both start on a cache line.
struct Workspace {
  std::byte* shared = nullptr;
  std::byte* thread = nullptr;  // of the calling thread alone
};

template <typename Args>
struct Phase {
  int64_t (*num_items)(const Args& args) = nullptr;
  // About how many items are worth a task of their own, >= 1: a barrier costs about 2 us, so make
  // it 5 us or more of work.
  int64_t (*items_per_task)(const Args& args) = nullptr;
  void (*run)(const Args& args, int64_t begin, int64_t end, const Workspace& workspace) = nullptr;
};

template <typename Args>
struct OpKernel {
  static constexpr int kMaxPhases = 4;
  std::array<Phase<Args>, kMaxPhases> phases;  // run in order, up to the first without `run`
  // Bytes of Workspace for the largest step; null if none are needed.
  size_t (*shared_bytes)(const ops::WorkspaceNeeds& needs) = nullptr;
  size_t (*thread_bytes)(const ops::WorkspaceNeeds& needs) = nullptr;
};

struct KernelTable {
  LinearKernels linear;
  OpKernel<ops::RmsNormArgs> rms_norm;
  OpKernel<ops::GatedNormArgs> gated_norm;
  OpKernel<ops::SiluMulArgs> silu_mul;
  OpKernel<ops::RopeAndCacheArgs> rope_and_cache;
  OpKernel<ops::AttentionArgs> attention;
  OpKernel<ops::ConvAndGatedDeltaArgs> conv_and_gated_delta;
  OpKernel<ops::FoldRecordsArgs> fold_records;
  OpKernel<ops::BestLogitsArgs> best_logits;
};

// One per kernel file; each fills its own entries for one target (VERBATIM_EXPORT_FILL in
// simd_config.h).
void FillNormKernels(Target target, KernelTable& table);         // rms_norm, gated_norm
void FillElementwiseKernels(Target target, KernelTable& table);  // silu_mul
void FillRopeKernels(Target target, KernelTable& table);         // rope_and_cache
void FillAttentionKernels(Target target, KernelTable& table);
void FillGatedDeltaKernels(Target target,
                           KernelTable& table);  // conv_and_gated_delta, fold_records

void FillBestLogitsKernels(Target target, KernelTable& table);

// All of the above and the linears (tables.cc). `target` must be one that the processor has.
KernelTable MakeKernels(Target target);

}  // namespace verbatim::cpu

#endif  // VERBATIM_BACKEND_CPU_KERNELS_H_
