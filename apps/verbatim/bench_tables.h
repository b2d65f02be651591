// The tables of a bench report, as cells. Not how they are laid out (bench_report.h).
#ifndef VERBATIM_APPS_BENCH_TABLES_H_
#define VERBATIM_APPS_BENCH_TABLES_H_

#include <string>
#include <vector>

#include "measure/bench.h"

namespace verbatim::cli {

struct BenchTable {
  std::string title;
  std::vector<std::string> notes;  // a sentence each
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

std::vector<BenchTable> BenchTables(const BenchReport& report);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_BENCH_TABLES_H_
