// What bench measured, as text, Markdown or JSON. Not the measuring (measure/bench.h).
#ifndef VERBATIM_APPS_BENCH_REPORT_H_
#define VERBATIM_APPS_BENCH_REPORT_H_

#include <string>
#include <string_view>

#include "measure/bench.h"

namespace verbatim::cli {

// `source` says what was loaded: a folder, or which random weights. The report has no difference:
// unequal outputs have no speeds.
std::string BenchText(const BenchReport& report, std::string_view source);
std::string BenchMarkdown(const BenchReport& report, std::string_view source);
std::string BenchJson(const BenchReport& report, std::string_view source);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_BENCH_REPORT_H_
