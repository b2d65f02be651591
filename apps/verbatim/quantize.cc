// The verb quantize: a checkpoint written in MLX affine layout. The work is checkpoint/quantize.h.
#include "checkpoint/quantize.h"

#include <fmt/format.h>

#include "apps/verbatim/mebibytes.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"

namespace verbatim::cli {

Expected<int> RunQuantize(const CommandLine& line, Terminal& terminal) {
  QuantizeOptions options;
  options.model = line.Text("IN");
  options.draft_model = line.Text("draft-model");
  options.output = line.Text("OUT");
  options.parameters = {.bits = static_cast<int>(line.Number("bits")),
                        .group_size = static_cast<int>(line.Number("group-size"))};
  for (const std::string& text : line.Texts("override")) {
    VERBATIM_ASSIGN_OR_RETURN(QuantizeOverride parsed, ParseQuantizeOverride(text));
    options.overrides.push_back(std::move(parsed));
  }
  options.progress = [&terminal](double fraction, const std::string& what) {
    terminal.Progress(fraction, what);
  };
  const DeferredSignals signals;
  options.stop = [&signals] { return signals.exit_code() != 0; };
  const Expected<QuantizeReport> written = QuantizeCheckpoint(options);
  if (written.status().code() == StatusCode::kCancelled) return signals.exit_code();
  VERBATIM_ASSIGN_OR_RETURN(const QuantizeReport report, written);
  for (const std::string& kept : report.kept) {
    terminal.Note(fmt::format("kept     {}", kept));
  }
  terminal.Note(fmt::format("written  {}: {} matrices quantized, {} kept, MTP head {}, {} to {}",
                            options.output.string(), report.quantized, report.kept.size(),
                            report.has_mtp ? "included" : "absent", Mebibytes(report.bytes_before),
                            Mebibytes(report.bytes_after)));
  return kExitOk;
}

}  // namespace verbatim::cli
