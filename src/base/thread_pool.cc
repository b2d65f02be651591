// The pool's threads: they spin briefly for the next job, then sleep.
#include "base/thread_pool.h"

#include <signal.h>

#include <algorithm>
#include <system_error>

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

// A program that waits for a signal in one of its threads must be the one to get it.
void LeaveSignalsToTheProgram() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGWINCH, SIGCONT}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) : shares_(std::max(num_threads, 1)) {
  VERBATIM_CHECK(num_threads >= 1);
  workers_.reserve(num_threads - 1);
  try {
    for (int t = 1; t < num_threads; ++t) {
      workers_.emplace_back([this, t] {
        LeaveSignalsToTheProgram();
        WorkerLoop(t);
      });
    }
  } catch (const std::system_error&) {
    StopWorkers();
    throw;
  }
}

ThreadPool::~ThreadPool() { StopWorkers(); }

void ThreadPool::StopWorkers() {
  {
    const std::lock_guard lock(mutex_);
    stop_.store(true);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::DrainTasks(int thread) {
  const int num_shares = num_threads();
  for (int i = 0; i < num_shares; ++i) {
    std::atomic<uint64_t>& word = shares_[(thread + i) % num_shares].word;
    // Looking comes first: taking an invalid ticket costs the owner a cache line.
    while (Ticket{word.load(std::memory_order_relaxed)}.valid()) {
      const Ticket ticket{word.fetch_add(1, std::memory_order_acq_rel)};
      if (!ticket.valid()) break;
      fn_(context_, ticket.task(), thread);
      num_finished_.fetch_add(1, std::memory_order_release);
    }
  }
}

void ThreadPool::RunErased(int64_t num_tasks, TaskFn fn, void* context) {
  if (num_tasks <= 0) return;
  if (workers_.empty() || num_tasks == 1) {
    for (int64_t task = 0; task < num_tasks; ++task) fn(context, task, 0);
    return;
  }
  VERBATIM_CHECK(num_tasks <= kMaxTasks);
  fn_ = fn;
  context_ = context;
  num_finished_.store(0, std::memory_order_relaxed);
  const int64_t num_shares = num_threads();
  for (int64_t i = 0; i < num_shares; ++i) {
    shares_[i].word.store(
        Ticket::Word(num_tasks * i / num_shares, num_tasks * (i + 1) / num_shares),
        std::memory_order_release);
  }
  // Sequentially consistent against num_sleeping_: either the worker sees the job or the caller
  // sees the sleeper.
  job_.fetch_add(1, std::memory_order_seq_cst);
  if (num_sleeping_.load(std::memory_order_seq_cst) > 0) {
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  DrainTasks(0);
  for (int spins = 0; num_finished_.load(std::memory_order_acquire) != num_tasks;) {
    if (++spins < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();  // more threads than cores: let the worker run
    }
  }
}

void ThreadPool::WorkerLoop(int thread) {
  const FloatEnvironment environment;
  uint64_t seen = 0;
  for (int spins = 0; !stop_.load(std::memory_order_relaxed);) {
    if (const uint64_t job = job_.load(std::memory_order_acquire); job != seen) {
      seen = job;
      DrainTasks(thread);
      spins = 0;
    } else if (++spins < kSpins) {
      Pause();
    } else {
      std::unique_lock lock(mutex_);
      num_sleeping_.fetch_add(1, std::memory_order_seq_cst);
      wake_.wait(lock,
                 [&] { return stop_.load() || job_.load(std::memory_order_seq_cst) != seen; });
      num_sleeping_.fetch_sub(1, std::memory_order_relaxed);
      spins = 0;
    }
  }
}

}  // namespace verbatim
