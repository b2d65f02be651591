// The options of receipts: generate's --receipt and what `verbatim receipt` takes. Not the shared
// ones (options.cc).
#ifndef VERBATIM_APPS_RECEIPT_OPTIONS_H_
#define VERBATIM_APPS_RECEIPT_OPTIONS_H_

#include <vector>

#include "apps/verbatim/options.h"

namespace verbatim::cli {

std::vector<OptionSpec> ReceiptOptionSpecs();

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_RECEIPT_OPTIONS_H_
