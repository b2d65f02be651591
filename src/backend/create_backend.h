// CreateBackend: the backend that a contract mode asks for. The one place that chooses it.
#ifndef VERBATIM_BACKEND_CREATE_BACKEND_H_
#define VERBATIM_BACKEND_CREATE_BACKEND_H_

#include <functional>
#include <memory>
#include <string>

#include "ops/backend.h"
#include "verbatim/contract.h"

namespace verbatim {

struct BackendOptions {
  ContractMode contract = ContractMode::kExact;  // kGreedy: matrix products of a vendor's library
  int num_threads = 1;
  std::string target = {};  // instruction set; empty: VERBATIM_TARGET, else the best available
};

// Errors: those of CreateCpuBackend.
Expected<std::unique_ptr<ops::Backend>> CreateBackend(const BackendOptions& options);

// Takes the backend that the options ask for and gives the one that is used.
using BackendWrapper = std::function<std::unique_ptr<ops::Backend>(std::unique_ptr<ops::Backend>)>;

// Wraps every backend that this process creates from now on; empty: none. For programs that plant
// faults (tests/breakable); set before any thread creates a backend.
void WrapEveryBackend(BackendWrapper wrapper);

}  // namespace verbatim

#endif  // VERBATIM_BACKEND_CREATE_BACKEND_H_
