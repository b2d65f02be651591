// The kernel table of a target. Not the choice between targets (targets.cc).
#include "backend/cpu/kernels.h"

namespace verbatim::cpu {

// Only the asked target's: even a Fill function may hold instructions that the processor lacks.
KernelTable MakeKernels(Target target) {
  KernelTable table;
  FillLinearAffine2(target, table.linear);
  FillLinearAffine3(target, table.linear);
  FillLinearAffine4(target, table.linear);
  FillLinearAffine5(target, table.linear);
  FillLinearAffine6(target, table.linear);
  FillLinearAffine8(target, table.linear);
  FillLinearDense(target, table.linear);
  FillQuantizeRow(target, table.linear);
  FillEmbed(target, table.linear);
  FillNormKernels(target, table);
  FillElementwiseKernels(target, table);
  FillRopeKernels(target, table);
  FillAttentionKernels(target, table);
  FillGatedDeltaKernels(target, table);
  FillBestLogitsKernels(target, table);
  return table;
}

}  // namespace verbatim::cpu
