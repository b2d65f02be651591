// ThreadPool: runs numbered tasks on a fixed set of threads without allocating. Not a task graph.
// Thread rule: one caller at a time; tasks must not call Run.
#ifndef VERBATIM_BASE_THREAD_POOL_H_
#define VERBATIM_BASE_THREAD_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace verbatim {

class ThreadPool {
 public:
  // `num_threads` counts the caller: 1 runs everything inline. At least 1.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(task, thread) once for each task in [0, num_tasks), from any thread in any order, and
  // returns when all are done. `thread` is in [0, num_threads()), for per-thread scratch.
  template <typename F>
  void Run(int64_t num_tasks, F&& fn) {
    using Fn = std::remove_reference_t<F>;
    RunErased(
        num_tasks, [](void* f, int64_t task, int thread) { (*static_cast<Fn*>(f))(task, thread); },
        const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  using TaskFn = void (*)(void* context, int64_t task, int thread);

  void RunErased(int64_t num_tasks, TaskFn fn, void* context);
  void WorkerLoop(int thread);
  void DrainTasks(int thread);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_{0};  // odd/even has no meaning; a change announces a job
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> next_task_{0};
  std::atomic<int> busy_workers_{0};
  int64_t num_tasks_ = 0;
  TaskFn fn_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace verbatim

#endif  // VERBATIM_BASE_THREAD_POOL_H_
