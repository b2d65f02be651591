// RequestLog: one line for each request and event, as JSON or for people. Prompts, answers and keys
// are never in it.
#ifndef VERBATIM_SERVE_REQUEST_LOG_H_
#define VERBATIM_SERVE_REQUEST_LOG_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "verbatim/status.h"

namespace spdlog {
class logger;  // NOLINT(readability-identifier-naming): spdlog's name
}

namespace verbatim::serve {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  bool json = false;      // else "2026-11-30T10:00:00.123Z info request id=... status=200 ..."
  std::string file = {};  // empty: standard error
};

// Thread rule: all methods may be called from any thread. A log that can't be written (a full disk)
// is said once on standard error; the server goes on.
class RequestLog {
 public:
  // Errors: kIo for a file that can't be opened.
  static Expected<std::unique_ptr<RequestLog>> Open(const LogOptions& options);
  ~RequestLog();

  // `fields` is an object of flat values.
  void Write(LogLevel level, std::string_view event, const nlohmann::ordered_json& fields);

 private:
  RequestLog(const LogOptions& options, std::shared_ptr<spdlog::logger> logger);
  LogOptions options_;
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_REQUEST_LOG_H_
