// What parity chain compared, as text, Markdown or JSON. Not the comparing
// (measure/chain_parity.h).
#ifndef VERBATIM_APPS_PARITY_CHAIN_REPORT_H_
#define VERBATIM_APPS_PARITY_CHAIN_REPORT_H_

#include <string>

#include "measure/chain_parity.h"

namespace verbatim::cli {

// A line per width; then the first divergence in detail.
std::string ChainParityText(const ChainParityReport& report);
std::string ChainParityMarkdown(const ChainParityReport& report);
std::string ChainParityJson(const ChainParityReport& report);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_PARITY_CHAIN_REPORT_H_
