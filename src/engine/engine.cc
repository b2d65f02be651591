// The public face: each call sets the float environment and forwards to Impl.
#include "verbatim/engine.h"

#include <nlohmann/json.hpp>

#include "base/float_environment.h"
#include "engine/engine_impl.h"

namespace verbatim {

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Expected<std::unique_ptr<Engine>> Engine::Load(const EngineOptions& options) {
  return InstrumentedEngine::Load(options, {});
}

Expected<std::unique_ptr<Engine>> InstrumentedEngine::Load(const EngineOptions& options,
                                                           BackendWrapper wrap) {
  const FloatEnvironment environment;
  auto impl = std::make_unique<Engine::Impl>();
  impl->wrap_backend = std::move(wrap);
  try {
    VERBATIM_RETURN_IF_ERROR(impl->Load(options));
  } catch (const std::bad_alloc&) {
    return MakeError(StatusCode::kResourceExhausted, options.model,
                     "enough memory to load the model", "an allocation that failed",
                     "a smaller --context or a smaller model");
  }
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

const EngineInfo& Engine::info() const { return impl_->info; }

Expected<std::vector<int32_t>> Engine::Tokenize(std::string_view text) const {
  return impl_->tokenizer->Encode(text);
}

Expected<std::string> Engine::Detokenize(std::span<const int32_t> token_ids,
                                         bool skip_special) const {
  return impl_->tokenizer->Decode(token_ids, skip_special);
}

Expected<std::string> Engine::ApplyChatTemplate(std::string_view messages_json) const {
  if (!impl_->chat_template) return impl_->chat_template_error;
  const auto messages =
      nlohmann::ordered_json::parse(messages_json, nullptr, /*allow_exceptions=*/false);
  if (!messages.is_array()) {
    return MakeError(StatusCode::kInvalidArgument, "messages", "a JSON array of messages",
                     messages.is_discarded() ? "invalid JSON" : messages.type_name());
  }
  ChatTemplateOptions options;
  options.add_generation_prompt = true;
  return impl_->chat_template->Render(messages, options);
}

Expected<RequestId> Engine::Submit(Request request) { return impl_->Submit(std::move(request)); }
Status Engine::Cancel(RequestId id) { return impl_->Cancel(id); }

Expected<ConversationId> Engine::OpenConversation() { return impl_->OpenConversation(); }
Status Engine::CloseConversation(ConversationId id) { return impl_->CloseConversation(id); }

bool Engine::Step() {
  const FloatEnvironment environment;
  return impl_->Step();
}

Expected<Result> Engine::TakeResult(RequestId id) { return impl_->TakeResult(id); }

Expected<Result> Engine::Generate(Request request) {
  VERBATIM_ASSIGN_OR_RETURN(const RequestId id, Submit(std::move(request)));
  while (Step()) {
  }
  return TakeResult(id);
}

Expected<ScoreResult> Engine::Score(const ScoreRequest& request) {
  const FloatEnvironment environment;
  return impl_->Score(request);
}

}  // namespace verbatim
