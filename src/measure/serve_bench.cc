// One part of a trace at a time, all on one thread: sending, reading and the clock.
#include "measure/serve_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "checkpoint/json.h"
#include "measure/draft_counts.h"
#include "measure/sse_parser.h"

namespace verbatim {
namespace {

using nlohmann::json;

// An event may carry a whole receipt.
constexpr JsonLimits kEventLimits = {.max_depth = 64, .max_values = int64_t{1} << 20};

const json* Find(const json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string StringOf(const json& object, std::string_view key) {
  const json* found = Find(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

int64_t CountOf(const json& object, std::string_view key) {
  const json* found = Find(object, key);
  return found != nullptr && found->is_number() ? found->get<int64_t>() : 0;
}

std::vector<int64_t> CountsOf(const json& object, std::string_view key) {
  std::vector<int64_t> counts;
  if (const json* found = Find(object, key); found != nullptr && found->is_array()) {
    for (const json& each : *found) counts.push_back(each.is_number() ? each.get<int64_t>() : 0);
  }
  return counts;
}

// Whether it adds to what a client reads.
bool TakeText(const json& choice, ServedRequest& request) {
  const size_t before = request.text.size() + request.reasoning.size() + request.tool_calls.size();
  request.text += StringOf(choice, "text");
  if (const json* delta = Find(choice, "delta")) {
    request.text += StringOf(*delta, "content");
    const std::string reasoning = StringOf(*delta, "reasoning_content");
    request.reasoning += reasoning.empty() ? StringOf(*delta, "reasoning") : reasoning;
    if (const json* calls = Find(*delta, "tool_calls"); calls != nullptr && calls->is_array()) {
      for (const json& call : *calls) {
        const json* function = Find(call, "function");
        if (function == nullptr) continue;
        request.tool_calls += StringOf(*function, "name") + StringOf(*function, "arguments");
      }
    }
  }
  return request.text.size() + request.reasoning.size() + request.tool_calls.size() > before;
}

void TakeUsage(const json& usage, ServedRequest& request) {
  request.completion_tokens = CountOf(usage, "completion_tokens");
  request.prompt_tokens = CountOf(usage, "prompt_tokens");
  if (const json* details = Find(usage, "prompt_tokens_details")) {
    if (Find(*details, "cached_tokens") != nullptr) {
      request.cached_tokens = CountOf(*details, "cached_tokens");
    }
  }
}

// An error object's message, or the body's beginning.
std::string Words(std::string_view body) {
  constexpr size_t kShown = 160;  // two lines of a terminal
  std::string words(body.substr(0, kShown));
  if (const auto parsed = ParseJson(body, "error", kEventLimits); parsed.ok()) {
    const json* error = Find(*parsed, "error");
    if (error != nullptr && !StringOf(*error, "message").empty())
      words = StringOf(*error, "message");
  }
  for (char& c : words) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return words;
}

// One part of the trace in one arm.
class Part {
 public:
  Part(const ServeBenchOptions& options, const ServeArm& arm, const std::string& model,
       std::span<const TraceRequest> trace, int64_t first)
      : options_(options), arm_(arm), model_(model), trace_(trace), first_(first) {}

  Status Run(std::vector<ServedRequest>& served, double& elapsed_s) {
    streams_ =
        options_.make_streams(arm_.url, {.timeout_ms = options_.timeout_ms, .stop = options_.stop});
    served_.resize(trace_.size());
    begin_ = streams_->Now();
    if (options_.trace.rate > 0) {
      for (size_t i = 0; i < trace_.size(); ++i) {
        const double due = begin_ + trace_[i].at_s - trace_.front().at_s;
        served_[i].due = due;
        streams_->At(due, [this, i] { Want(i); });
      }
    } else {
      for (size_t i = 0; i < trace_.size(); ++i) waiting_.push_back(i);
      SendWaiting();
    }
    VERBATIM_RETURN_IF_ERROR(streams_->Run());
    double end = begin_;
    for (ServedRequest& request : served_) {
      if (request.ended == 0) continue;  // never sent: the time was over
      end = std::max(end, request.ended);
      served.push_back(std::move(request));
    }
    elapsed_s += end - begin_;
    return {};
  }

 private:
  void Want(size_t i) {
    waiting_.push_back(i);
    SendWaiting();
  }

  void SendWaiting() {
    while (!waiting_.empty() && (options_.concurrency == 0 || running_ < options_.concurrency)) {
      const size_t i = waiting_.front();
      waiting_.pop_front();
      const double passed = streams_->Now() - begin_;
      const bool over = options_.trace.duration_s > 0 && passed > options_.trace.duration_s;
      if (options_.trace.rate == 0 && over) {
        waiting_.clear();
        return;
      }
      SendOne(i);
    }
  }

  void SendOne(size_t i) {
    ServedRequest& request = served_[i];
    request.index = first_ + static_cast<int64_t>(i);
    request.sent = streams_->Now();
    if (options_.trace.rate == 0) request.due = request.sent;
    ++running_;
    const bool chat = options_.endpoint == Endpoint::kChat;
    auto parser = std::make_shared<SseParser>();
    streams_->Send(
        {.path = chat ? "/v1/chat/completions" : "/v1/completions",
         .body = ServeRequestBody(options_, arm_, model_, trace_[i]),
         .bearer = options_.api_key},
        [this, &request, parser](std::string_view bytes) {
          const double now = streams_->Now();
          parser->Push(bytes, [&](std::string_view data) {
            if (request.ended == 0 && !TakeServeEvent(data, now, request)) request.ended = now;
          });
        },
        [this, &request](const Expected<HttpResponse>& response) { End(request, response); });
  }

  void End(ServedRequest& request, const Expected<HttpResponse>& response) {
    const bool whole = request.ended != 0;
    if (!whole) request.ended = streams_->Now();
    if (!response.ok()) {
      // Behind [DONE] it does not matter how the connection ends.
      if (!whole) {
        request.error = "connection";
        request.error_message = response.status().message();
      }
    } else if (response->status != 200) {
      request.error = fmt::format("status {}", response->status);
      request.error_message = Words(response->body);
    } else if (!whole) {
      request.error = "cut short";
      request.error_message = "the stream ended before [DONE]";
    }
    --running_;
    ++done_;
    if (options_.progress) {
      options_.progress(static_cast<double>(done_) / static_cast<double>(trace_.size()), arm_.name);
    }
    SendWaiting();
  }

  const ServeBenchOptions& options_;
  const ServeArm& arm_;
  const std::string& model_;
  std::span<const TraceRequest> trace_;
  int64_t first_;
  std::vector<ServedRequest> served_;
  std::deque<size_t> waiting_;
  int running_ = 0;
  int64_t done_ = 0;
  double begin_ = 0;
  std::unique_ptr<HttpStreams> streams_;  // its callbacks are into what is above
};

class Bench {
 public:
  explicit Bench(const ServeBenchOptions& options) : options_(options) {}

  Expected<ServeReport> Run() {
    if (options_.arms.empty() || options_.prompts.empty()) {
      return MakeError(StatusCode::kInvalidArgument, "bench serve", "an arm and a prompt", "none");
    }
    for (const ServeArm& arm : options_.arms) VERBATIM_RETURN_IF_ERROR(Connect(arm));
    const std::vector<TraceRequest> trace = MakeTrace(options_.trace, options_.prompts);
    const auto size = static_cast<int64_t>(trace.size());
    const int64_t rounds =
        options_.arms.size() < 2 ? 1 : std::min<int64_t>(std::max(options_.rounds, 1), size);
    for (int64_t round = 0; round < rounds; ++round) {
      const int64_t first = size * round / rounds;
      const int64_t last = size * (round + 1) / rounds;
      const std::span part =
          std::span(trace).subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
      for (size_t i = 0; i < arms_.size(); ++i) {
        const size_t arm = round % 2 == 0 ? i : arms_.size() - 1 - i;
        VERBATIM_RETURN_IF_ERROR(RunPart(arm, part, first));
      }
    }
    return Report();
  }

 private:
  struct Arm {
    std::string model;
    std::vector<ServedRequest> served = {};
    double elapsed_s = 0;
    std::vector<double> round_rates = {};
    DraftCounts metrics = {};  // what /metrics gained in its parts
    bool has_metrics = false;
  };

  CompletionServer Server(const ServeArm& arm) const {
    return {
        arm.name,
        arm.url,
        options_.make_client(arm.url, {.timeout_ms = options_.timeout_ms, .stop = options_.stop}),
        {.model = options_.model, .api_key = options_.api_key, .logprobs = false}};
  }

  Status Connect(const ServeArm& arm) {
    CompletionServer server = Server(arm);
    VERBATIM_RETURN_IF_ERROR(server.Connect());
    arms_.push_back({.model = server.model()});
    return {};
  }

  Status RunPart(size_t i, std::span<const TraceRequest> trace, int64_t first) {
    Arm& arm = arms_[i];
    CompletionServer server = Server(options_.arms[i]);
    VERBATIM_ASSIGN_OR_RETURN(const auto before, server.Metrics());
    Part part(options_, options_.arms[i], arm.model, trace, first);
    std::vector<ServedRequest> served;
    double elapsed_s = 0;
    VERBATIM_RETURN_IF_ERROR(part.Run(served, elapsed_s));
    arm.round_rates.push_back(SummarizeServed(served, elapsed_s, options_.level).tokens_per_s());
    arm.elapsed_s += elapsed_s;
    std::ranges::move(served, std::back_inserter(arm.served));
    VERBATIM_ASSIGN_OR_RETURN(const auto after, server.Metrics());
    if (before && after) {
      arm.has_metrics = true;
      arm.metrics.drafted += after->drafted - before->drafted;
      arm.metrics.accepted += after->accepted - before->accepted;
    }
    return {};
  }

  ServeReport Report() {
    ServeReport report;
    for (size_t i = 0; i < arms_.size(); ++i) {
      Arm& arm = arms_[i];
      ServeArmReport made = {.name = options_.arms[i].name, .model = arm.model};
      made.statistics = SummarizeServed(arm.served, arm.elapsed_s, options_.level);
      if (!made.statistics.drafts && arm.has_metrics) {
        made.statistics.drafts = arm.metrics;
        made.statistics.drafts_from_metrics = true;
      }
      made.served = std::move(arm.served);
      made.round_rates = std::move(arm.round_rates);
      report.arms.push_back(std::move(made));
    }
    if (report.arms.size() == 2) {
      report.comparison = CompareServed(report.arms[0].served, report.arms[1].served);
      std::vector<double> ratios;
      for (size_t round = 0; round < report.arms[0].round_rates.size(); ++round) {
        const double second = report.arms[1].round_rates[round];
        if (second > 0) ratios.push_back(report.arms[0].round_rates[round] / second);
      }
      report.round_ratio = Summarize(std::move(ratios));
    }
    return report;
  }

  const ServeBenchOptions& options_;
  std::vector<Arm> arms_;
};

}  // namespace

std::string ServeRequestBody(const ServeBenchOptions& options, const ServeArm& arm,
                             const std::string& model, const TraceRequest& request) {
  json body = {{"model", model},   {"max_tokens", options.max_tokens},
               {"temperature", 0}, {"seed", options.trace.seed},
               {"stream", true},   {"stream_options", {{"include_usage", true}}}};
  if (options.endpoint == Endpoint::kCompletions) {
    body["prompt"] = request.text;
  } else if (request.messages_json.empty()) {
    body["messages"] = json::array({{{"role", "user"}, {"content", request.text}}});
  } else {
    body["messages"] = json::parse(request.messages_json, nullptr, /*allow_exceptions=*/false);
  }
  if (!arm.fields.empty()) {
    body.merge_patch(json::parse(arm.fields, nullptr, /*allow_exceptions=*/false));
  }
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool TakeServeEvent(std::string_view data, double now, ServedRequest& request) {
  if (data == "[DONE]") return false;
  const auto parsed = ParseJson(data, "event", kEventLimits);
  if (!parsed.ok()) {
    request.error = "not JSON";
    request.error_message = Words(data);
    return false;
  }
  if (Find(*parsed, "error") != nullptr) {
    request.error = "error event";
    request.error_message = Words(data);
    return false;
  }
  if (const json* choices = Find(*parsed, "choices"); choices != nullptr && choices->is_array()) {
    for (const json& choice : *choices) {
      if (TakeText(choice, request)) request.event_times.push_back(now);
      const json* told = Find(choice, "verbatim");
      const json* speculation = told == nullptr ? nullptr : Find(*told, "speculation");
      if (speculation == nullptr) continue;
      request.tested_at = CountsOf(*speculation, "tested_at");
      request.accepted_at = CountsOf(*speculation, "accepted_at");
    }
  }
  if (const json* usage = Find(*parsed, "usage")) TakeUsage(*usage, request);
  if (auto drafts = FindDraftCounts(*parsed)) request.drafts = drafts;
  return true;
}

Expected<ServeReport> RunServeBench(const ServeBenchOptions& options) {
  return Bench(options).Run();
}

}  // namespace verbatim
