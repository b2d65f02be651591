// RecordingEngine: an engine that tells which passes a request took, and that can be stopped. Not
// the choice of requests (bench.h).
#ifndef VERBATIM_MEASURE_RECORDING_ENGINE_H_
#define VERBATIM_MEASURE_RECORDING_ENGINE_H_

#include <functional>
#include <memory>
#include <vector>

#include "measure/timed_backend.h"
#include "verbatim/engine.h"

namespace verbatim {

struct RecordedRun {
  Result result;
  std::vector<Pass> passes;
};

enum class Recording : uint8_t {
  kNone,            // as fast as without this class
  kFromFirstToken,  // what Timings::predicted_ms covers
  kFromPrompt,
};

class RecordingEngine {
 public:
  // `stop` may be empty; true ends a run with kCancelled. Errors: those of Engine::Load.
  static Expected<std::unique_ptr<RecordingEngine>> Load(const EngineOptions& options,
                                                         std::function<bool()> stop);

  const Engine& engine() const { return *engine_; }

  // Errors: those of the request, kCancelled.
  Expected<RecordedRun> Generate(Request request, Recording recording);

 private:
  RecordingEngine() = default;
  TimedBackend* backend_ = nullptr;  // the engine's
  std::unique_ptr<Engine> engine_;
  std::function<bool()> stop_;
};

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_RECORDING_ENGINE_H_
