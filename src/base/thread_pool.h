// ThreadPool: runs numbered tasks on a fixed set of threads without allocating. Not a task graph.
// Thread rule: one caller at a time; tasks must not call Run.
#ifndef VERBATIM_BASE_THREAD_POOL_H_
#define VERBATIM_BASE_THREAD_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/aligned_buffer.h"

namespace verbatim {

class ThreadPool {
 public:
  // `num_threads` counts the caller: 1 runs everything inline. At least 1. Throws std::system_error
  // when the system refuses a thread; callers at the edges turn that into a Status.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(task, thread) once for each task in [0, num_tasks), from any thread in any order, and
  // returns when all are done. `thread` is in [0, num_threads()), for per-thread scratch. At most
  // kMaxTasks tasks.
  template <typename F>
  void Run(int64_t num_tasks, F&& fn) {
    using Fn = std::remove_reference_t<F>;
    RunErased(
        num_tasks, [](void* f, int64_t task, int thread) { (*static_cast<Fn*>(f))(task, thread); },
        const_cast<void*>(static_cast<const void*>(&fn)));
  }

  static constexpr int64_t kMaxTasks = (int64_t{1} << 24) - 1;

 private:
  using TaskFn = void (*)(void* context, int64_t task, int thread);

  // A thread's own stretch of the tasks: it takes them one by one, then helps with the others'.
  // So the same task of the same job falls to the same thread again and again, which finds in its
  // caches what it left there, and neighbouring tasks follow each other on one thread.
  //
  // Which task comes next and where the stretch ends stand in one word, so that a ticket says by
  // itself whether it is valid: a worker that comes late to a job takes an invalid ticket, or a
  // valid one of the next job, never a stale one. The caller therefore waits for tasks to finish
  // and not for workers to notice; on a loaded machine that is the difference between one thread's
  // speed and a crawl.
  struct alignas(kCacheLine) Share {
    std::atomic<uint64_t> word{0};
  };
  struct Ticket {
    uint64_t word;
    static uint64_t Word(int64_t begin, int64_t end) {
      return static_cast<uint64_t>(end) << 32 | static_cast<uint64_t>(begin);
    }
    int64_t task() const { return static_cast<int64_t>(word & 0xffffffffu); }
    int64_t end() const { return static_cast<int64_t>(word >> 32); }
    bool valid() const { return task() < end(); }
  };

  void RunErased(int64_t num_tasks, TaskFn fn, void* context);
  void WorkerLoop(int thread);
  void StopWorkers();
  void DrainTasks(int thread);

  std::vector<std::thread> workers_;
  std::vector<Share> shares_;  // [num_threads]
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<int> num_sleeping_{0};
  std::atomic<bool> stop_{false};
  // Stable while any task of the job is unfinished.
  TaskFn fn_ = nullptr;
  void* context_ = nullptr;
  alignas(kCacheLine) std::atomic<uint64_t> job_{0};  // changes when the shares have new tasks
  alignas(kCacheLine) std::atomic<int64_t> num_finished_{0};
};

}  // namespace verbatim

#endif  // VERBATIM_BASE_THREAD_POOL_H_
