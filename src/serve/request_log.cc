// Over spdlog, which writes whole lines from several threads.
#include "serve/request_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cstdio>

namespace verbatim::serve {
namespace {

constexpr const char* kLevelNames[] = {"error", "warning", "info", "debug"};

std::string Now() {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)), milliseconds);
}

}  // namespace

RequestLog::RequestLog(const LogOptions& options, std::shared_ptr<spdlog::logger> logger)
    : options_(options), logger_(std::move(logger)) {}
RequestLog::~RequestLog() = default;

Expected<std::unique_ptr<RequestLog>> RequestLog::Open(const LogOptions& options) {
  std::shared_ptr<spdlog::logger> logger;
  try {
    if (options.file.empty()) {
      logger = std::make_shared<spdlog::logger>("verbatim",
                                                std::make_shared<spdlog::sinks::stderr_sink_mt>());
    } else {
      logger = std::make_shared<spdlog::logger>(
          "verbatim", std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file));
    }
  } catch (const spdlog::spdlog_ex& error) {
    return MakeError(StatusCode::kIo, "--log-file " + options.file, "a file to write to",
                     error.what());
  }
  logger->set_pattern("%v");
  logger->flush_on(spdlog::level::trace);
  logger->set_error_handler(
      [said = std::make_shared<std::atomic<bool>>(false)](const std::string& message) {
        if (!said->exchange(true)) {
          (void)std::fprintf(stderr, "verbatim: the log can't be written: %s\n", message.c_str());
        }
      });
  return std::unique_ptr<RequestLog>(new RequestLog(options, std::move(logger)));
}

void RequestLog::Write(LogLevel level, std::string_view event,
                       const nlohmann::ordered_json& fields) {
  if (level > options_.level) return;
  using Json = nlohmann::ordered_json;
  const char* const name = kLevelNames[static_cast<int>(level)];
  if (options_.json) {
    Json line = {{"time", Now()}, {"level", name}, {"event", event}};
    line.update(fields);
    return logger_->info("{}", line.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  std::string line = fmt::format("{} {} {}", Now(), name, event);
  for (const auto& [key, value] : fields.items()) {
    line += fmt::format(" {}={}", key, value.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  logger_->info("{}", line);
}

}  // namespace verbatim::serve
