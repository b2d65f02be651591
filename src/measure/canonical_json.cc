// One walk writes both forms.
#include "measure/canonical_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

namespace verbatim {
namespace {

constexpr int kCompact = -1;                           // an indentation: none, and no spaces
constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

std::string NumberText(double value) {
  if (std::trunc(value) == value && std::fabs(value) < kExactIntegers) {
    return fmt::format("{}", static_cast<int64_t>(value));
  }
  return fmt::format("{}", value);
}

template <typename Json>
void Append(const Json& value, int indent, std::string* text) {
  const bool compact = indent == kCompact;
  const auto append_key = [&](const std::string& key) {
    *text += Json(key).dump();
    *text += compact ? ":" : ": ";
  };
  if (value.is_object()) {
    *text += '{';
    bool first = true;
    for (const auto& [key, member] : value.items()) {
      if (!first) *text += ',';
      first = false;
      if (!compact) *text += '\n' + std::string(indent + 2, ' ');
      append_key(key);
      Append(member, compact ? kCompact : indent + 2, text);
    }
    if (!compact && !first) *text += '\n' + std::string(indent, ' ');
    *text += '}';
  } else if (value.is_array()) {
    *text += '[';
    bool first = true;
    for (const Json& element : value) {
      if (!first) *text += compact ? "," : ", ";
      first = false;
      // Elements that are objects (biases) stay on the array's line.
      if (compact || !element.is_object()) {
        Append(element, indent, text);
        continue;
      }
      *text += '{';
      bool first_member = true;
      for (const auto& [key, member] : element.items()) {
        if (!first_member) *text += ", ";
        first_member = false;
        append_key(key);
        Append(member, indent, text);
      }
      *text += '}';
    }
    *text += ']';
  } else if (value.is_number_float()) {
    *text += NumberText(value.template get<double>());
  } else {
    *text += value.dump();
  }
}

}  // namespace

std::string CanonicalJson(const nlohmann::json& value) {
  std::string text;
  Append(value, kCompact, &text);
  return text;
}

std::string ReadableJson(const nlohmann::ordered_json& value) {
  std::string text;
  Append(value, 0, &text);
  return text + "\n";
}

double JsonNumber(float value) {
  const std::string text = fmt::format("{}", value);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<float> FloatOfJsonNumber(double number) {
  const std::string text = fmt::format("{}", number);
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || (value == 0) != (number == 0)) return std::nullopt;
  return value;
}

}  // namespace verbatim
