// Types and ranges.
#include "serve/api/field_reader.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "serve/api/json_text.h"

namespace verbatim::serve {
namespace {

constexpr size_t kShownBytes = 48;  // of a text in a message; with the rest it fits one line
constexpr double kInt64Limit = 9223372036854775808.0;  // 2^63

// The longest prefix of at most `most` bytes that ends between characters.
std::string_view Prefix(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

// Not a cast: 0.1 must become what the command line makes of "0.1".
std::optional<float> FloatOf(double number) {
  std::array<char, 32> text;  // the shortest decimal of a binary64 has at most 24 characters
  const auto written = std::to_chars(text.data(), text.data() + text.size(), number);
  float value = 0;
  const auto read = std::from_chars(text.data(), written.ptr, value);
  if (read.ec == std::errc::result_out_of_range) {
    if (std::abs(number) < 1) return 0.0F;  // too small for a binary32
    return std::nullopt;
  }
  return value;
}

std::string RangeText(const NumberRange& range) {
  if (range.above_low) return fmt::format("a number above {}, at most {}", range.low, range.high);
  return fmt::format("a number from {} to {}", range.low, range.high);
}

}  // namespace

void FirstFault::Set(std::string_view param, std::string_view expected, std::string_view received,
                     std::string_view advice) {
  if (error_) return;
  error_ = ToApiError(MakeError(StatusCode::kInvalidArgument, param.empty() ? "body" : param,
                                expected, received, advice),
                      param);
}

void FirstFault::SetUnsupported(std::string_view param, std::string_view expected,
                                std::string_view received, std::string_view advice) {
  if (error_) return;
  error_ =
      ToApiError(MakeError(StatusCode::kUnsupported, param, expected, received, advice), param);
}

std::string DescribeJson(const Json& value) {
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  if (value.is_object()) return fmt::format("an object of {} fields", value.size());
  if (!value.is_string()) return DumpJson(value);
  const std::string_view text = value.get_ref<const std::string&>();
  const std::string_view shown = Prefix(text, kShownBytes);
  std::string quoted = DumpJson(Json(std::string(shown)));
  if (shown.size() < text.size()) quoted += fmt::format("... of {} bytes", text.size());
  return quoted;
}

const Json* FieldReader::Find(std::string_view key) const {
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::string FieldReader::Path(std::string_view key) const {
  // Keys that the client made up are shown, but not at any length.
  const std::string_view shown = Prefix(key, kShownBytes);
  return path_.empty() ? std::string(shown) : fmt::format("{}.{}", path_, shown);
}

void FieldReader::Fault(std::string_view key, std::string_view expected,
                        std::string_view advice) const {
  const Json* value = Find(key);
  fault_->Set(Path(key), expected, value == nullptr ? "none" : DescribeJson(*value), advice);
}

void FieldReader::Unsupported(std::string_view key, std::string_view expected,
                              std::string_view advice) const {
  const Json* value = Find(key);
  fault_->SetUnsupported(Path(key), expected, value == nullptr ? "none" : DescribeJson(*value),
                         advice);
}

void FieldReader::Missing(std::string_view key, std::string_view expected) const {
  if (!Has(key)) fault_->Set(Path(key), expected, "no such field");
}

std::optional<bool> FieldReader::Bool(std::string_view key) const {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  Fault(key, "true or false");
  return std::nullopt;
}

std::optional<int64_t> FieldReader::Integer(std::string_view key, int64_t low, int64_t high) const {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  std::optional<int64_t> number;
  if (value->is_number_unsigned()) {
    const auto unsigned_number = value->get<uint64_t>();
    if (unsigned_number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      number = static_cast<int64_t>(unsigned_number);
    }
  } else if (value->is_number_integer()) {
    number = value->get<int64_t>();
  } else if (value->is_number_float()) {
    const auto decimal = value->get<double>();
    if (decimal == std::trunc(decimal) && std::abs(decimal) < kInt64Limit) {
      number = static_cast<int64_t>(decimal);
    }
  }
  if (number && *number >= low && *number <= high) return number;
  Fault(key, high == std::numeric_limits<int64_t>::max()
                 ? fmt::format("an integer of at least {}", low)
                 : fmt::format("an integer from {} to {}", low, high));
  return std::nullopt;
}

std::optional<float> FieldReader::Number(std::string_view key, const NumberRange& range) const {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto number = value->get<double>();
    const std::optional<float> narrow = FloatOf(number);
    // Of the binary32: a number just above 0 may have become 0.
    if (narrow && *narrow >= range.low && *narrow <= range.high &&
        !(range.above_low && *narrow == range.low)) {
      return narrow;
    }
  }
  Fault(key, RangeText(range));
  return std::nullopt;
}

std::optional<std::string> FieldReader::String(std::string_view key) const {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  Fault(key, "a string");
  return std::nullopt;
}

std::optional<size_t> FieldReader::Word(std::string_view key,
                                        std::span<const std::string_view> words) const {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    for (size_t i = 0; i < words.size(); ++i) {
      if (text == words[i]) return i;
    }
  }
  std::string expected;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) expected += i + 1 < words.size() ? ", " : " or ";
    expected += fmt::format("\"{}\"", words[i]);
  }
  Fault(key, expected);
  return std::nullopt;
}

std::optional<FieldReader> FieldReader::Object(std::string_view key) const {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) return FieldReader(*value, Path(key), *fault_);
  Fault(key, "an object");
  return std::nullopt;
}

const Json* FieldReader::List(std::string_view key, size_t most) const {
  const Json* value = Find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) {
    Fault(key, "a list");
    return nullptr;
  }
  if (value->size() > most) {
    Fault(key, fmt::format("a list of at most {}", most));
    return nullptr;
  }
  return value;
}

std::optional<FieldReader> FieldReader::Element(std::string_view key, const Json& list,
                                                size_t index) const {
  const std::string path = fmt::format("{}[{}]", Path(key), index);
  const Json& element = list[index];
  if (element.is_object()) return FieldReader(element, path, *fault_);
  fault_->Set(path, "an object", DescribeJson(element));
  return std::nullopt;
}

std::vector<std::string> FieldReader::Texts(std::string_view key, size_t most, size_t most_bytes,
                                            bool single_allowed) const {
  std::vector<std::string> texts;
  const Json* value = Find(key);
  if (value == nullptr) return texts;
  const auto add = [&](const Json& text, std::string_view path) {
    const std::string expected = fmt::format("a string of 1 to {} bytes", most_bytes);
    if (!text.is_string()) return fault_->Set(path, expected, DescribeJson(text));
    const auto& bytes = text.get_ref<const std::string&>();
    if (bytes.empty() || bytes.size() > most_bytes) {
      return fault_->Set(path, expected, fmt::format("one of {}", bytes.size()));
    }
    texts.push_back(bytes);
  };
  if (value->is_string() && single_allowed) {
    add(*value, Path(key));
    return texts;
  }
  if (!value->is_array()) {
    Fault(key, single_allowed ? "a string or a list of strings" : "a list of strings");
    return texts;
  }
  if (List(key, most) == nullptr) return texts;
  for (size_t i = 0; i < value->size(); ++i) add((*value)[i], fmt::format("{}[{}]", Path(key), i));
  return texts;
}

bool IsTokenId(const Json& value, int64_t vocab_size) {
  return value.is_number_unsigned() && value.get<uint64_t>() < static_cast<uint64_t>(vocab_size);
}

std::vector<int32_t> FieldReader::TokenIds(std::string_view key, size_t most,
                                           int64_t vocab_size) const {
  std::vector<int32_t> ids;
  const Json* list = List(key, most);
  if (list == nullptr) return ids;
  ids.reserve(list->size());
  for (size_t i = 0; i < list->size(); ++i) {
    const Json& id = (*list)[i];
    if (!IsTokenId(id, vocab_size)) {
      fault_->Set(fmt::format("{}[{}]", Path(key), i),
                  fmt::format("a token id from 0 to {}", vocab_size - 1), DescribeJson(id));
      break;
    }
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

}  // namespace verbatim::serve
