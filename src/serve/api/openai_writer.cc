// The object around the choices. Not what is in them (chat_writer.cc, completions_writer.cc).
#include "serve/api/openai_writer.h"

#include <fmt/format.h>

namespace verbatim::serve {

std::string OpenAiWriter::EndChoice(const ChoiceEnd& end) {
  SetEnd(end);
  if (!stream_) return {};
  Json choice = EmptyChoice(end.choice);
  AddEnd(end, choice);
  Json body = Body(form_.chunk, Json::array({std::move(choice)}));
  AddTimings(body);
  return SseData(body);
}

std::string OpenAiWriter::End() {
  if (!stream_) return DumpJson(Whole());
  std::string out;
  if (include_usage_) {
    Json body = Body(form_.chunk, Json::array());
    body["usage"] = OpenAiUsageJson();
    AddMetrics(body);
    out = SseData(body);
  }
  return out + "data: [DONE]\n\n";
}

std::string OpenAiWriter::Fail(const ApiError& error) {
  const std::string json = ErrorJson(error, api_, head_.id);
  return stream_ ? fmt::format("data: {}\n\n", json) : json;
}

std::string OpenAiWriter::Chunk(Json choice) const {
  return SseData(Body(form_.chunk, Json::array({std::move(choice)})));
}

Json OpenAiWriter::Body(std::string_view object, Json choices) const {
  Json body;
  body["id"] = fmt::format("{}{}", form_.id_prefix, head_.id);
  body["object"] = object;
  body["created"] = head_.created;
  body["model"] = head_.model;
  body["system_fingerprint"] = head_.system_fingerprint;
  body["choices"] = std::move(choices);
  if (stream_ && include_usage_) body["usage"] = nullptr;
  return body;
}

Json OpenAiWriter::Whole() {
  Json list = Json::array();
  for (int i = 0; i < num_choices(); ++i) {
    Json choice = TakeChoice(i);
    AddEnd(*ends_[static_cast<size_t>(i)], choice);
    if (token_details_) choice["verbatim"]["tokens"] = TakeTokens(i);
    list.push_back(std::move(choice));
  }
  Json body = Body(form_.whole, std::move(list));
  body["usage"] = OpenAiUsageJson();
  AddMetrics(body);
  AddTimings(body);
  return body;
}

void OpenAiWriter::AddEnd(const ChoiceEnd& end, Json& choice) const {
  choice["finish_reason"] = FinishReasonWord(end);
  choice["stop_reason"] = StopReasonJson(end);
  choice["verbatim"] = VerbatimJson(end);
  if (!single()) choice["verbatim"]["timings"] = TimingsJson(end);
}

}  // namespace verbatim::serve
