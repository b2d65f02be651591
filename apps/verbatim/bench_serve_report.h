// What `bench serve` measured, as a page (page.h) and as JSON. Not the measuring
// (measure/serve_bench.h).
#ifndef VERBATIM_APPS_BENCH_SERVE_REPORT_H_
#define VERBATIM_APPS_BENCH_SERVE_REPORT_H_

#include <string>

#include "apps/verbatim/page.h"
#include "measure/serve_bench.h"

namespace verbatim::cli {

Page ServePage(const ServeReport& report, const ServeBenchOptions& options);
std::string ServeJson(const ServeReport& report, const ServeBenchOptions& options);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_BENCH_SERVE_REPORT_H_
