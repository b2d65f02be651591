// Their table.
#include "apps/verbatim/receipt_options.h"

namespace verbatim::cli {

std::vector<OptionSpec> ReceiptOptionSpecs() {
  constexpr std::string_view kSection = "Receipt";
  return {
      {.name = "ACTION",
       .kind = ValueKind::kWord,
       .value_name = "verify",
       .words = {{"verify", "verify"}},
       .positional = true,
       .section = kSection,
       .verbs = {Verb::kReceipt},
       .help = "verify: replay with classic decode and compare token by token"},
      {.name = "FILE",
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .positional = true,
       .section = kSection,
       .verbs = {Verb::kReceipt},
       .help = "The receipt, as generate --receipt wrote it"},
      {.name = "receipt",
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .section = "Output",
       .verbs = {Verb::kGenerate},
       .help = "Write a receipt: model digest, request, tokens and a digest of the logits at every "
               "position, for verbatim receipt verify"},
  };
}

}  // namespace verbatim::cli
