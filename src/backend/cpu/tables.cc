// The kernel table of each target, filled once. Not the choice between them (targets.cc).
#include "backend/cpu/kernels.h"

namespace verbatim::cpu {

const KernelTable& KernelsFor(Target target) {
  static const auto tables = [] {
    std::array<KernelTable, kAllTargets.size()> all;
    for (const Target t : kAllTargets) {
      KernelTable& table = all[static_cast<size_t>(t)];
      (void)table;
    }
    return all;
  }();
  return tables[static_cast<size_t>(target)];
}

}  // namespace verbatim::cpu
