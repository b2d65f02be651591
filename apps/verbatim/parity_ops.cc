// From options to RunOpParity, and its report.
#include "apps/verbatim/parity_ops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/verbatim/parity_options.h"
#include "apps/verbatim/parity_report.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"
#include "backend/cpu/cpu_backend.h"
#include "base/available_processors.h"
#include "measure/op_parity.h"

namespace verbatim::cli {
namespace {

Expected<std::vector<std::string>> ReadOps(const CommandLine& line) {
  std::vector<std::string> ops;
  if (!line.Given("ops")) return ops;
  const std::span<const std::string_view> known = ParityOpNames();
  for (std::string_view rest = line.Text("ops");;) {
    const size_t comma = rest.find(',');
    ops.emplace_back(rest.substr(0, comma));
    if (std::ranges::find(known, ops.back()) == known.end()) {
      return MakeError(StatusCode::kInvalidArgument, "--ops",
                       fmt::format("{} between commas", fmt::join(known, ", ")),
                       ops.back().empty() ? "an empty name" : ops.back());
    }
    if (comma == rest.npos) return ops;
    rest.remove_prefix(comma + 1);
  }
}

Expected<OpParityOptions> ReadOptions(const CommandLine& line) {
  if (line.Given("json") && line.Given("markdown")) {
    return MakeError(StatusCode::kInvalidArgument, "--markdown", "no --json beside it", "both",
                     "verbatim parity --help");
  }
  OpParityOptions options;
  if (line.Given("model") && line.Text("model").empty()) {
    return MakeError(StatusCode::kInvalidArgument, "--model", "a folder or a model id", "nothing");
  }
  options.model = line.Text("model");
  options.contract =
      line.Text("contract") == "greedy" ? ContractMode::kGreedy : ContractMode::kExact;
  if (line.Text("target") == "all") {
    options.targets = cpu::AvailableTargets();
  } else if (line.Given("target")) {
    options.targets = {line.Text("target")};
  }
  options.num_threads = static_cast<int>(line.Number("threads"));
  if (options.num_threads == 0) {
    options.num_threads = AvailableProcessors();
  }
  options.num_seeds = static_cast<int>(line.Number("seeds"));
  if (line.Given("widths")) {
    VERBATIM_ASSIGN_OR_RETURN(options.widths, ParseWidths(line.Text("widths"), kMaxParityWidth));
  }
  VERBATIM_ASSIGN_OR_RETURN(options.ops, ReadOps(line));
  return options;
}

}  // namespace

Expected<int> RunParityOps(const CommandLine& line, Terminal& terminal) {
  VERBATIM_ASSIGN_OR_RETURN(OpParityOptions options, ReadOptions(line));
  const DeferredSignals signals;
  options.stop = [&signals] { return signals.exit_code() != 0; };
  options.progress = [&terminal](double fraction, const std::string& what) {
    terminal.Progress(fraction, what);
  };
  const Expected<OpParityReport> compared = RunOpParity(options);
  terminal.EndProgress();
  if (compared.status().code() == StatusCode::kCancelled) return signals.exit_code();
  VERBATIM_ASSIGN_OR_RETURN(const OpParityReport report, compared);
  VERBATIM_RETURN_IF_ERROR(terminal.Write(line.Given("json") ? OpParityJson(report) + "\n"
                                          : line.Given("markdown")
                                              ? OpParityMarkdown(report, terminal.verbose())
                                              : OpParityText(report, terminal.verbose())));
  return report.Holds() ? kExitOk : kExitDivergence;
}

}  // namespace verbatim::cli
