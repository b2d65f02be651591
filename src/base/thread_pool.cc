// The pool's threads: they spin briefly for the next job, then sleep.
#include "base/thread_pool.h"

#include "base/check.h"
#include "base/float_environment.h"

namespace verbatim {
namespace {

// A decode step has some hundred jobs a few microseconds apart; a futex wake costs about 50
// microseconds. 20,000 pauses are about 0.3 to 1 ms, longer than the gap between two jobs of a
// step.
constexpr int kSpins = 20000;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
  VERBATIM_CHECK(num_threads >= 1);
  workers_.reserve(num_threads - 1);
  for (int t = 1; t < num_threads; ++t) workers_.emplace_back([this, t] { WorkerLoop(t); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_.store(true);
    generation_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::DrainTasks(int thread) {
  for (;;) {
    const int64_t task = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (task >= num_tasks_) return;
    fn_(context_, task, thread);
  }
}

void ThreadPool::RunErased(int64_t num_tasks, TaskFn fn, void* context) {
  if (num_tasks <= 0) return;
  if (workers_.empty() || num_tasks == 1) {
    for (int64_t task = 0; task < num_tasks; ++task) fn(context, task, 0);
    return;
  }
  num_tasks_ = num_tasks;
  fn_ = fn;
  context_ = context;
  next_task_.store(0, std::memory_order_relaxed);
  busy_workers_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  DrainTasks(0);
  for (int spins = 0; busy_workers_.load(std::memory_order_acquire) != 0;) {
    if (++spins < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();  // more threads than cores: let the worker run
    }
  }
}

void ThreadPool::WorkerLoop(int thread) {
  FloatEnvironment environment;
  uint64_t seen = 0;
  for (;;) {
    for (int spins = 0; generation_.load(std::memory_order_acquire) == seen;) {
      if (++spins < kSpins) {
        Pause();
        continue;
      }
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
    }
    ++seen;  // jobs never overlap, so generations are seen one by one
    if (stop_.load()) return;
    DrainTasks(thread);
    busy_workers_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace verbatim
