// The kernel table of each target, filled once. Not the choice between them (targets.cc).
#include "backend/cpu/kernels.h"

namespace verbatim::cpu {

const KernelTable& KernelsFor(Target target) {
  static const auto tables = [] {
    std::array<KernelTable, kAllTargets.size()> all;
    for (const Target t : kAllTargets) {
      KernelTable& table = all[static_cast<size_t>(t)];
      FillLinearAffine2(t, table.linear);
      FillLinearAffine3(t, table.linear);
      FillLinearAffine4(t, table.linear);
      FillLinearAffine5(t, table.linear);
      FillLinearAffine6(t, table.linear);
      FillLinearAffine8(t, table.linear);
      FillLinearDense(t, table.linear);
      FillQuantizeRow(t, table.linear);
      FillEmbed(t, table.linear);
      FillNormKernels(t, table);
      FillElementwiseKernels(t, table);
      FillRopeKernels(t, table);
      FillAttentionKernels(t, table);
      FillGatedDeltaKernels(t, table);
    }
    return all;
  }();
  return tables[static_cast<size_t>(target)];
}

}  // namespace verbatim::cpu
