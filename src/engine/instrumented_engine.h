// InstrumentedEngine: an engine whose backend is wrapped, so that a measurement sees every op. Not
// for serving.
#ifndef VERBATIM_ENGINE_INSTRUMENTED_ENGINE_H_
#define VERBATIM_ENGINE_INSTRUMENTED_ENGINE_H_

#include <functional>
#include <memory>

#include "ops/backend.h"
#include "verbatim/engine.h"

namespace verbatim {

// Takes the backend that the options ask for and gives the one that the engine uses.
using BackendWrapper = std::function<std::unique_ptr<ops::Backend>(std::unique_ptr<ops::Backend>)>;

struct InstrumentedEngine {
  // Engine::Load with a wrapped backend; an empty `wrap` wraps nothing.
  static Expected<std::unique_ptr<Engine>> Load(const EngineOptions& options, BackendWrapper wrap);
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_INSTRUMENTED_ENGINE_H_
