// The probe at load: its parts in order, and the verdict.
#include "engine/probe.h"

#include <fmt/format.h>

#include <utility>

#include "engine/probe_parts.h"

namespace verbatim {
namespace {

Status RunParts(ProbeContext& context) {
  for (Status (*part)(ProbeContext&) : {ProbeLinears, ProbeBestLogits, ProbeWalk}) {
    VERBATIM_RETURN_IF_ERROR(part(context));
    if (context.failed) break;
  }
  return {};
}

}  // namespace

ProbeReport RunProbe(TracingBackend& backend, Model& model, const Caches& caches,
                     const ProbeOptions& options) {
  const ProbeClock::time_point start = ProbeClock::now();
  ProbeContext context = {.backend = backend,
                          .model = model,
                          .caches = caches,
                          .options = options,
                          .random = std::mt19937(static_cast<uint32_t>(options.seed))};
  const Status status = RunParts(context);
  ProbeReport report = std::move(context.report);
  if (!status.ok()) {
    report.verdict = ProbeVerdict::kNotRun;
    report.detail = status.message();
  } else if (!context.failed) {
    report.verdict = ProbeVerdict::kEqual;
    report.detail = fmt::format(
        "{} outputs of {} shapes of matrices and {} rows of blocks through {} layers had the bytes "
        "of single rows, by the same routes",
        report.outputs_compared, report.linear_shapes, report.rows_walked, report.layers_walked);
  }
  report.budget_ms = options.budget_ms;
  report.ms = MsSince(start);
  return report;
}

}  // namespace verbatim
