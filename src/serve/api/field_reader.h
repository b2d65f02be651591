// FieldReader: one JSON object of a request, field by field, with faults that name the field. Not
// the meaning of any field.
#ifndef VERBATIM_SERVE_API_FIELD_READER_H_
#define VERBATIM_SERVE_API_FIELD_READER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api/answer_request.h"

namespace verbatim::serve {

// The first fault of a request; later ones are not looked at.
class FirstFault {
 public:
  // `param` is the field's path, `messages[2].content`.
  void Set(std::string_view param, std::string_view expected, std::string_view received,
           std::string_view advice = {});
  // A field that has a meaning here, but not with this value: code "unsupported_value".
  void SetUnsupported(std::string_view param, std::string_view expected, std::string_view received,
                      std::string_view advice = {});
  bool any() const { return error_.has_value(); }
  const ApiError& error() const { return *error_; }

 private:
  std::optional<ApiError> error_;
};

// A value as messages show it: one line, at most about 60 bytes; lists and objects by their size.
std::string DescribeJson(const Json& value);

// The numbers that a field may have.
struct NumberRange {
  double low = 0;
  double high = 0;
  bool above_low = false;  // `low` itself is not among them
};

// Every reading method returns nothing for an absent or null field, and for a faulty one, whose
// fault is kept. The object and the FirstFault must outlive the reader.
class FieldReader {
 public:
  FieldReader(const Json& object, std::string path, FirstFault& fault)
      : object_(&object), path_(std::move(path)), fault_(&fault) {}

  const Json* Find(std::string_view key) const;  // null: absent or null
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  std::optional<bool> Bool(std::string_view key) const;
  // 3.0 is an integer, too, as Python's clients and servers have it.
  std::optional<int64_t> Integer(std::string_view key, int64_t low, int64_t high) const;
  // The binary32 nearest to the decimal that the client wrote, as the command line reads it.
  std::optional<float> Number(std::string_view key, const NumberRange& range) const;
  std::optional<std::string> String(std::string_view key) const;
  // One of `words`, as its index.
  std::optional<size_t> Word(std::string_view key, std::span<const std::string_view> words) const;
  std::optional<FieldReader> Object(std::string_view key) const;
  // The list, of at most `most` elements.
  const Json* List(std::string_view key, size_t most) const;
  // An element of it that must be an object.
  std::optional<FieldReader> Element(std::string_view key, const Json& list, size_t index) const;
  // A text, or a list of at most `most` of them, none of them empty or above `most_bytes`.
  std::vector<std::string> Texts(std::string_view key, size_t most, size_t most_bytes,
                                 bool single_allowed) const;
  std::vector<int32_t> TokenIds(std::string_view key, size_t most, int64_t vocab_size) const;

  std::string Path(std::string_view key) const;
  void Fault(std::string_view key, std::string_view expected, std::string_view advice = {}) const;
  void Unsupported(std::string_view key, std::string_view expected,
                   std::string_view advice = {}) const;
  // A field that must be there.
  void Missing(std::string_view key, std::string_view expected) const;
  FirstFault& fault() const { return *fault_; }
  bool ok() const { return !fault_->any(); }
  const Json& json() const { return *object_; }

 private:
  const Json* object_;
  std::string path_;  // "" for the body itself
  FirstFault* fault_;
};

// Whether the value is a token id of the vocabulary.
bool IsTokenId(const Json& value, int64_t vocab_size);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_FIELD_READER_H_
