// EngineLoop: requests from any thread get their results, cancelled ones at once, and nobody waits
// for ever when it fills up, drains or stops.
#include "serve/engine_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/support/test_models.h"

namespace verbatim::serve {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<Engine> Load(int max_sequences) {
  return *Engine::Load({.model = testing::NanoModel().string(),
                        .contract = ContractMode::kOff,
                        .num_threads = 1,
                        .context = 512,
                        .max_sequences = max_sequences});
}

Request Short(int64_t max_tokens = 5) {
  Request request;
  request.prompt_token_ids = {5, 6, 7};
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  return request;
}

// A long request whose first token waits until `gate` opens, so that it runs until then for sure.
Request Long(const std::shared_future<void>& gate) {
  Request request = Short(500);
  request.on_token = [gate](const TokenEvent&) { gate.wait(); };
  return request;
}

struct Pending {
  EngineLoop::Job job;
  std::future<Expected<Result>> result;
};

Pending Make(Request request) {
  auto promise = std::make_shared<std::promise<Expected<Result>>>();
  Pending pending;
  pending.result = promise->get_future();
  pending.job.request = std::move(request);
  pending.job.on_end = [promise](Expected<Result> result) {
    promise->set_value(std::move(result));
  };
  return pending;
}

std::vector<EngineLoop::Job> One(Pending& pending) {
  std::vector<EngineLoop::Job> jobs;
  jobs.push_back(std::move(pending.job));
  return jobs;
}

TEST(EngineLoop, AnswersFromManyThreads) {
  const auto engine = Load(4);
  const Result expected = *engine->Generate(Short());
  EngineLoop loop(*engine, 1000);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        Pending pending = Make(Short());
        if (!loop.Submit(One(pending)).ok()) continue;
        const auto result = pending.result.get();
        if (result.ok() && result->token_ids == expected.token_ids) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
  EXPECT_TRUE(loop.WaitIdle(milliseconds(10'000)));
  EXPECT_EQ(loop.num_jobs(), 0);
}

TEST(EngineLoop, TellsStepsWithTokensAndTheirOrder) {
  const auto engine = Load(1);
  EngineLoop loop(*engine, 1);
  std::string events;  // the engine's thread alone writes it
  Request request = Short(3);
  request.on_token = [&](const TokenEvent&) { events += 't'; };
  Pending pending = Make(std::move(request));
  pending.job.on_step = [&] { events += 's'; };
  const auto on_end = std::move(pending.job.on_end);
  pending.job.on_end = [&](Expected<Result> result) {
    events += 'e';
    on_end(std::move(result));
  };
  ASSERT_TRUE(loop.Submit(One(pending)).ok());
  ASSERT_TRUE(pending.result.get().ok());
  EXPECT_EQ(events, "tststse");
}

TEST(EngineLoop, CancelledOnesEndAtOnce) {
  const auto engine = Load(1);
  EngineLoop loop(*engine, 10);
  std::promise<void> gate;
  Pending running = Make(Long(gate.get_future().share()));
  Pending waiting = Make(Short(500));
  std::vector<EngineLoop::Job> jobs;
  jobs.push_back(std::move(running.job));
  jobs.push_back(std::move(waiting.job));
  const auto tickets = *loop.Submit(std::move(jobs));
  loop.Cancel(tickets[1]);
  loop.Cancel(tickets[0]);
  loop.Cancel(tickets[0]);
  loop.Cancel(12345);
  gate.set_value();
  EXPECT_EQ(waiting.result.get()->finish_reason, FinishReason::kCancelled);
  const auto cancelled = running.result.get();
  EXPECT_EQ(cancelled->finish_reason, FinishReason::kCancelled);
  EXPECT_LE(cancelled->token_ids.size(), 1u);
  Pending next = Make(Short());
  ASSERT_TRUE(loop.Submit(One(next)).ok());
  EXPECT_EQ(next.result.get()->finish_reason, FinishReason::kLength);
}

TEST(EngineLoop, RefusesWhatTheEngineRefusesAndGoesOn) {
  const auto engine = Load(1);
  EngineLoop loop(*engine, 10);
  Request bad = Short();
  bad.prompt_token_ids = {1 << 20};
  Pending refused = Make(std::move(bad));
  ASSERT_TRUE(loop.Submit(One(refused)).ok());
  EXPECT_EQ(refused.result.get().status().code(), StatusCode::kInvalidArgument);
  Pending next = Make(Short());
  ASSERT_TRUE(loop.Submit(One(next)).ok());
  EXPECT_TRUE(next.result.get().ok());
}

TEST(EngineLoop, TakesAllOrNoneUpToItsLimit) {
  const auto engine = Load(1);
  EngineLoop loop(*engine, 3);
  std::promise<void> gate;
  Pending first = Make(Long(gate.get_future().share())), second = Make(Short());
  const auto tickets = loop.Submit(One(first));
  ASSERT_TRUE(tickets.ok());
  std::vector<EngineLoop::Job> three;
  for (int i = 0; i < 3; ++i) three.push_back(Make(Short()).job);
  EXPECT_EQ(loop.Submit(std::move(three)).status().code(), StatusCode::kResourceExhausted);
  std::vector<EngineLoop::Job> four;  // which will never fit
  for (int i = 0; i < 4; ++i) four.push_back(Make(Short()).job);
  EXPECT_EQ(loop.Submit(std::move(four)).status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(loop.Submit(One(second)).ok());
  EXPECT_EQ(loop.num_jobs(), 2);
  loop.Cancel((*tickets)[0]);
  gate.set_value();
  EXPECT_TRUE(first.result.get().ok());
}

TEST(EngineLoop, DrainsAndStops) {
  const auto engine = Load(1);
  EngineLoop loop(*engine, 10);
  Pending last = Make(Short(20));
  ASSERT_TRUE(loop.Submit(One(last)).ok());
  loop.Drain();
  Pending late = Make(Short());
  EXPECT_EQ(loop.Submit(One(late)).status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(loop.WaitIdle(milliseconds(20'000)));
  EXPECT_EQ(last.result.get()->finish_reason, FinishReason::kLength);
  loop.Stop();
  loop.Stop();
}

TEST(EngineLoop, StopCancelsWhatIsLeft) {
  const auto engine = Load(1);
  EngineLoop loop(*engine, 10);
  std::promise<void> gate;
  Pending running = Make(Long(gate.get_future().share())), waiting = Make(Short(500));
  ASSERT_TRUE(loop.Submit(One(running)).ok());
  ASSERT_TRUE(loop.Submit(One(waiting)).ok());
  EXPECT_FALSE(loop.WaitIdle(milliseconds(1)));
  std::thread stopper([&loop] { loop.Stop(); });
  while (!loop.draining()) std::this_thread::yield();
  gate.set_value();
  stopper.join();
  EXPECT_EQ(running.result.get()->finish_reason, FinishReason::kCancelled);
  EXPECT_EQ(waiting.result.get()->finish_reason, FinishReason::kCancelled);
}

}  // namespace
}  // namespace verbatim::serve
