// SseParser: the data of server-sent events out of bytes in any pieces. Not what the data means.
#ifndef VERBATIM_MEASURE_SSE_PARSER_H_
#define VERBATIM_MEASURE_SSE_PARSER_H_

#include <functional>
#include <string>
#include <string_view>

namespace verbatim {

class SseParser {
 public:
  // `on_data` gets each event's data when its blank line has come: several data lines joined by
  // line breaks. Comments and other fields are left out.
  void Push(std::string_view bytes, const std::function<void(std::string_view data)>& on_data);

 private:
  std::string line_ = {};
  std::string data_ = {};
  bool has_data_ = false;
};

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_SSE_PARSER_H_
