// InstrumentedEngine: an engine whose backend is wrapped, so that a measurement sees every op. Not
// for serving.
#ifndef VERBATIM_ENGINE_INSTRUMENTED_ENGINE_H_
#define VERBATIM_ENGINE_INSTRUMENTED_ENGINE_H_

#include <memory>

#include "backend/create_backend.h"
#include "verbatim/engine.h"

namespace verbatim {

struct InstrumentedEngine {
  // Engine::Load with a wrapped backend; an empty `wrap` wraps nothing.
  static Expected<std::unique_ptr<Engine>> Load(const EngineOptions& options, BackendWrapper wrap);
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_INSTRUMENTED_ENGINE_H_
