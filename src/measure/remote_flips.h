// RunRemoteFlips: two OpenAI-compatible servers asked the same prompts, and where their answers
// part. Not the requests (completion_server.h), and not a local model (flips.h).
#ifndef VERBATIM_MEASURE_REMOTE_FLIPS_H_
#define VERBATIM_MEASURE_REMOTE_FLIPS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/completion_server.h"
#include "measure/flip_statistics.h"
#include "measure/flips.h"
#include "measure/gap_histogram.h"

namespace verbatim {

// What two answers were compared by: the best that both have.
enum class AnswerUnit : uint8_t { kTokenIds, kTokenTexts, kCharacters };
std::string_view AnswerUnitName(AnswerUnit unit);  // "token ids", "token texts", "characters"

enum class Channel : uint8_t { kTokens, kReasoning, kText, kToolCalls };
std::string_view ChannelName(Channel channel);  // "tokens", "reasoning", "text", "tool calls"

struct Divergence {
  Channel channel = Channel::kTokens;
  // In units, from 0; for texts that differ although their tokens agree, behind the last one.
  int64_t position = 0;
  std::string a = {}, b = {};     // a little of both from there on
  std::optional<float> gap = {};  // of `a`'s top two there, in log-probability
};

// Where two answers part, and what was looked at.
struct AnswerComparison {
  AnswerUnit unit = AnswerUnit::kTokenIds;
  int64_t units = 0;  // equal ones, plus the one that differs
  double tokens = 0;  // the same in tokens; estimated by the characters' share where unit is
                      // kCharacters and the server counts its tokens
  std::optional<Divergence> divergence = {};
};

// Neither answer is empty.
AnswerComparison CompareAnswers(const Answer& a, const Answer& b);

enum class DraftVerdict : uint8_t {
  kUntold,  // the server says nothing either way
  kNone,    // it says that nothing was drafted
  kRan,
};
std::string_view DraftVerdictName(DraftVerdict verdict);

struct ArmReport {
  std::string url = {}, model = {};
  int64_t asked = 0;   // requests
  int64_t failed = 0;  // without a usable answer
  int64_t empty = 0;   // answers with nothing in any channel
  std::string first_error = {};
  DraftVerdict verdict = DraftVerdict::kUntold;
  DraftCounts drafts = {};  // of the answers, else of /metrics
  bool drafts_from_metrics = false;
  // Prompts asked twice of which both answers can be compared, and those that differ.
  Rate repeats = {};
  Rate self_divergences = {};  // per token, as the rate between the arms
};

struct RemoteFlip {
  int64_t prompt = 0;
  Divergence at = {};
  bool arms_repeat = true;  // both arms gave their answer twice
  bool large_gap = false;   // see RemoteReport::rounding_limit
};

struct RemoteReport {
  std::array<ArmReport, 2> arms = {};  // baseline, candidate
  int64_t prompts = 0;                 // given
  int64_t compared = 0;
  int64_t no_data = 0;                  // an answer was empty or missing
  int64_t not_asked = 0;                // an arm had failed too often before
  std::array<int64_t, 3> by_unit = {};  // compared prompts by AnswerUnit
  bool logprobs_off = false;  // asking for log-probabilities turned the candidate's drafts off
  int64_t max_tokens = 0;
  uint64_t seed = 0;
  Rate divergences = {};  // per token until the first divergence, clustered by prompt
  Rate prompts_that_differ = {};
  std::vector<SurvivalStep> survival = {};
  int64_t longest = 0;
  GapHistogram gaps = {};                     // the baseline's, up to each divergence
  GapHistogram gaps_at_flips = {};            // at the divergences
  double change_p99 = 0;                      // of the gap from arm to arm, at tokens that agree
  std::optional<double> rounding_limit = {};  // as in teacher_forced.h
  std::vector<RemoteFlip> flips = {};         // each first divergence
};

struct RemoteOptions {
  std::array<std::string, 2> urls = {};  // baseline, candidate
  std::string api_key = {};
  std::string model = {};
  std::vector<FlipPrompt> prompts = {};
  int64_t tokens = 128;
  int64_t timeout_ms = 300'000;
  uint64_t seed = 0;
  bool logprobs = true;
  std::optional<Endpoint> endpoint = {};  // empty: chats to chat, texts to completions if there
  std::function<void(double fraction, const std::string& what)> progress = {};  // may be empty
  std::function<bool()> stop = {};                                              // may be empty
  // How a server is reached; empty: MakeHttpClient.
  std::function<std::unique_ptr<HttpClient>(const HttpUrl&, const HttpOptions&)> connect = {};
};

// Every prompt twice per arm, in turn. An arm that fails three times in a row is asked no more.
// Errors: kInvalidArgument (URLs), those of the first answers of either arm, kCancelled.
Expected<RemoteReport> RunRemoteFlips(const RemoteOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_REMOTE_FLIPS_H_
