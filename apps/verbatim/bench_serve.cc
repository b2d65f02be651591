// The verb bench-serve, spelled `bench serve`: a server driven with a trace. The work is in
// src/measure.
#include <fmt/format.h>

#include "apps/verbatim/bench_serve_options.h"
#include "apps/verbatim/bench_serve_report.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"
#include "base/file_writer.h"
#include "measure/serve_bench.h"

namespace verbatim::cli {
namespace {

Status WriteReport(const CommandLine& line, Terminal& terminal, const ServeBenchOptions& options,
                   const ServeReport& report) {
  const Page page = ServePage(report, options);
  if (line.Given("html")) {
    VERBATIM_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(line.Text("html")));
    VERBATIM_RETURN_IF_ERROR(writer.Write(PageHtml(page)));
    VERBATIM_RETURN_IF_ERROR(writer.Commit());
  }
  return terminal.Write(line.Given("json")       ? ServeJson(report, options) + "\n"
                        : line.Given("markdown") ? PageMarkdown(page)
                                                 : PageText(page, terminal.output_color()));
}

}  // namespace

Expected<int> RunBenchServe(const CommandLine& line, Terminal& terminal) {
  VERBATIM_ASSIGN_OR_RETURN(ServeBenchOptions options, ReadBenchServe(line));
  const DeferredSignals signals;
  options.stop = [&signals] { return signals.exit_code() != 0; };
  options.progress = [&terminal](double fraction, const std::string& what) {
    terminal.Progress(fraction, what);
  };
  options.make_streams = MakeHttpStreams;
  options.make_client = MakeHttpClient;
  const Expected<ServeReport> measured = RunServeBench(options);
  terminal.EndProgress();
  if (measured.status().code() == StatusCode::kCancelled) return signals.exit_code();
  VERBATIM_ASSIGN_OR_RETURN(const ServeReport report, measured);
  VERBATIM_RETURN_IF_ERROR(WriteReport(line, terminal, options, report));
  for (const ServeArmReport& arm : report.arms) {
    if (arm.statistics.succeeded > 0) continue;
    return MakeError(StatusCode::kIo, arm.name, "answers",
                     fmt::format("none in {} requests: {}", arm.statistics.requests,
                                 arm.statistics.first_error));
  }
  if (!report.comparison || report.comparison->comparable()) return kExitOk;
  if (report.comparison->differing > 0) return kExitDivergence;
  return MakeError(StatusCode::kIo, "bench serve", "the same requests answered in both arms",
                   fmt::format("{} without an answer in one", report.comparison->not_compared));
}

}  // namespace verbatim::cli
