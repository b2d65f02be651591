// Status and Expected: errors as values, the only way that a public call reports failure. Not
// exceptions.
#ifndef VERBATIM_STATUS_H_
#define VERBATIM_STATUS_H_

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace verbatim {

enum class StatusCode {
  kOk,
  kInvalidArgument,    // the caller's request is wrong
  kNotFound,           // a file, tensor or model is missing
  kCorrupt,            // a file contradicts itself or its format
  kUnsupported,        // valid, but not something this build can do
  kResourceExhausted,  // memory, context or disk ran out
  kIo,                 // the operating system refused a read or a write
  kCancelled,          // stopped on request
  kDivergence,         // bytes differ that the contract says are equal
  kInternal,           // an invariant broke
};

// The snake_case name of a code, e.g. "not_found".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// Builds the one form that errors have: "[where] expected X, received Y; try Z".
// `where` names a file, tensor, option or field. `advice` may be empty.
Status MakeError(StatusCode code, std::string_view where, std::string_view expected,
                 std::string_view received, std::string_view advice = {});

// A value or the Status that explains its absence.
template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : value_(std::move(value)) {}                                  // NOLINT
  Expected(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace verbatim

// Returns the Status of `expr` from the calling function if it is not ok.
#define VERBATIM_RETURN_IF_ERROR(expr)                                      \
  do {                                                                      \
    if (::verbatim::Status verbatim_status = (expr); !verbatim_status.ok()) \
      return verbatim_status;                                               \
  } while (false)

#define VERBATIM_CONCAT_INNER(a, b) a##b
#define VERBATIM_CONCAT(a, b) VERBATIM_CONCAT_INNER(a, b)

// VERBATIM_ASSIGN_OR_RETURN(auto x, F()); assigns the value or returns the Status.
#define VERBATIM_ASSIGN_OR_RETURN(lhs, expr) \
  VERBATIM_ASSIGN_OR_RETURN_IMPL(VERBATIM_CONCAT(verbatim_expected_, __LINE__), lhs, expr)
#define VERBATIM_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                   \
  if (!tmp.ok()) return tmp.status();                  \
  lhs = *std::move(tmp)

#endif  // VERBATIM_STATUS_H_
