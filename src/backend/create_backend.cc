// From a contract mode to a backend.
#include "backend/create_backend.h"

#include <utility>

#include "backend/cpu/cpu_backend.h"

namespace verbatim {
namespace {

BackendWrapper& ProcessWrapper() {
  static BackendWrapper wrapper;
  return wrapper;
}

}  // namespace

Expected<std::unique_ptr<ops::Backend>> CreateBackend(const BackendOptions& options) {
  VERBATIM_ASSIGN_OR_RETURN(
      std::unique_ptr<ops::Backend> backend,
      cpu::CreateCpuBackend({.num_threads = options.num_threads, .target = options.target}));
  if (ProcessWrapper()) backend = ProcessWrapper()(std::move(backend));
  return backend;
}

void WrapEveryBackend(BackendWrapper wrapper) { ProcessWrapper() = std::move(wrapper); }

}  // namespace verbatim
