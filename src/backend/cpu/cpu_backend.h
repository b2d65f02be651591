// CreateCpuBackend: the CPU implementation of ops::Backend. The choice of instruction set happens
// here, once.
#ifndef VERBATIM_BACKEND_CPU_CPU_BACKEND_H_
#define VERBATIM_BACKEND_CPU_CPU_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "ops/backend.h"

namespace verbatim::cpu {

struct CpuBackendOptions {
  int num_threads = 1;
  std::string target = {};  // a name of targets.h; empty: VERBATIM_TARGET, else the best available
  std::string forced_route = {};  // a kernel of ops/routes.h to take wherever it can run; empty:
                                  // VERBATIM_FORCE_ROUTE, else the table's choice
  // Threads to share with a backend in front of this one, as many as num_threads; null: its own.
  std::shared_ptr<ThreadPool> pool = nullptr;
};

// Targets that this build has and this processor can run, worst first. Asks cpuid (and the OS,
// xgetbv).
std::vector<std::string> AvailableTargets();

// kInvalidArgument: unknown target or route (lists the known ones), or num_threads < 1;
// kUnsupported: the processor lacks the target (says what it has).
Expected<std::unique_ptr<ops::Backend>> CreateCpuBackend(const CpuBackendOptions& options);

}  // namespace verbatim::cpu

#endif  // VERBATIM_BACKEND_CPU_CPU_BACKEND_H_
