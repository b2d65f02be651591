// One pass over all ids for each step of section 9.
#include "numerics/reference/select.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/philox.h"
#include "numerics/elementary.h"

namespace verbatim::reference {
namespace {

constexpr float kRemoved = -std::numeric_limits<float>::infinity();

// Logits after the steps; kRemoved for what they took out.
using Row = std::vector<float>;

void ApplyPenalties(const SelectInput& input, const SamplingOptions& options, Row& row) {
  for (size_t id = 0; id < row.size(); ++id) {
    const auto token = static_cast<int32_t>(id);
    const auto in_output = std::ranges::count(input.output, token);
    float& l = row[id];
    if (in_output > 0 || std::ranges::count(input.prompt, token) > 0) {
      l = l > 0 ? l / options.repetition_penalty : l * options.repetition_penalty;
    }
    if (in_output > 0) {
      l = (l - static_cast<float>(in_output) * options.frequency_penalty) -
          options.presence_penalty;
    }
  }
}

void ApplyBiasAndBans(const SelectInput& input, const SamplingOptions& options, Row& row) {
  for (const LogitBias& entry : options.logit_bias) row[entry.token_id] += entry.bias;
  for (const int32_t id : options.banned_token_ids) row[id] = kRemoved;
  for (const int32_t id : input.banned_ids) row[id] = kRemoved;
  for (size_t id = 0; !input.allowed.empty() && id < row.size(); ++id) {
    if (id / 32 >= input.allowed.size() || (input.allowed[id / 32] >> id % 32 & 1) == 0) {
      row[id] = kRemoved;
    }
  }
  if (static_cast<int64_t>(input.output.size()) < options.min_tokens) {
    for (const int32_t id : input.eos_ids) row[id] = kRemoved;
  }
  for (size_t id = input.num_choosable; id < row.size(); ++id) row[id] = kRemoved;
}

float Maximum(const Row& row) { return *std::ranges::max_element(row); }

Row Weights(const Row& row) {
  const float max = Maximum(row);
  Row weights(row.size());
  for (size_t id = 0; id < row.size(); ++id) weights[id] = elementary::Exp(row[id] - max);
  return weights;
}

float SumOverLanes(const Row& weights) {
  float lanes[64] = {};
  for (size_t id = 0; id < weights.size(); ++id) lanes[id % 64] += weights[id];
  for (size_t half = 32; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// Ids of what is left, by logit descending, then id ascending.
std::vector<int32_t> Order(const Row& row) {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < row.size(); ++id) {
    if (row[id] > kRemoved) ids.push_back(static_cast<int32_t>(id));
  }
  std::ranges::sort(
      ids, [&](int32_t a, int32_t b) { return row[a] > row[b] || (row[a] == row[b] && a < b); });
  return ids;
}

void KeepFirst(size_t count, const std::vector<int32_t>& order, Row& row) {
  for (size_t i = count; i < order.size(); ++i) row[order[i]] = kRemoved;
}

void ApplyFilters(const SamplingOptions& options, Row& row) {
  if (options.top_k > 0) KeepFirst(options.top_k, Order(row), row);
  if (options.top_p < 1) {
    const Row weights = Weights(row);
    const float target = options.top_p * SumOverLanes(weights);
    const std::vector<int32_t> order = Order(row);
    float chain = 0;
    size_t kept = 0;
    while (kept < order.size()) {
      chain += weights[order[kept++]];
      if (chain >= target) break;
    }
    KeepFirst(kept, order, row);
  }
  if (options.min_p > 0) {
    const Row weights = Weights(row);
    for (size_t id = 0; id < row.size(); ++id) {
      if (weights[id] < options.min_p) row[id] = kRemoved;
    }
  }
}

float GumbelNoise(const SamplingOptions& options, uint64_t position, uint32_t id) {
  const PhiloxCounter words =
      Philox4x32({id >> 2, static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
                  options.choice},
                 {static_cast<uint32_t>(options.seed), static_cast<uint32_t>(options.seed >> 32)});
  const float u = std::fmin(static_cast<float>(words[id & 3] | 1U) * 0x1p-32F, 1 - 0x1p-24F);
  return -elementary::Log(-elementary::Log1p(-u));
}

float LogProbability(const Row& row, int32_t id) {
  return (row[id] - Maximum(row)) - elementary::Log(SumOverLanes(Weights(row)));
}

std::vector<TokenLogprob> Top(const Row& row, int64_t num_choosable, int count) {
  std::vector<TokenLogprob> top;
  for (const int32_t id : Order(row)) {
    if (static_cast<int>(top.size()) == count) break;
    if (id < num_choosable) top.push_back({id, LogProbability(row, id)});
  }
  return top;
}

Row Process(const SelectInput& input, const SamplingOptions& options) {
  Row row(input.logits.begin(), input.logits.end());
  ApplyPenalties(input, options, row);
  ApplyBiasAndBans(input, options, row);
  if (options.temperature == 0) return row;
  for (float& l : row) l *= 1 / options.temperature;
  ApplyFilters(options, row);
  return row;
}

}  // namespace

SelectOutput Select(const SelectInput& input, const SamplingOptions& options) {
  const Row row = Process(input, options);
  const std::vector<int32_t> order = Order(row);
  if (order.empty()) return {};
  Row noisy = row;
  if (options.temperature > 0) {
    const uint64_t position = input.prompt.size() + input.output.size();
    for (const int32_t id : order) {
      noisy[id] += GumbelNoise(options, position, static_cast<uint32_t>(id));
    }
  }
  SelectOutput result;
  result.token = Order(noisy).front();
  if (options.logprobs >= 0) {
    const Row raw(input.logits.begin(), input.logits.end());
    result.logprobs = {.raw = LogProbability(raw, result.token),
                       .processed = LogProbability(row, result.token),
                       .top_raw = Top(raw, input.num_choosable, options.logprobs),
                       .top_processed = Top(row, input.num_choosable, options.logprobs)};
  }
  return result;
}

std::vector<double> Probabilities(const SelectInput& input, const SamplingOptions& options) {
  const Row row = Process(input, options);
  std::vector<double> probabilities(row.size());
  double sum = 0;
  for (size_t id = 0; id < row.size(); ++id) {
    probabilities[id] = row[id] == kRemoved ? 0 : std::exp(double{row[id]} - double{Maximum(row)});
    sum += probabilities[id];
  }
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

}  // namespace verbatim::reference
