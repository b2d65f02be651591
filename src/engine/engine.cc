// The public face: each call sets the float environment and forwards to Impl.
#include "verbatim/engine.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/float_environment.h"
#include "engine/engine_impl.h"

namespace verbatim {
namespace {

using Json = nlohmann::ordered_json;  // the given order of keys, which templates print

Expected<Json> ParseJson(std::string_view where, std::string_view text, Json::value_t type) {
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.type() == type) return value;
  return MakeError(StatusCode::kInvalidArgument, where,
                   fmt::format("a JSON {}", Json(type).type_name()),
                   value.is_discarded() ? "invalid JSON" : value.type_name());
}

}  // namespace

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
  return ApplyChatTemplate({.messages_json = messages_json});
}

Expected<std::string> Engine::ApplyChatTemplate(const ChatTemplateInput& input) const {
  if (!impl_->chat_template) return impl_->chat_template_error;
  VERBATIM_ASSIGN_OR_RETURN(const Json messages,
                            ParseJson("messages", input.messages_json, Json::value_t::array));
  ChatTemplateOptions options;
  options.add_generation_prompt = input.add_generation_prompt;
  options.enable_thinking = input.enable_thinking;
  if (!input.tools_json.empty()) {
    VERBATIM_ASSIGN_OR_RETURN(options.tools,
                              ParseJson("tools", input.tools_json, Json::value_t::array));
  }
  if (!input.kwargs_json.empty()) {
    VERBATIM_ASSIGN_OR_RETURN(options.kwargs, ParseJson("chat_template_kwargs", input.kwargs_json,
                                                        Json::value_t::object));
  }
  return impl_->chat_template->Render(messages, options);
}

int64_t Engine::LeastTokens(std::string_view text) const {
  return impl_->tokenizer->LeastTokens(text);
}

Expected<std::string_view> Engine::TokenBytes(int32_t token_id) const {
  return impl_->tokenizer->TokenBytes(token_id);
}

Expected<std::shared_ptr<const CompiledConstraint>> Engine::CompileConstraint(
    const ConstraintOptions& options) const {
  return impl_->CompileConstraint(options);
}

EngineStats Engine::stats() const { return impl_->Stats(); }

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
