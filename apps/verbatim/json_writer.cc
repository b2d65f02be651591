// JSON text. Numbers through fmt (shortest round trip), strings through nlohmann's escaping.
#include "apps/verbatim/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"

namespace verbatim::cli {
namespace {

template <typename T>
std::string Shortest(T value) {
  if (!std::isfinite(value)) return "null";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

JsonWriter& JsonWriter::Raw(std::string_view text) {
  if (!after_key_ && !filled_.empty()) {
    if (filled_.back()) text_ += ", ";
    filled_.back() = true;
  }
  after_key_ = false;
  text_ += text;
  return *this;
}

JsonWriter& JsonWriter::Open(char bracket) {
  Raw(std::string_view(&bracket, 1));
  filled_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  VERBATIM_CHECK(!filled_.empty() && !after_key_);
  filled_.pop_back();
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  String(key);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  return Raw(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

JsonWriter& JsonWriter::Integer(int64_t value) { return Raw(fmt::format("{}", value)); }
JsonWriter& JsonWriter::Bool(bool value) { return Raw(value ? "true" : "false"); }
JsonWriter& JsonWriter::Null() { return Raw("null"); }
JsonWriter& JsonWriter::Float(float value) { return Raw(Shortest(value)); }
JsonWriter& JsonWriter::Double(double value) { return Raw(Shortest(value)); }

JsonWriter& JsonWriter::Rounded(double value) {
  return std::isfinite(value) ? Raw(fmt::format("{:.3f}", value)) : Null();
}

JsonWriter& JsonWriter::Integers(std::span<const int32_t> values) {
  BeginArray();
  for (int32_t value : values) Integer(value);
  return EndArray();
}

JsonWriter& JsonWriter::Integers(std::span<const int64_t> values) {
  BeginArray();
  for (int64_t value : values) Integer(value);
  return EndArray();
}

JsonWriter& JsonWriter::Floats(std::span<const float> values) {
  BeginArray();
  for (float value : values) Float(value);
  return EndArray();
}

std::string JsonWriter::Take() {
  VERBATIM_CHECK(filled_.empty() && !after_key_);
  return std::exchange(text_, {});
}

}  // namespace verbatim::cli
