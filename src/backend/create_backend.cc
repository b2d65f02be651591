// From a contract mode to a backend.
#include "backend/create_backend.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "backend/cpu/cpu_backend.h"
#include "backend/vendor/vendor_backend.h"

namespace verbatim {
namespace {

BackendWrapper& ProcessWrapper() {
  static BackendWrapper wrapper;
  return wrapper;
}

Expected<std::shared_ptr<ThreadPool>> MakePool(int num_threads) {
  try {
    return std::make_shared<ThreadPool>(num_threads);
  } catch (const std::system_error& error) {
    return MakeError(StatusCode::kResourceExhausted, "threads",
                     fmt::format("{} threads", num_threads), error.what(), "fewer of them");
  }
}

}  // namespace

Expected<std::unique_ptr<ops::Backend>> CreateBackend(const BackendOptions& options) {
  // A build without a vendor's library stays exact, which is more than `greedy` asks for.
  const bool vendor = options.contract == ContractMode::kGreedy && vendor::CheckVendor().ok();
  std::shared_ptr<ThreadPool> pool;
  if (vendor && options.num_threads >= 1) {
    VERBATIM_ASSIGN_OR_RETURN(pool, MakePool(options.num_threads));
  }
  VERBATIM_ASSIGN_OR_RETURN(
      std::unique_ptr<ops::Backend> backend,
      cpu::CreateCpuBackend(
          {.num_threads = options.num_threads, .target = options.target, .pool = pool}));
  if (vendor) {
    VERBATIM_ASSIGN_OR_RETURN(backend,
                              vendor::CreateVendorBackend(std::move(backend), std::move(pool)));
  }
  if (ProcessWrapper()) backend = ProcessWrapper()(std::move(backend));
  return backend;
}

void WrapEveryBackend(BackendWrapper wrapper) { ProcessWrapper() = std::move(wrapper); }

}  // namespace verbatim
