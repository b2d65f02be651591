// CreateVendorBackend: a backend whose matrix products are a vendor's library's, for `--contract
// greedy`. It does not keep the contract: rows of a block may round differently than alone.
//
// The library is oneDNN 2 (docs/decisions/0011). A build without it has no such backend and says
// so: CheckVendor.
#ifndef VERBATIM_BACKEND_VENDOR_VENDOR_BACKEND_H_
#define VERBATIM_BACKEND_VENDOR_VENDOR_BACKEND_H_

#include <memory>

#include "base/thread_pool.h"
#include "ops/backend.h"
#include "verbatim/status.h"

namespace verbatim::vendor {

// kUnsupported: this build has no vendor's library.
Status CheckVendor();

// Linears and embeddings are computed here, everything else by `inner`, which shares the threads of
// `pool`. Errors: those of CheckVendor.
Expected<std::unique_ptr<ops::Backend>> CreateVendorBackend(std::unique_ptr<ops::Backend> inner,
                                                            std::shared_ptr<ThreadPool> pool);

}  // namespace verbatim::vendor

#endif  // VERBATIM_BACKEND_VENDOR_VENDOR_BACKEND_H_
