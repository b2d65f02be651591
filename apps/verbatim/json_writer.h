// JsonWriter: JSON text, value by value, on one line. Not a document model, and not a parser.
#ifndef VERBATIM_APPS_JSON_WRITER_H_
#define VERBATIM_APPS_JSON_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim::cli {

// The caller keeps objects and arrays balanced; Take aborts if they are not.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(std::string_view key);

  JsonWriter& String(std::string_view text);  // bytes that are not UTF-8 become U+FFFD
  JsonWriter& Integer(int64_t value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  // The shortest decimal that reads back as the same value, always with a point or an exponent so
  // that -0.0 survives; null if not finite, for which JSON has no name.
  JsonWriter& Float(float value);
  JsonWriter& Double(double value);
  // Milliseconds and rates: three decimals, so that files stay readable.
  JsonWriter& Rounded(double value);

  JsonWriter& Integers(std::span<const int32_t> values);
  JsonWriter& Integers(std::span<const int64_t> values);
  JsonWriter& Floats(std::span<const float> values);

  std::string Take();  // the text; the writer is empty afterwards

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  JsonWriter& Raw(std::string_view text);  // one scalar, with the comma before it

  std::string text_;
  std::vector<bool> filled_;  // per open container: whether it has a member
  bool after_key_ = false;
};

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_JSON_WRITER_H_
