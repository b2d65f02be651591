// ParseBody: JSON that nobody vouches for, in bounded time and memory. Not the fields in it.
#include <fmt/format.h>

#include <limits>
#include <utility>
#include <vector>

#include "serve/api/answer_request.h"

namespace verbatim::serve {
namespace {

// A value takes 16 bytes and a place in its list, an empty list or object up to 56 more: 2^21 of
// them stay below about 150 MB, and a prompt of 2^20 ids, the longest context, is half of them.
constexpr int64_t kMaxValues = int64_t{1} << 21;
// Ordered objects are searched from their front for each new key. So many comparisons take about
// half a second, and one object may have 16,000 keys (each of logit_bias takes one).
constexpr int64_t kMaxKeyComparisons = int64_t{1} << 27;

constexpr size_t kShownBytes = 120;  // of nlohmann's message: its words, and some of the text

// Builds the value as nlohmann's own parser does, but for the limits. Of equal keys the last one
// counts, as in Python.
class LimitedBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit LimitedBuilder(int max_depth) : max_depth_(max_depth) {}

  bool null() override { return Add(nullptr) != nullptr; }
  bool boolean(bool value) override { return Add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return Add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return Add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return Add(value) != nullptr;
  }
  bool string(string_t& value) override { return Add(std::move(value)) != nullptr; }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*elements*/) override { return Open(Json::object()); }
  bool start_array(std::size_t /*elements*/) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    Json& object = *open_.back();
    comparisons_ += static_cast<int64_t>(object.size());
    if (comparisons_ > kMaxKeyComparisons) {
      return Refuse("fewer keys in its objects", "more of them than can be searched");
    }
    slot_ = &object[name];
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    // nlohmann's own words, without its "[json.exception...] parse error at ...: " in front.
    std::string_view what = error.what();
    if (const size_t colon = what.find(": "); colon != what.npos) what.remove_prefix(colon + 2);
    // The words end with what was read last, which may be a whole document in a string.
    return Refuse("valid JSON",
                  fmt::format("a fault at byte {}: {}", position, what.substr(0, kShownBytes)));
  }

  Json& root() { return root_; }
  const Status& status() const { return status_; }

 private:
  bool Refuse(std::string_view expected, std::string_view received) {
    if (status_.ok()) {
      status_ = MakeError(StatusCode::kInvalidArgument, "body", expected, received);
    }
    return false;
  }

  Json* Add(Json value) {
    if (++values_ > kMaxValues) {
      Refuse(fmt::format("at most {} values", kMaxValues), "more");
      return nullptr;
    }
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    return &(*slot_ = std::move(value));
  }

  // Only the innermost open list grows, so that the places of the outer ones stay.
  bool Open(Json value) {
    if (std::cmp_greater_equal(open_.size(), max_depth_)) {
      return Refuse(fmt::format("at most {} nested lists and objects", max_depth_), "more");
    }
    Json* place = Add(std::move(value));
    if (place == nullptr) return false;
    open_.push_back(place);
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  int max_depth_;
  Json root_;
  std::vector<Json*> open_;
  Json* slot_ = nullptr;  // of the key that was read last
  int64_t values_ = 0;
  int64_t comparisons_ = 0;
  Status status_;
};

}  // namespace

std::variant<Json, ApiError> ParseBody(std::string_view body, const ApiLimits& limits) {
  LimitedBuilder builder(limits.max_json_depth);
  if (!Json::sax_parse(body, &builder)) return ToApiError(builder.status());
  return std::move(builder.root());
}

}  // namespace verbatim::serve
