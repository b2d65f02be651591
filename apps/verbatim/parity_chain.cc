// From options to RunChainParity, and its report.
#include "apps/verbatim/parity_chain.h"

#include <string>

#include "apps/verbatim/parity_chain_report.h"
#include "apps/verbatim/parity_options.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"
#include "base/available_processors.h"
#include "measure/chain_parity.h"
#include "verbatim/request.h"

namespace verbatim::cli {
namespace {

Expected<ChainParityOptions> ReadOptions(const CommandLine& line) {
  const auto refuse = [](std::string_view where, std::string_view expected,
                         std::string_view received) {
    return MakeError(StatusCode::kInvalidArgument, where, expected, received,
                     "verbatim parity --help");
  };
  if (line.Given("json") && line.Given("markdown")) {
    return refuse("--markdown", "no --json beside it", "both");
  }
  if (!line.Given("model") || line.Text("model").empty()) {
    return refuse("--model", "a folder or a model id for parity chain", "nothing");
  }
  if (line.Text("target") == "all") {
    return refuse("--target", "one instruction set for parity chain", "all");
  }
  if (line.Given("ops")) return refuse("--ops", "parity ops", "parity chain");
  ChainParityOptions options = {.model = line.Text("model")};
  options.prompt = line.Text("prompt");
  options.num_tokens = static_cast<int>(line.Number("tokens"));
  options.contract =
      line.Text("contract") == "greedy" ? ContractMode::kGreedy : ContractMode::kExact;
  if (line.Given("target")) options.target = line.Text("target");
  options.num_threads = static_cast<int>(line.Number("threads"));
  if (options.num_threads == 0) {
    options.num_threads = AvailableProcessors();
  }
  options.num_seeds = static_cast<int>(line.Number("seeds"));
  if (line.Given("widths")) {
    VERBATIM_ASSIGN_OR_RETURN(options.widths,
                              ParseWidths(line.Text("widths"), kMaxDraftTokens + 1));
  }
  return options;
}

}  // namespace

Expected<int> RunParityChain(const CommandLine& line, Terminal& terminal) {
  VERBATIM_ASSIGN_OR_RETURN(ChainParityOptions options, ReadOptions(line));
  const DeferredSignals signals;
  options.stop = [&signals] { return signals.exit_code() != 0; };
  options.progress = [&terminal](double fraction, const std::string& what) {
    terminal.Progress(fraction, what);
  };
  const Expected<ChainParityReport> compared = RunChainParity(options);
  terminal.EndProgress();
  if (compared.status().code() == StatusCode::kCancelled) return signals.exit_code();
  VERBATIM_ASSIGN_OR_RETURN(const ChainParityReport report, compared);
  VERBATIM_RETURN_IF_ERROR(terminal.Write(line.Given("json")       ? ChainParityJson(report) + "\n"
                                          : line.Given("markdown") ? ChainParityMarkdown(report)
                                                                   : ChainParityText(report)));
  // Greedy promises nothing to hold: what differs is the measurement.
  return report.Holds() || report.contract == ContractMode::kGreedy ? kExitOk : kExitDivergence;
}

}  // namespace verbatim::cli
