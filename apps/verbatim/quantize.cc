// The verb quantize: a checkpoint written in MLX affine layout. The work is checkpoint/quantize.h.
#include "checkpoint/quantize.h"

#include <fmt/format.h>

#include "apps/verbatim/verbs.h"

namespace verbatim::cli {
namespace {

double Mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

Expected<int> RunQuantize(const CommandLine& line, Terminal& terminal) {
  QuantizeOptions options;
  options.model = line.Text("IN");
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
  VERBATIM_ASSIGN_OR_RETURN(const QuantizeReport report, QuantizeCheckpoint(options));
  for (const std::string& kept : report.kept) {
    terminal.Note(fmt::format("kept     {}", kept));
  }
  terminal.Note(fmt::format(
      "written  {}: {} matrices quantized, {} kept, MTP head {}, {:.1f} MiB to {:.1f} MiB",
      options.output.string(), report.quantized, report.kept.size(),
      report.has_mtp ? "included" : "absent", Mebibytes(report.bytes_before),
      Mebibytes(report.bytes_after)));
  return kExitOk;
}

}  // namespace verbatim::cli
