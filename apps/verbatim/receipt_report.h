// What `verbatim receipt verify` says, for people and as JSON. Not the verification
// (src/measure/receipt.h).
#ifndef VERBATIM_APPS_RECEIPT_REPORT_H_
#define VERBATIM_APPS_RECEIPT_REPORT_H_

#include <string>
#include <vector>

#include "measure/receipt.h"

namespace verbatim::cli {

struct ReceiptCheck {
  std::vector<IdentityMismatch> mismatches;
  ReplayOutcome replay;
  // Nothing was edited, the model is the one that the receipt names, and the replay is equal.
  bool Verified(const Receipt& receipt) const {
    return receipt.edited.empty() && mismatches.empty() && !replay.difference;
  }
};

// Before the replay: where it comes from, what was edited, what is another model's.
std::string ReceiptIdentityText(const Receipt& receipt,
                                const std::vector<IdentityMismatch>& mismatches);
// After it: equal, or where it first differs and how, and the verdict.
std::string ReceiptReplayText(const Receipt& receipt, const ReceiptCheck& check,
                              const EngineInfo& info);

// One object with all of it.
std::string ReceiptCheckJson(const Receipt& receipt, const ReceiptCheck& check,
                             const EngineInfo& info);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_RECEIPT_REPORT_H_
