// Utf8Stream: turns any bytes, in any pieces, into valid UTF-8. Not a validator of user input.
#ifndef VERBATIM_TEXT_UTF8_H_
#define VERBATIM_TEXT_UTF8_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace verbatim {

// Bytes that can't belong to a character become U+FFFD, one for each maximal subpart (Unicode 15,
// section 3.9, "Substitution of Maximal Subparts"; the same as Rust's from_utf8_lossy and the
// WHATWG decoder). What is appended depends on the bytes only, never on how they were cut.
class Utf8Stream {
 public:
  // Appends to `out` every character that `bytes` completes; an incomplete one is held back.
  void Append(std::string_view bytes, std::string& out);

  // Ends the text: an incomplete character becomes one U+FFFD.
  void Finish(std::string& out);

  // Bytes held back, 0 to 3.
  int pending() const { return pending_size_; }

 private:
  char pending_[4] = {};
  int pending_size_ = 0;
  int missing_ = 0;       // continuation bytes that the character still needs
  uint8_t lower_ = 0x80;  // the range of the next continuation byte
  uint8_t upper_ = 0xBF;
};

}  // namespace verbatim

#endif  // VERBATIM_TEXT_UTF8_H_
