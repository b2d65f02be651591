// The tables of a bench report, as cells, and how tables are laid out. Not what stands above them
// (bench_report.h).
#ifndef VERBATIM_APPS_BENCH_TABLES_H_
#define VERBATIM_APPS_BENCH_TABLES_H_

#include <span>
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

std::string TablesText(std::span<const BenchTable> tables);
std::string TablesMarkdown(std::span<const BenchTable> tables);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_BENCH_TABLES_H_
