// Percentiles are linear between neighbours (statistics.h), as in NumPy and vLLM's benchmark.
#include "measure/serve_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "measure/statistics.h"

namespace verbatim {
namespace {

constexpr size_t kShownBytes = 40;  // of each answer where they part

void AddAt(std::vector<int64_t>& total, const std::vector<int64_t>& more) {
  if (total.size() < more.size()) total.resize(more.size());
  for (size_t i = 0; i < more.size(); ++i) total[i] += more[i];
}

// From a position that is moved back to where a character begins.
std::string Excerpt(std::string_view text, size_t at) {
  const auto continues = [&](size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
  };
  at = std::min(at, text.size());
  while (at > 0 && continues(at)) --at;
  size_t end = std::min(text.size(), at + kShownBytes);
  while (end > at && continues(end)) --end;
  return std::string(text.substr(at, end - at));
}

std::optional<ServedDifference> Difference(const ServedRequest& a, const ServedRequest& b) {
  const auto compare = [&](std::string_view what, std::string_view of_a,
                           std::string_view of_b) -> std::optional<ServedDifference> {
    if (of_a == of_b) return std::nullopt;
    const auto parted = std::ranges::mismatch(of_a, of_b);
    const auto at = static_cast<size_t>(parted.in1 - of_a.begin());
    return ServedDifference{.index = a.index,
                            .position = static_cast<int64_t>(at),
                            .what = std::string(what),
                            .a = Excerpt(of_a, at),
                            .b = Excerpt(of_b, at)};
  };
  if (auto found = compare("reasoning", a.reasoning, b.reasoning)) return found;
  if (auto found = compare("text", a.text, b.text)) return found;
  return compare("tool calls", a.tool_calls, b.tool_calls);
}

}  // namespace

int64_t ServedRequest::tokens() const {
  return completion_tokens > 0 ? completion_tokens : static_cast<int64_t>(event_times.size());
}

double ServedRequest::ttft_ms() const {
  return 1000 * ((event_times.empty() ? ended : event_times.front()) - sent);
}

double ServedRequest::e2e_ms() const { return 1000 * (ended - sent); }

std::optional<double> ServedRequest::tpot_ms() const {
  if (tokens() < 2 || event_times.size() < 2) return std::nullopt;
  return 1000 * (event_times.back() - event_times.front()) / static_cast<double>(tokens() - 1);
}

Percentiles PercentilesOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {.n = static_cast<int64_t>(values.size()),
          .mean = sum / static_cast<double>(values.size()),
          .p50 = Quantile(values, 0.5),
          .p90 = Quantile(values, 0.9),
          .p95 = Quantile(values, 0.95),
          .p99 = Quantile(values, 0.99)};
}

bool ServiceLevel::Meets(const ServedRequest& request) const {
  if (!request.ok()) return false;
  if (ttft_ms && request.ttft_ms() > *ttft_ms) return false;
  if (tpot_ms && request.tpot_ms().value_or(0) > *tpot_ms) return false;
  return !e2e_ms || request.e2e_ms() <= *e2e_ms;
}

Expected<ServiceLevel> ParseServiceLevel(std::string_view text, std::string_view where) {
  const auto fault = [&] {
    return MakeError(StatusCode::kInvalidArgument, where,
                     "ttft:MS, tpot:MS, e2e:MS or several of them between commas", text,
                     fmt::format("{} ttft:500,tpot:50", where));
  };
  ServiceLevel level;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    const std::string_view part = text.substr(0, comma);
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) return fault();
    const std::string_view name = part.substr(0, colon);
    std::optional<double>* limit = name == "ttft"   ? &level.ttft_ms
                                   : name == "tpot" ? &level.tpot_ms
                                   : name == "e2e"  ? &level.e2e_ms
                                                    : nullptr;
    const std::string_view number = part.substr(colon + 1);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value,
                                              std::chars_format::fixed);
    if (limit == nullptr || *limit || error != std::errc() || number.empty() ||
        end != number.data() + number.size() || !(value > 0)) {
      return fault();
    }
    *limit = value;
    if (more) text.remove_prefix(comma + 1);
  }
  return level;
}

ServeStatistics SummarizeServed(std::span<const ServedRequest> served, double elapsed_s,
                                const ServiceLevel& level) {
  ServeStatistics all = {.requests = static_cast<int64_t>(served.size()), .elapsed_s = elapsed_s};
  std::vector<double> ttft, gaps, tpot, per_event, e2e, late;
  if (level.any()) all.good = 0;
  for (const ServedRequest& request : served) {
    late.push_back(1000 * std::max(0.0, request.sent - request.due));
    if (!request.ok()) {
      ++all.errors[request.error];
      if (all.first_error.empty()) all.first_error = request.error_message;
      continue;
    }
    ++all.succeeded;
    if (level.any() && level.Meets(request)) ++*all.good;
    e2e.push_back(request.e2e_ms());
    if (const auto& times = request.event_times; !times.empty()) {
      ttft.push_back(request.ttft_ms());
      for (size_t i = 1; i < times.size(); ++i) gaps.push_back(1000 * (times[i] - times[i - 1]));
      per_event.push_back(static_cast<double>(request.tokens()) /
                          static_cast<double>(times.size()));
    }
    if (const auto ms = request.tpot_ms()) tpot.push_back(*ms);
    all.completion_tokens += request.tokens();
    all.prompt_tokens += request.prompt_tokens;
    all.tokens_told = all.tokens_told && request.completion_tokens > 0;
    if (request.cached_tokens) {
      all.cached_tokens = all.cached_tokens.value_or(0) + *request.cached_tokens;
    }
    if (request.drafts) {
      if (!all.drafts) all.drafts.emplace();
      all.drafts->drafted += request.drafts->drafted;
      all.drafts->accepted += request.drafts->accepted;
    }
    AddAt(all.tested_at, request.tested_at);
    AddAt(all.accepted_at, request.accepted_at);
  }
  all.ttft_ms = PercentilesOf(std::move(ttft));
  all.inter_event_ms = PercentilesOf(std::move(gaps));
  all.tpot_ms = PercentilesOf(std::move(tpot));
  all.tokens_per_event = PercentilesOf(std::move(per_event));
  all.e2e_ms = PercentilesOf(std::move(e2e));
  all.late_ms = PercentilesOf(std::move(late));
  return all;
}

ServedComparison CompareServed(std::span<const ServedRequest> a, std::span<const ServedRequest> b) {
  std::map<int64_t, const ServedRequest*> of_b;
  for (const ServedRequest& request : b) of_b[request.index] = &request;
  ServedComparison comparison;
  for (const ServedRequest& request : a) {
    const auto other = of_b.find(request.index);
    if (!request.ok() || other == of_b.end() || !other->second->ok()) {
      ++comparison.not_compared;
      continue;
    }
    ++comparison.compared;
    auto difference = Difference(request, *other->second);
    if (!difference) continue;
    ++comparison.differing;
    if (!comparison.first || difference->index < comparison.first->index) {
      comparison.first = std::move(difference);
    }
  }
  comparison.not_compared +=
      std::max<int64_t>(0, static_cast<int64_t>(b.size()) - static_cast<int64_t>(a.size()));
  return comparison;
}

}  // namespace verbatim
