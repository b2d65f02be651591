// Two passes: a SAX pass that refuses what the DOM would silently accept, then the DOM.
#include "checkpoint/json.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/mapped_file.h"

namespace verbatim {
namespace {

// nlohmann's DOM keeps the last of two equal keys and nests without limit; this refuses both.
class Checker : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Checker(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return Value(); }
  bool boolean(bool) override { return Value(); }
  bool number_integer(number_integer_t) override { return Value(); }
  bool number_unsigned(number_unsigned_t) override { return Value(); }
  bool number_float(number_float_t, const string_t&) override { return Value(); }
  bool string(string_t&) override { return Value(); }
  bool binary(binary_t&) override { return Value(); }
  bool start_object(size_t) override { return Open(); }
  bool start_array(size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    path_.back() = name;
    if (keys_.back().insert(name).second) return true;
    expected_ = "each key once in an object";
    received_ = fmt::format("key \"{}\" twice", name.substr(0, 200));
    return false;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    expected_ = "valid JSON";
    received_ = fmt::format("a syntax error at byte {}", position);
    return false;
  }

  std::string expected_ = "valid JSON";
  std::string received_ = "something else";

 private:
  bool Value() {
    if (++values_ <= limits_.max_values) return true;
    expected_ = fmt::format("at most {} JSON values", limits_.max_values);
    received_ = "more";
    return false;
  }
  bool Open() {
    keys_.emplace_back();
    path_.emplace_back();
    if (static_cast<int>(keys_.size()) <= limits_.max_depth) return Value();
    expected_ = fmt::format("JSON at most {} levels deep", limits_.max_depth);
    received_ = fmt::format("more{}", Place());
    return false;
  }
  bool Close() {
    keys_.pop_back();
    path_.pop_back();
    return true;
  }
  // " in a.b", the keys on the way; nothing if there are none.
  std::string Place() const {
    std::string place;
    for (const std::string& name : path_) {
      if (!name.empty()) place += (place.empty() ? " in " : ".") + name.substr(0, 200);
    }
    return place;
  }

  const JsonLimits limits_;
  int64_t values_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects (arrays: empty)
  std::vector<std::string> path_;                      // the last key of each of them
};

}  // namespace

Expected<nlohmann::json> ParseJson(std::string_view text, std::string_view where,
                                   const JsonLimits& limits) {
  Checker checker(limits);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &checker)) {
    return MakeError(StatusCode::kCorrupt, where, checker.expected_, checker.received_);
  }
  return nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

Expected<nlohmann::json> ReadJsonObject(const std::filesystem::path& path, size_t max_bytes) {
  VERBATIM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, max_bytes));
  VERBATIM_ASSIGN_OR_RETURN(nlohmann::json json, ParseJson(text, path.string()));
  if (!json.is_object()) {
    return MakeError(StatusCode::kCorrupt, path.string(), "a JSON object", json.type_name());
  }
  return json;
}

std::string JsonForMessage(const nlohmann::json& value) {
  constexpr size_t kMaxShown = 80;
  std::string text =
      value.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown - 3) + "...";
  return text;
}

const nlohmann::json* JsonFields::Find(std::string_view key) const {
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool JsonFields::Has(std::string_view key) const { return Find(key) != nullptr; }

std::string JsonFields::Where(std::string_view key) const {
  return fmt::format("{}: {}{}", where_, prefix_, key);
}

Status JsonFields::Fault(std::string_view key, std::string_view expected) const {
  const nlohmann::json* value = Find(key);
  return MakeError(StatusCode::kCorrupt, Where(key), expected,
                   value == nullptr ? "no such key" : JsonForMessage(*value));
}

Expected<int64_t> JsonFields::Integer(std::string_view key, int64_t min, int64_t max) const {
  const nlohmann::json* value = Find(key);
  const std::string expected = fmt::format("an integer from {} to {}", min, max);
  if (value == nullptr || !value->is_number_integer()) return Fault(key, expected);
  // An unsigned value above 2^63 must not wrap.
  if (value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    return Fault(key, expected);
  }
  const int64_t number = value->get<int64_t>();
  if (number < min || number > max) return Fault(key, expected);
  return number;
}

Expected<double> JsonFields::Number(std::string_view key) const {
  const nlohmann::json* value = Find(key);
  if (value == nullptr || !value->is_number()) return Fault(key, "a number");
  const double number = value->get<double>();
  if (!std::isfinite(number)) return Fault(key, "a finite number");
  return number;
}

Expected<bool> JsonFields::Bool(std::string_view key) const {
  const nlohmann::json* value = Find(key);
  if (value == nullptr || !value->is_boolean()) return Fault(key, "true or false");
  return value->get<bool>();
}

Expected<std::string> JsonFields::String(std::string_view key) const {
  const nlohmann::json* value = Find(key);
  if (value == nullptr || !value->is_string()) return Fault(key, "a string");
  return value->get<std::string>();
}

Expected<JsonFields> JsonFields::Object(std::string_view key) const {
  const nlohmann::json* value = Find(key);
  if (value == nullptr || !value->is_object()) return Fault(key, "an object");
  return JsonFields(*value, where_, fmt::format("{}{}.", prefix_, key));
}

}  // namespace verbatim
