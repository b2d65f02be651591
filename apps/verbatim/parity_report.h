// What parity ops compared, as text, Markdown or JSON. Not the comparing (measure/op_parity.h).
#ifndef VERBATIM_APPS_PARITY_REPORT_H_
#define VERBATIM_APPS_PARITY_REPORT_H_

#include <string>

#include "measure/op_parity.h"

namespace verbatim::cli {

// The text has a line for each op and shape, the Markdown one for each op and model; then follows
// what differs in sentences. `whole`: a line for each case with its digests, and every difference.
std::string OpParityText(const OpParityReport& report, bool whole);
std::string OpParityMarkdown(const OpParityReport& report, bool whole);
// Everything: every width of every case with both arms' routes and digests.
std::string OpParityJson(const OpParityReport& report);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_PARITY_REPORT_H_
