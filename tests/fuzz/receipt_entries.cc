// What must hold for every receipt that parses: its file is one, unedited, with the same fields.
#include "fuzz/receipt_entries.h"

#include <string>

#include "fuzz/check_fault.h"
#include "fuzz/split_input.h"
#include "measure/receipt.h"

namespace verbatim::fuzz {

void FuzzReceipt(std::span<const std::byte> bytes) {
  const auto receipt = ParseReceipt(SplitInput(bytes, 1)[0], "receipt.json");
  if (!receipt.ok()) return CheckFault(receipt.status());
  VERBATIM_CHECK(receipt->position_digests.size() == receipt->token_ids.size());
  for (const std::string& field : receipt->edited) {  // shown to people
    VERBATIM_CHECK(field.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == field.npos);
  }
  const std::string text = ReceiptJson(*receipt);
  const auto again = ParseReceipt(text, "again.json");
  VERBATIM_CHECK(again.ok() && again->edited.empty() && ReceiptJson(*again) == text);
}

}  // namespace verbatim::fuzz
