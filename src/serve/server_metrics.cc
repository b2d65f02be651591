// Over prometheus-cpp: families are made once, what the engine counts itself is copied per page.
#include "serve/server_metrics.h"

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <mutex>

namespace verbatim::serve {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

// vLLM's buckets, in seconds.
const Histogram::BucketBoundaries kFirstTokenBuckets = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08,
                                                        0.1,   0.25,  0.5,  0.75, 1,    2.5,  5,
                                                        7.5,   10,    20,   40,   80,   160};
const Histogram::BucketBoundaries kInterTokenBuckets = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5};
const Histogram::BucketBoundaries kRequestBuckets = {
    0.01, 0.05, 0.1, 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480};

// vLLM's buckets of token counts: 1, 2, 5, 10, 20, 50, ... up to `max`.
Histogram::BucketBoundaries TokenBuckets(int64_t max) {
  Histogram::BucketBoundaries buckets;
  for (int64_t decade = 1; decade <= max; decade *= 10) {
    for (const int64_t step : {1, 2, 5}) {
      if (step * decade <= max) buckets.push_back(static_cast<double>(step * decade));
    }
  }
  return buckets;
}

// vLLM's word where it has another one.
std::string_view FinishedReason(FinishReason reason) {
  return reason == FinishReason::kCancelled ? "abort" : FinishReasonName(reason);
}

}  // namespace

struct ServerMetrics::Families {
  prometheus::Registry registry;
  prometheus::Labels labels;

  Counter& MakeCounter(const char* name, const char* help, const prometheus::Labels& more = {}) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(With(more));
  }
  Gauge& MakeGauge(const char* name, const char* help, const prometheus::Labels& more = {}) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(With(more));
  }
  Histogram& MakeHistogram(const char* name, const char* help,
                           const Histogram::BucketBoundaries& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(labels,
                                                                                     buckets);
  }
  prometheus::Labels With(prometheus::Labels more) const {
    more.insert(labels.begin(), labels.end());
    return more;
  }

  // Counters of what the engine and the transport count themselves: raised to what they say.
  std::mutex page_mutex;
  static void RaiseTo(Counter& counter, double value) {
    counter.Increment(std::max(0.0, value - counter.Value()));
  }

  prometheus::Family<Counter>* requests = nullptr;
  prometheus::Family<Counter>* success = nullptr;
  std::array<Counter*, kMaxDraftTokens> accepted_at{}, tested_at{}, drafted_at{};
  Counter *drafts, *rounds, *draft_tokens, *accepted_tokens, *tested_tokens, *prompt_tokens,
      *generation_tokens, *preemptions, *cache_queries, *cache_hits, *cache_evictions, *cancelled,
      *steps, *decode_rows, *prompt_rows, *step_seconds, *connections, *refused, *clients_gone,
      *slow_readers;
  Gauge *running, *waiting, *kv_usage, *cache_entries, *cache_bytes, *connections_open,
      *longest_step;
  Histogram *first_token, *inter_token, *whole, *queue, *prefill, *decode, *inference,
      *time_per_token, *prompt_sizes, *generation_sizes, *max_tokens;
};

ServerMetrics::ServerMetrics(const EngineInfo& info, const std::string& model_name)
    : families_(std::make_unique<Families>()) {
  Families& f = *families_;
  f.labels = {{"model_name", model_name}, {"engine", "0"}};
  const auto counter = [&](const char* name, const char* help) {
    return &f.MakeCounter(name, help);
  };
  const auto gauge = [&](const char* name, const char* help) { return &f.MakeGauge(name, help); };

  f.running = gauge("vllm:num_requests_running", "Answers that take part in steps");
  f.waiting = gauge("vllm:num_requests_waiting", "Answers that wait for room, preempted ones too");
  f.kv_usage = gauge("vllm:kv_cache_usage_perc", "Share of the KV pages in use, 1 is all");
  f.preemptions = counter("vllm:num_preemptions_total", "Times that an answer gave its state up");
  f.cache_queries =
      counter("vllm:prefix_cache_queries_total", "Prompt tokens looked for in the prefix cache");
  f.cache_hits = counter("vllm:prefix_cache_hits_total", "Prompt tokens found there");
  f.cache_evictions = counter("verbatim:prefix_cache_evictions_total", "Kept states dropped");
  f.cache_entries = gauge("verbatim:prefix_cache_entries", "Kept states");
  f.cache_bytes = gauge("verbatim:prefix_cache_bytes", "Bytes of kept states and their pages");
  f.prompt_tokens = counter("vllm:prompt_tokens_total", "Prompt tokens of ended answers");
  f.generation_tokens =
      counter("vllm:generation_tokens_total", "Tokens generated by ended answers");
  f.cancelled = counter("verbatim:requests_cancelled_total", "Answers whose client went away");
  f.success = &prometheus::BuildCounter()
                   .Name("vllm:request_success_total")
                   .Help("Answers by what ended them")
                   .Register(f.registry);
  // From the start: a rate over a series that appears with its first answer misses that one.
  for (const FinishReason reason : {FinishReason::kStop, FinishReason::kLength,
                                    FinishReason::kCancelled, FinishReason::kError}) {
    f.success->Add(f.With({{"finished_reason", std::string(FinishedReason(reason))}}));
  }
  f.requests = &prometheus::BuildCounter()
                    .Name("verbatim:http_requests_total")
                    .Help("HTTP requests by endpoint and status")
                    .Register(f.registry);
  f.first_token =
      &f.MakeHistogram("vllm:time_to_first_token_seconds",
                       "From a request's arrival to its first token", kFirstTokenBuckets);
  f.inter_token =
      &f.MakeHistogram("vllm:inter_token_latency_seconds",
                       "Between two tokens; those of one block come together", kInterTokenBuckets);
  f.whole = &f.MakeHistogram("vllm:e2e_request_latency_seconds", "From arrival to the last token",
                             kRequestBuckets);
  f.queue = &f.MakeHistogram("vllm:request_queue_time_seconds", "Waiting for the first step",
                             kRequestBuckets);
  f.prefill = &f.MakeHistogram("vllm:request_prefill_time_seconds",
                               "From the first step to the first token", kRequestBuckets);
  f.decode = &f.MakeHistogram("vllm:request_decode_time_seconds",
                              "From the first token to the last", kRequestBuckets);
  f.inference = &f.MakeHistogram("vllm:request_inference_time_seconds",
                                 "From the first step to the last token", kRequestBuckets);
  f.time_per_token = &f.MakeHistogram(
      "vllm:request_time_per_output_token_seconds",
      "Mean of an answer's tokens behind the first, of answers that have some", kInterTokenBuckets);
  const Histogram::BucketBoundaries token_buckets = TokenBuckets(info.context);
  f.prompt_sizes =
      &f.MakeHistogram("vllm:request_prompt_tokens", "Prompt tokens of an answer", token_buckets);
  f.generation_sizes = &f.MakeHistogram("vllm:request_generation_tokens",
                                        "Tokens generated for an answer", token_buckets);
  f.max_tokens = &f.MakeHistogram("vllm:request_params_max_tokens",
                                  "Most tokens that an answer might have had", token_buckets);

  f.drafts = counter("vllm:spec_decode_num_drafts_total", "Decode steps that had drafts");
  f.rounds = counter("verbatim:spec_decode_num_rounds_total",
                     "Decode steps, with drafts or without, of answers that may have them");
  f.draft_tokens = counter("vllm:spec_decode_num_draft_tokens_total", "Tokens drafted");
  f.accepted_tokens =
      counter("vllm:spec_decode_num_accepted_tokens_total", "Drafts that were right");
  f.tested_tokens = counter("verbatim:spec_decode_num_tested_tokens_total",
                            "Drafts compared with the model's choice");
  auto& accepted = prometheus::BuildCounter()
                       .Name("vllm:spec_decode_num_accepted_tokens_per_pos_total")
                       .Help("Drafts that were right, by position in the block")
                       .Register(f.registry);
  auto& tested = prometheus::BuildCounter()
                     .Name("verbatim:spec_decode_num_tested_tokens_per_pos_total")
                     .Help("Drafts compared with the model's choice, by position in the block")
                     .Register(f.registry);
  auto& drafted = prometheus::BuildCounter()
                      .Name("verbatim:spec_decode_num_draft_tokens_per_pos_total")
                      .Help("Tokens drafted, by position in the block")
                      .Register(f.registry);
  for (int i = 0; i < kMaxDraftTokens; ++i) {
    const prometheus::Labels position = f.With({{"position", fmt::format("{}", i)}});
    f.accepted_at[i] = &accepted.Add(position);
    f.tested_at[i] = &tested.Add(position);
    f.drafted_at[i] = &drafted.Add(position);
  }
  f.steps = counter("verbatim:steps_total", "Steps of the engine");
  f.step_seconds = counter("verbatim:step_seconds_total", "Time in them");
  f.decode_rows = counter("verbatim:decode_rows_total", "Rows of decode blocks in all steps");
  f.prompt_rows = counter("verbatim:prompt_rows_total", "Rows of prompts in all steps");
  f.longest_step = gauge("verbatim:longest_step_seconds", "Longest step since the last scrape");

  f.MakeGauge("verbatim:contract_exact",
              "1: blocks have the bytes of single rows, as probed at load",
              {{"mode", std::string(ContractModeName(info.contract))},
               {"held", std::string(ContractModeName(info.contract_held))},
               {"verdict", std::string(ProbeVerdictName(info.probe.verdict))}})
      .Set(info.contract_held == ContractMode::kExact ? 1 : 0);
  f.MakeGauge("verbatim:contract_probe_seconds", "What the probe at load took")
      .Set(info.probe.ms / 1000);
  f.MakeGauge("verbatim:contract_probe_differing_bytes", "Bytes that differed in it")
      .Set(static_cast<double>(info.probe.differing_bytes));

  f.connections_open = gauge("verbatim:http_connections_open", "Connections, now");
  f.connections = counter("verbatim:http_connections_total", "Connections accepted");
  f.refused = counter("verbatim:http_refused_total", "Malformed, too large, too slow, too many");
  f.clients_gone =
      counter("verbatim:http_clients_gone_total", "Clients gone before their answer ended");
  f.slow_readers = counter("verbatim:http_slow_readers_cut_total", "Clients that read too slowly");
}

ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::CountRequest(std::string_view endpoint, int status) {
  families_->requests
      ->Add(families_->With(
          {{"endpoint", std::string(endpoint)}, {"status", fmt::format("{}", status)}}))
      .Increment();
}

void ServerMetrics::ObserveFirstToken(double seconds) { families_->first_token->Observe(seconds); }
void ServerMetrics::ObserveInterToken(double seconds) { families_->inter_token->Observe(seconds); }
void ServerMetrics::CountCancelled() { families_->cancelled->Increment(); }

void ServerMetrics::CountChoice(const Request& request, const Result& result,
                                const ChoiceTimes& times) {
  Families& f = *families_;
  f.success->Add(f.With({{"finished_reason", std::string(FinishedReason(result.finish_reason))}}))
      .Increment();
  const auto num_prompt = static_cast<double>(request.prompt_token_ids.size());
  const auto num_generated = static_cast<double>(result.token_ids.size());
  f.prompt_tokens->Increment(num_prompt);
  f.prompt_sizes->Observe(num_prompt);
  f.generation_tokens->Increment(num_generated);
  f.generation_sizes->Observe(num_generated);
  f.max_tokens->Observe(static_cast<double>(request.max_tokens));
  f.queue->Observe(times.queue);
  f.prefill->Observe(times.prefill);
  f.decode->Observe(times.decode);
  f.inference->Observe(times.prefill + times.decode);
  if (num_generated > 1) f.time_per_token->Observe(times.decode / (num_generated - 1));
  f.whole->Observe(times.whole);
  const SpeculationStats& stats = result.speculation;
  if (request.speculation.kind == SpeculationKind::kOff) return;
  // One draft block is one at position 0: blocks have no holes.
  f.drafts->Increment(static_cast<double>(stats.drafted_at[0]));
  f.rounds->Increment(static_cast<double>(stats.rounds));
  f.draft_tokens->Increment(static_cast<double>(stats.drafted));
  f.accepted_tokens->Increment(static_cast<double>(stats.accepted));
  f.tested_tokens->Increment(static_cast<double>(stats.tested));
  for (int i = 0; i < kMaxDraftTokens; ++i) {
    f.accepted_at[i]->Increment(static_cast<double>(stats.accepted_at[i]));
    f.tested_at[i]->Increment(static_cast<double>(stats.tested_at[i]));
    f.drafted_at[i]->Increment(static_cast<double>(stats.drafted_at[i]));
  }
}

std::string ServerMetrics::Page(const EngineStats& engine, const HttpServerStats& http,
                                double longest_step_seconds) {
  Families& f = *families_;
  const std::lock_guard lock(f.page_mutex);
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  f.running->Set(number(engine.running));
  f.waiting->Set(number(engine.waiting));
  f.kv_usage->Set(number(engine.kv_pages_used) / std::max(1.0, number(engine.kv_pages)));
  f.cache_entries->Set(number(engine.cache_entries));
  f.cache_bytes->Set(number(engine.cache_bytes));
  f.longest_step->Set(longest_step_seconds);
  f.connections_open->Set(number(http.connections_open));
  Families::RaiseTo(*f.preemptions, number(engine.preemptions));
  Families::RaiseTo(*f.cache_queries, number(engine.cache_queried_tokens));
  Families::RaiseTo(*f.cache_hits, number(engine.cache_hit_tokens));
  Families::RaiseTo(*f.cache_evictions, number(engine.cache_evictions));
  Families::RaiseTo(*f.steps, number(engine.steps));
  Families::RaiseTo(*f.step_seconds, engine.step_seconds);
  Families::RaiseTo(*f.decode_rows, number(engine.decode_rows));
  Families::RaiseTo(*f.prompt_rows, number(engine.prompt_rows));
  Families::RaiseTo(*f.connections, number(http.connections_total));
  Families::RaiseTo(*f.refused, number(http.refused_total));
  Families::RaiseTo(*f.clients_gone, number(http.clients_gone_total));
  Families::RaiseTo(*f.slow_readers, number(http.slow_readers_cut_total));
  return prometheus::TextSerializer().Serialize(f.registry.Collect());
}

}  // namespace verbatim::serve
