// The parts of the probe: what they share, and one function each. Private to src/engine; what the
// probe is, is in probe.h.
#ifndef VERBATIM_ENGINE_PROBE_PARTS_H_
#define VERBATIM_ENGINE_PROBE_PARTS_H_

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/probe.h"

namespace verbatim {

using ProbeClock = std::chrono::steady_clock;

inline double MsSince(ProbeClock::time_point start) {
  return std::chrono::duration<double, std::milli>(ProbeClock::now() - start).count();
}

struct ProbeContext {
  TracingBackend& backend;
  Model& model;
  Caches caches;
  const ProbeOptions& options;
  std::mt19937 random;
  ProbeReport report = {};
  bool failed = false;

  void Localize(std::string op, int layer, int64_t bytes, std::string detail) {
    failed = true;
    report.verdict = ProbeVerdict::kLocalized;
    report.op = std::move(op);
    report.layer = layer;
    report.differing_bytes = bytes;
    report.detail = std::move(detail);
  }

  void FillInputs(float magnitude, std::vector<float>& values) {
    for (float& value : values) {  // uniform in +-magnitude
      value = magnitude * (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f);
    }
  }

  Expected<std::unique_ptr<ops::DeviceBuffer>> Allocate(int64_t floats) {
    return backend.Allocate(static_cast<size_t>(floats) * sizeof(float));
  }
};

// Each ends at the first difference, with context.failed. Errors: of memory.
Status ProbeLinears(ProbeContext& context);     // probe_linears.cc
Status ProbeBestLogits(ProbeContext& context);  // probe_linears.cc
Status ProbeWalk(ProbeContext& context);        // probe_walk.cc

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_PROBE_PARTS_H_
