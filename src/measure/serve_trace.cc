// Random words are Philox's: a trace needs nothing but its seed.
#include "measure/serve_trace.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/philox.h"

namespace verbatim {
namespace {

using nlohmann::json;

enum class Purpose : uint32_t { kArrival, kOrder, kPrefix };

// In (0, 1], of 53 bits.
double Uniform(uint64_t seed, Purpose purpose, int64_t index) {
  const auto i = static_cast<uint64_t>(index);
  const PhiloxCounter words = Philox4x32(
      {static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), static_cast<uint32_t>(purpose), 0},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t bits = (uint64_t{words[0]} << 32 | words[1]) >> 11;
  return (static_cast<double>(bits) + 1) * 0x1p-53;
}

// Of one round of all prompts.
std::vector<int64_t> Order(uint64_t seed, int64_t round, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = count - 1; i > 0; --i) {
    const double share = 1 - Uniform(seed, Purpose::kOrder, round * count + i);  // in [0, 1)
    const auto j = static_cast<int64_t>(share * static_cast<double>(i + 1));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  }
  return order;
}

// Puts `front` before the prompt: a system message for the prefix, else the first message's text.
void Prepend(TraceRequest& request, const std::string& front, bool system) {
  const std::string between = system ? "\n\n" : " ";
  if (request.messages_json.empty() && !system) {
    request.text = front + between + request.text;
    return;
  }
  json messages = request.messages_json.empty()
                      ? json::array({{{"role", "user"}, {"content", request.text}}})
                      : json::parse(request.messages_json, nullptr, /*allow_exceptions=*/false);
  request.text = front + between + request.text;
  if (!messages.is_array()) return;  // ParseFlipPrompts lets none of these through
  const bool has_system = !messages.empty() && messages.front().value("role", "") == "system";
  if (system && !has_system) {
    messages.insert(messages.begin(), json({{"role", "system"}, {"content", front}}));
  } else if (!messages.empty() && messages.front().contains("content") &&
             messages.front()["content"].is_string()) {
    messages.front()["content"] = front + between + messages.front()["content"].get<std::string>();
  }
  request.messages_json = messages.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string SharedPrefix(int64_t words) {
  std::vector<std::string_view> all;
  for (const FlipPrompt& prompt : DefaultFlipPrompts()) {
    std::string_view rest = prompt.text;
    while (!rest.empty()) {
      const size_t end = rest.find_first_of(" \n");
      if (end != 0) all.push_back(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  std::string prefix;
  for (int64_t i = 0; i < words; ++i) {
    if (i > 0) prefix += ' ';
    prefix += all[static_cast<size_t>(i) % all.size()];
  }
  return prefix;
}

std::vector<TraceRequest> MakeTrace(const TraceOptions& options,
                                    std::span<const FlipPrompt> prompts) {
  const std::string prefix = options.shared_prefix > 0 ? SharedPrefix(options.prefix_words) : "";
  const auto count = static_cast<int64_t>(prompts.size());
  std::vector<TraceRequest> trace;
  std::vector<int64_t> order;
  double at = 0;
  for (int64_t i = 0; i < options.requests; ++i) {
    if (options.rate > 0) {
      // Poisson arrivals: exponential gaps, by inversion.
      if (i > 0) at -= std::log(Uniform(options.seed, Purpose::kArrival, i)) / options.rate;
      if (options.duration_s > 0 && at > options.duration_s) break;
    }
    const int64_t round = i / count;
    if (i % count == 0) order = Order(options.seed, round, count);
    TraceRequest request = {.at_s = at, .prompt = order[static_cast<size_t>(i % count)]};
    const FlipPrompt& prompt = prompts[static_cast<size_t>(request.prompt)];
    request.text = prompt.text;
    request.messages_json = prompt.messages_json;
    if (round > 0) Prepend(request, fmt::format("[{}]", round + 1), false);
    request.shared_prefix = Uniform(options.seed, Purpose::kPrefix, i) <= options.shared_prefix;
    if (request.shared_prefix) Prepend(request, prefix, true);
    trace.push_back(std::move(request));
  }
  return trace;
}

}  // namespace verbatim
