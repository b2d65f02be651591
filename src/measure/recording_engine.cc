// Submit, step until done or stopped, take the result.
#include "measure/recording_engine.h"

#include <utility>

#include "engine/instrumented_engine.h"

namespace verbatim {

Expected<std::unique_ptr<RecordingEngine>> RecordingEngine::Load(const EngineOptions& options,
                                                                 std::function<bool()> stop) {
  std::unique_ptr<RecordingEngine> made(new RecordingEngine);
  made->stop_ = std::move(stop);
  VERBATIM_ASSIGN_OR_RETURN(
      made->engine_,
      InstrumentedEngine::Load(options, [&made](std::unique_ptr<ops::Backend> inner) {
        auto timed = std::make_unique<TimedBackend>(std::move(inner));
        made->backend_ = timed.get();
        return timed;
      }));
  return made;
}

Expected<RecordedRun> RecordingEngine::Generate(Request request, Recording recording) {
  RecordedRun run;
  bool started = recording == Recording::kFromPrompt;
  if (started) backend_->StartRecording();
  if (recording == Recording::kFromFirstToken) {
    request.on_token = [&](const TokenEvent&) {
      if (!std::exchange(started, true)) backend_->StartRecording();
    };
  }
  VERBATIM_ASSIGN_OR_RETURN(const RequestId id, engine_->Submit(std::move(request)));
  bool stopped = false;
  while (engine_->Step()) {
    if (stopped || !stop_ || !stop_()) continue;
    stopped = true;
    VERBATIM_RETURN_IF_ERROR(engine_->Cancel(id));
  }
  if (started) run.passes = backend_->StopRecording();
  VERBATIM_ASSIGN_OR_RETURN(run.result, engine_->TakeResult(id));
  if (stopped) {
    return MakeError(StatusCode::kCancelled, "bench", "to finish", "a request to stop");
  }
  if (run.result.finish_reason == FinishReason::kError) return run.result.error;
  return run;
}

}  // namespace verbatim
