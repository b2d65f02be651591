// Continuous batching: whoever else runs, whatever the row budget, the memory and the kept states,
// and however many others go away, a request has the bytes of the classic chain alone.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/support/sample_size.h"
#include "tests/support/test_models.h"
#include "verbatim/engine.h"

namespace verbatim::testing {
namespace {

using Ids = std::vector<int32_t>;

constexpr int64_t kContext = 500;  // two pages

EngineOptions Options(int max_sequences) {
  return {.model = NanoModel().string(),
          .with_mtp = true,
          .num_threads = 2,
          .context = kContext,
          .prefill_chunk = 64,
          .max_sequences = max_sequences};
}

std::unique_ptr<Engine> Load(const EngineOptions& options) {
  auto engine = Engine::Load(options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

struct Expectation {
  Request request;
  Result result;
};

// Prompts that begin alike in several places, some longer than a page, under every kind of choice.
std::vector<Request> Requests() {
  Ids text;
  for (const Prompt& prompt : LoadPrompts(NanoModel())) {
    text.insert(text.end(), prompt.ids.begin(), prompt.ids.end());
  }
  while (text.size() < 2000) text.insert(text.end(), text.begin(), text.end());
  std::vector<Request> requests;
  // Those of 210 reach the end of a page while they answer.
  constexpr int64_t kShared[] = {0, 17, 210, 256, 300, 210};
  for (int i = 0; i < 24; ++i) {
    Request request;
    const int64_t shared = kShared[i % 6];
    request.prompt_token_ids.assign(text.begin(), text.begin() + shared);
    const auto own = text.begin() + 400 + 31 * i;
    request.prompt_token_ids.insert(request.prompt_token_ids.end(), own, own + 3 + 5 * (i % 7));
    request.max_tokens = 1 + 14 * (i % 5);
    request.ignore_eos = i % 3 == 0;
    request.logits_digest = true;
    if (shared > 0 && i % 2 == 0) request.cache_points = {shared};
    SamplingOptions& sampling = request.sampling;
    if (i % 4 == 1) {
      sampling = {.temperature = 0.8F, .top_p = 0.9F, .seed = 5 + static_cast<uint64_t>(i)};
    } else if (i % 4 == 2) {
      sampling = {.repetition_penalty = 1.2F, .frequency_penalty = 0.3F, .min_tokens = 4};
    }
    if (i % 5 == 4) request.stop = {"e", "\n\n"};
    requests.push_back(std::move(request));
  }
  return requests;
}

const std::vector<Expectation>& Expectations() {
  static const std::vector<Expectation> all = [] {
    const auto engine = Load(Options(1));
    std::vector<Expectation> made;
    for (const Request& request : Requests()) {
      auto result = engine->Generate(request);
      EXPECT_TRUE(result.ok()) << result.status().message();
      made.push_back({request, *std::move(result)});
    }
    return made;
  }();
  return all;
}

SpeculationOptions AnySpeculation(std::mt19937& random) {
  constexpr SpeculationKind kKinds[] = {SpeculationKind::kOff,   SpeculationKind::kMtp,
                                        SpeculationKind::kMtp,   SpeculationKind::kMtp,
                                        SpeculationKind::kNgram, SpeculationKind::kWrong};
  return {.kind = kKinds[random() % 6],
          .draft_tokens = 1 + static_cast<int>(random() % 7),
          .automatic = random() % 3 == 0};
}

struct Running {
  const Expectation* expectation;
  bool cancelled = false;
};

void Check(const Running& run, const Result& result) {
  const Result& expected = run.expectation->result;
  ASSERT_NE(result.finish_reason, FinishReason::kError) << result.error.message();
  if (result.finish_reason == FinishReason::kCancelled) {
    ASSERT_TRUE(run.cancelled);
    ASSERT_LE(result.token_ids.size(), expected.token_ids.size());
    EXPECT_TRUE(
        std::equal(result.token_ids.begin(), result.token_ids.end(), expected.token_ids.begin()));
    return;
  }
  EXPECT_EQ(result.token_ids, expected.token_ids);
  EXPECT_EQ(result.text, expected.text);
  EXPECT_EQ(result.logits_sha256, expected.logits_sha256);
  EXPECT_EQ(result.finish_reason, expected.finish_reason);
  EXPECT_EQ(result.matched_stop, expected.matched_stop);
}

struct Totals {
  EngineStats stats;
  int64_t cancelled = 0;
  int64_t cached_tokens = 0;
};

// Requests that come in bunches and one by one, some of which go away.
Totals Serve(Engine& engine, int num_requests, uint32_t seed) {
  std::mt19937 random(seed);
  std::map<RequestId, Running> running;
  Totals totals;
  const auto take = [&] {
    for (auto it = running.begin(); it != running.end();) {
      auto result = engine.TakeResult(it->first);
      if (!result.ok()) {
        ++it;
        continue;
      }
      totals.cancelled += result->finish_reason == FinishReason::kCancelled ? 1 : 0;
      totals.cached_tokens += result->cached_prompt_tokens;
      Check(it->second, *result);
      it = running.erase(it);
    }
  };
  for (int submitted = 0; submitted < num_requests || !running.empty();) {
    for (uint32_t bunch = random() % 8 == 0 ? 6 : random() % 2;
         bunch > 0 && submitted < num_requests; --bunch, ++submitted) {
      const Expectation& expectation = Expectations()[random() % Expectations().size()];
      Request request = expectation.request;
      request.speculation = AnySpeculation(random);
      request.use_prefix_cache = random() % 8 != 0;
      const auto id = engine.Submit(std::move(request));
      EXPECT_TRUE(id.ok()) << id.status().message();
      running[*id] = {&expectation};
    }
    if (random() % 16 == 0 && !running.empty()) {
      const auto victim = std::next(running.begin(), random() % running.size());
      victim->second.cancelled = engine.Cancel(victim->first).ok();
    }
    engine.Step();
    take();
    if (::testing::Test::HasFatalFailure()) break;
  }
  totals.stats = engine.stats();
  return totals;
}

struct Arm {
  const char* name;
  int max_sequences = 8;
  int max_rows = 0;
  int kv_pages = 0;     // 0: enough for all
  int kept_states = 0;  // and as many pages
};

void PrintTo(const Arm& arm, std::ostream* out) { *out << arm.name; }

class BatchingTest : public ::testing::TestWithParam<Arm> {};

TEST_P(BatchingTest, HasTheBytesOfTheChainAlone) {
  const Arm& arm = GetParam();
  EngineOptions options = Options(arm.max_sequences);
  const auto probe = Load(options);
  const EngineInfo& info = probe->info();
  options.max_rows = arm.max_rows;
  options.kv_memory = arm.kv_pages * info.kv_page_bytes;
  options.prefix_cache_memory = arm.kept_states * (info.kept_state_bytes + info.kv_page_bytes);
  const auto engine = Load(options);
  const Totals totals = Serve(*engine, Sampled(150, 25), 17);
  const EngineStats& stats = totals.stats;
  EXPECT_GT(totals.cancelled, 0);
  EXPECT_EQ(stats.running + stats.waiting, 0);
  EXPECT_EQ(stats.preemptions > 0, arm.kv_pages > 0) << stats.preemptions;
  EXPECT_EQ(totals.cached_tokens > 0, arm.kept_states > 0);
  EXPECT_EQ(stats.cache_evictions > 0, arm.kept_states > 0 && arm.kept_states < 100);
  if (arm.kept_states == 0) {
    EXPECT_EQ(stats.kv_pages_used, 0);
  }
  EXPECT_LE(stats.cache_bytes, options.prefix_cache_memory);
}

INSTANTIATE_TEST_SUITE_P(Arms, BatchingTest,
                         ::testing::Values(Arm{"plenty"}, Arm{"one row", 3, 1},
                                           Arm{"two rows", 4, 2}, Arm{"five rows", 8, 5},
                                           Arm{"wide", 16, 200}, Arm{"preempting", 8, 24, 4},
                                           Arm{"preempting hard", 12, 0, 2},
                                           Arm{"warm", 8, 40, 0, 200}, Arm{"evicting", 8, 0, 0, 6},
                                           Arm{"one kept", 6, 9, 0, 1},
                                           Arm{"evicting and preempting", 8, 17, 3, 3}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

// The state at a prompt's shared part, kept by one request, serves the next; at the end of an
// answer it serves the next turn, which repeats prompt and answer.
TEST(PrefixCaching, TheNextTurnComputesOnlyWhatIsNew) {
  EngineOptions options = Options(2);
  options.prefix_cache_memory = int64_t{64} << 20;
  for (const SpeculationKind kind : {SpeculationKind::kOff, SpeculationKind::kMtp}) {
    const auto engine = Load(options);
    const auto cold = Load(Options(1));
    Request request;
    request.prompt_token_ids = Requests()[3].prompt_token_ids;
    request.max_tokens = 20;
    request.ignore_eos = true;
    request.logits_digest = true;
    request.speculation = {.kind = kind, .draft_tokens = 4};
    for (int turn = 0; turn < 4; ++turn) {
      const Result warm = *engine->Generate(request);
      const Result alone = *cold->Generate(request);
      EXPECT_EQ(warm.token_ids, alone.token_ids);
      EXPECT_EQ(warm.logits_sha256, alone.logits_sha256);
      Ids& prompt = request.prompt_token_ids;
      // The last token of an answer is chosen, not consumed.
      EXPECT_EQ(warm.cached_prompt_tokens, turn == 0 ? 0 : static_cast<int64_t>(prompt.size()) - 4);
      prompt.insert(prompt.end(), warm.token_ids.begin(), warm.token_ids.end());
      prompt.insert(prompt.end(), {5, 6, 7});
    }
  }
}

// Nobody names a place to keep: the second prompt shows where the first was worth keeping.
TEST(PrefixCaching, ThirdOfThreePromptsThatBeginAlikeIsServed) {
  EngineOptions options = Options(1);
  options.prefix_cache_memory = int64_t{64} << 20;
  const auto engine = Load(options);
  std::vector<int64_t> cached;
  for (int i = 0; i < 3; ++i) {
    Request request;
    request.prompt_token_ids = Ids(100, 9);
    request.prompt_token_ids.resize(130, 20 + i);
    request.max_tokens = 2;
    cached.push_back((*engine->Generate(request)).cached_prompt_tokens);
  }
  EXPECT_EQ(cached, (std::vector<int64_t>{0, 0, 100}));
}

// Several answers to one prompt come at once: the first computes it, the others wait for that and
// have only the last token to compute.
TEST(PrefixCaching, OnePromptOfSeveralAnswersIsComputedOnce) {
  EngineOptions options = Options(4);
  options.prefix_cache_memory = int64_t{64} << 20;
  const auto engine = Load(options);
  Request request;
  request.prompt_token_ids = Requests()[4].prompt_token_ids;
  const auto size = static_cast<int64_t>(request.prompt_token_ids.size());
  request.cache_points = {size - 1};
  request.max_tokens = 5;
  std::vector<RequestId> ids;
  for (uint32_t choice = 0; choice < 4; ++choice) {
    request.sampling = {.temperature = 1, .seed = 3, .choice = choice};
    ids.push_back(*engine->Submit(request));
  }
  while (engine->Step()) {
  }
  std::vector<int64_t> cached;
  for (const RequestId id : ids) cached.push_back(engine->TakeResult(id)->cached_prompt_tokens);
  EXPECT_EQ(cached, (std::vector<int64_t>{0, size - 1, size - 1, size - 1}));
  EXPECT_EQ(engine->stats().prompt_rows, size + 3);
}

TEST(PrefixCaching, BadPointsAndMemoryAreRefusedByName) {
  const auto engine = Load(Options(1));
  for (const std::vector<int64_t>& points :
       {std::vector<int64_t>{0}, {3}, {-1}, {2, 2}, {2, 1}, {INT64_MAX}}) {
    Request request;
    request.prompt_token_ids = {1, 2, 3};
    request.cache_points = points;
    const auto id = engine->Submit(request);
    ASSERT_FALSE(id.ok());
    EXPECT_NE(id.status().message().find("cache_points"), std::string::npos);
  }
  EngineOptions options = Options(1);
  options.kv_memory = 1;
  EXPECT_NE(Engine::Load(options).status().message().find("kv_memory"), std::string::npos);
  options.kv_memory = 0;
  options.prefix_cache_memory = 1;
  EXPECT_NE(Engine::Load(options).status().message().find("prefix_cache_memory"),
            std::string::npos);
}

}  // namespace
}  // namespace verbatim::testing
