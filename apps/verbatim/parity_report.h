// What parity ops compared, as text, Markdown or JSON. Not the comparing (measure/op_parity.h).
#ifndef VERBATIM_APPS_PARITY_REPORT_H_
#define VERBATIM_APPS_PARITY_REPORT_H_

#include <string>

#include "measure/op_parity.h"

namespace verbatim::cli {

// One line per op and shape, formats of one outcome together; `whole`: a line per format with the
// digests of the widest block. Then what differs in detail.
std::string OpParityText(const OpParityReport& report, bool whole);
std::string OpParityMarkdown(const OpParityReport& report, bool whole);
// Everything: every width of every case with both arms' routes and digests.
std::string OpParityJson(const OpParityReport& report);

// "1-8 equal, 9-32 differs".
std::string CondensedVerdicts(const OpParityCase& one);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_PARITY_REPORT_H_
