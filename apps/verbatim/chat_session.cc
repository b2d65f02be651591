// Messages to JSON and back. A file from outside is checked in every field before anything of it
// counts.
#include "apps/verbatim/chat_session.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/verbatim/json_writer.h"
#include "checkpoint/json.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kFormat = "verbatim-chat";
constexpr int64_t kVersion = 1;

void WriteMessage(std::string_view role, std::string_view content, JsonWriter& json) {
  json.BeginObject().Key("role").String(role).Key("content").String(content).EndObject();
}

void WriteAnswer(const ChatAnswer& answer, bool for_file, JsonWriter& json) {
  json.BeginObject().Key("role").String("assistant").Key("content").String(answer.content);
  if (!answer.reasoning.empty()) json.Key("reasoning_content").String(answer.reasoning);
  if (for_file && answer.interrupted) json.Key("interrupted").Bool(true);
  json.EndObject();
}

void WriteMessages(const std::string& system, std::span<const ChatTurn> turns, bool for_file,
                   JsonWriter& json) {
  if (!system.empty()) WriteMessage("system", system, json);
  for (const ChatTurn& turn : turns) {
    WriteMessage("user", turn.user, json);
    WriteAnswer(turn.answer, for_file, json);
  }
}

// Messages of a file in order, each with the role that its place demands.
class MessageReader {
 public:
  MessageReader(const nlohmann::json& messages, std::string_view where)
      : messages_(messages), where_(where) {}

  bool AtEnd() const { return next_ == messages_.size(); }
  bool NextIs(std::string_view role) const {
    if (AtEnd() || !messages_[next_].is_object()) return false;
    const auto it = messages_[next_].find("role");
    return it != messages_[next_].end() && *it == role;
  }

  // The fields of the next message.
  Expected<JsonFields> Next(std::string_view role) {
    const std::string place = fmt::format("messages[{}]", next_);
    if (!NextIs(role)) {
      return MakeError(StatusCode::kCorrupt, fmt::format("{}: {}", where_, place),
                       fmt::format("a message of the role {}", role),
                       AtEnd() ? "the end" : JsonForMessage(messages_[next_]));
    }
    return JsonFields(messages_[next_++], where_, place + ".");
  }

 private:
  const nlohmann::json& messages_;
  std::string where_;
  size_t next_ = 0;
};

Expected<ChatAnswer> ReadAnswer(const JsonFields& fields) {
  ChatAnswer answer;
  VERBATIM_ASSIGN_OR_RETURN(answer.content, fields.String("content"));
  if (fields.Has("reasoning_content")) {
    VERBATIM_ASSIGN_OR_RETURN(answer.reasoning, fields.String("reasoning_content"));
  }
  if (fields.Has("interrupted")) {
    VERBATIM_ASSIGN_OR_RETURN(answer.interrupted, fields.Bool("interrupted"));
  }
  return answer;
}

}  // namespace

std::string ChatSession::TemplateMessages(std::string_view user) const {
  JsonWriter json;
  json.BeginArray();
  WriteMessages(system_, turns_, /*for_file=*/false, json);
  WriteMessage("user", user, json);
  json.EndArray();
  return json.Take();
}

std::string ChatSession::ToJson(std::string_view model) const {
  JsonWriter json;
  json.BeginObject().Key("format").String(kFormat).Key("version").Integer(kVersion);
  json.Key("model").String(model).Key("messages").BeginArray();
  WriteMessages(system_, turns_, /*for_file=*/true, json);
  json.EndArray().EndObject();
  return json.Take();
}

Expected<ChatSession> ChatSession::FromJson(std::string_view text, std::string_view where,
                                            std::string* model) {
  VERBATIM_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, where));
  if (!json.is_object()) {
    return MakeError(StatusCode::kCorrupt, where, "an object", JsonForMessage(json),
                     "a file that /save wrote");
  }
  const JsonFields fields(json, std::string(where));
  VERBATIM_ASSIGN_OR_RETURN(const std::string format, fields.String("format"));
  if (format != kFormat) {
    return MakeError(StatusCode::kCorrupt, fields.Where("format"), kFormat, format,
                     "a file that /save wrote");
  }
  VERBATIM_ASSIGN_OR_RETURN(const int64_t version, fields.Integer("version", 0, INT64_MAX));
  if (version != kVersion) {
    return MakeError(StatusCode::kCorrupt, fields.Where("version"), fmt::format("{}", kVersion),
                     fmt::format("{}", version), "the version of verbatim that wrote the file");
  }
  VERBATIM_ASSIGN_OR_RETURN(*model, fields.String("model"));
  const nlohmann::json* messages = fields.Find("messages");
  if (messages == nullptr || !messages->is_array()) {
    return MakeError(StatusCode::kCorrupt, fields.Where("messages"), "an array",
                     messages == nullptr ? "nothing" : JsonForMessage(*messages));
  }
  ChatSession session;
  MessageReader reader(*messages, where);
  if (reader.NextIs("system")) {
    VERBATIM_ASSIGN_OR_RETURN(const JsonFields system, reader.Next("system"));
    VERBATIM_ASSIGN_OR_RETURN(session.system_, system.String("content"));
  }
  while (!reader.AtEnd()) {
    ChatTurn turn;
    VERBATIM_ASSIGN_OR_RETURN(const JsonFields user, reader.Next("user"));
    VERBATIM_ASSIGN_OR_RETURN(turn.user, user.String("content"));
    VERBATIM_ASSIGN_OR_RETURN(const JsonFields answer, reader.Next("assistant"));
    VERBATIM_ASSIGN_OR_RETURN(turn.answer, ReadAnswer(answer));
    session.Add(std::move(turn));
  }
  return session;
}

}  // namespace verbatim::cli
