// ThreadPool: every task exactly once, after sleeping too, with the pinned float environment on
// every thread.
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace verbatim {
namespace {

TEST(ThreadPool, RunsEveryTaskOnceForAnyThreadCount) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (const int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> count(tasks);
      for (int repeat = 0; repeat < 20; ++repeat) {
        pool.Run(tasks, [&](int64_t task, int thread) {
          ASSERT_LT(thread, threads);
          count[task].fetch_add(1);
        });
      }
      for (const auto& c : count) EXPECT_EQ(c.load(), 20);
    }
  }
}

// Jobs right behind each other, more threads than cores: a late worker must not take a task of the
// wrong job.
TEST(ThreadPool, LateWorkersNeverMixJobs) {
  ThreadPool pool(8);
  for (int job = 0; job < 5000; ++job) {
    const int64_t tasks = 2 + job % 5;
    std::atomic<int64_t> sum{0};
    pool.Run(tasks, [&sum, job](int64_t task, int) { sum += job * 10 + task; });
    ASSERT_EQ(sum.load(), tasks * job * 10 + tasks * (tasks - 1) / 2) << job;
  }
}

TEST(ThreadPool, WakesWorkersThatWentToSleep) {
  ThreadPool pool(2);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> sum{0};
    pool.Run(64, [&](int64_t task, int) { sum += static_cast<int>(task); });
    EXPECT_EQ(sum.load(), 64 * 63 / 2);
  }
}

TEST(ThreadPool, WorkersKeepDenormals) {
  ThreadPool pool(2);
  std::atomic<int> wrong{0};
  pool.Run(100, [&](int64_t, int) {
    volatile float tiny = std::numeric_limits<float>::min();
    if (tiny / 2 == 0.0f) wrong.fetch_add(1);
  });
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace verbatim
