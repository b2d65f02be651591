// Lines end with \n or \r\n; a lone \r, which the format also allows, nobody sends.
#include "measure/sse_parser.h"

namespace verbatim {

void SseParser::Push(std::string_view bytes,
                     const std::function<void(std::string_view data)>& on_data) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    if (line_.empty()) {
      if (has_data_) on_data(data_);
      data_.clear();
      has_data_ = false;
    } else if (std::string_view line = line_; line.starts_with("data:")) {
      line.remove_prefix(5);
      if (line.starts_with(' ')) line.remove_prefix(1);
      if (has_data_) data_ += '\n';
      data_ += line;
      has_data_ = true;
    }
    line_.clear();
  }
}

}  // namespace verbatim
