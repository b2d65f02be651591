// The vendor backend of a build without a vendor's library: none, and why.
#include "backend/vendor/vendor_backend.h"

namespace verbatim::vendor {

Status CheckVendor() {
  return MakeError(StatusCode::kUnsupported, "--contract greedy", "a build with oneDNN 2",
                   "one without it", "installing libdnnl-dev and building again");
}

Expected<std::unique_ptr<ops::Backend>> CreateVendorBackend(std::unique_ptr<ops::Backend>,
                                                            std::shared_ptr<ThreadPool>) {
  return CheckVendor();
}

}  // namespace verbatim::vendor
