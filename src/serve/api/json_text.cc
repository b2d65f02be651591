// Numbers, bytes and events.
#include "serve/api/json_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "text/utf8.h"

namespace verbatim::serve {

std::string DumpJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json JsonFloat(float value) {
  constexpr double kNotFinite = -9999.0;  // vLLM's clamp
  if (!std::isfinite(value)) return kNotFinite;
  std::array<char, 32> text;  // the shortest decimal of a binary32 has at most 16 characters
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  double decimal = 0;
  std::from_chars(text.data(), written.ptr, decimal);
  return decimal;
}

Json JsonRate(double value) {
  if (!std::isfinite(value)) return 0.0;
  return std::round(value * 1000) / 1000;
}

std::string LossyUtf8(std::string_view bytes) {
  std::string text;
  Utf8Stream stream;
  stream.Append(bytes, text);
  stream.Finish(text);
  return text;
}

Json JsonBytes(std::string_view bytes) {
  Json list = Json::array();
  for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
  return list;
}

std::string SseData(const Json& data) { return fmt::format("data: {}\n\n", DumpJson(data)); }

std::string SseEvent(std::string_view event, const Json& data) {
  return fmt::format("event: {}\ndata: {}\n\n", event, DumpJson(data));
}

}  // namespace verbatim::serve
