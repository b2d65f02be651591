// The tables of parity ops, as cells. Not how they are laid out (parity_report.h).
#ifndef VERBATIM_APPS_PARITY_TABLES_H_
#define VERBATIM_APPS_PARITY_TABLES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/op_parity.h"

namespace verbatim::cli {

struct ParityTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

// The cases of one target in the order of the report. Formats that came out alike share a line;
// `whole`: each case has its own, with the digests of its widest block.
ParityTable TargetTable(const OpParityReport& report, std::string_view target, bool whole);

// All shapes of one op, model and format in a line, with a column for each target; formats that
// came out alike share it.
ParityTable SummaryTable(const OpParityReport& report);

// Targets with cases, "host" last.
std::vector<std::string> TargetsOf(const OpParityReport& report);

// "1-8 equal; 9-32 differs".
std::string CondensedVerdicts(const OpParityCase& one);
// "affine_rows_1, affine_rows_8 (affine-segments-8, split 8)"; "on the host" without any.
std::string RouteText(const std::vector<ServedBy>& routes);
std::string UlpText(uint64_t ulp);
int64_t DifferingBytes(const OpParityCase& one);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_PARITY_TABLES_H_
