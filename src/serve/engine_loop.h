// EngineLoop: the one thread that calls an engine, and requests to it from any other. Not HTTP, and
// not what a request is made of.
#ifndef VERBATIM_SERVE_ENGINE_LOOP_H_
#define VERBATIM_SERVE_ENGINE_LOOP_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "verbatim/engine.h"

namespace verbatim::serve {

using Ticket = int64_t;  // of a request in the loop; never given twice

// Thread rule: all methods may be called from any thread, callbacks too.
class EngineLoop {
 public:
  struct Job {
    Request request;  // its on_token is called on the engine's thread and must be quick
    // After each step in which on_token was called; may be empty. On the engine's thread.
    std::function<void()> on_step;
    // Once, on the engine's thread: the result, or why the engine refused the request. A request
    // that Stop found unfinished gets kCancelled.
    std::function<void(Expected<Result>)> on_end;
  };

  // `engine` must outlive it and be called by nobody else, but for what may always be called.
  // At most `max_jobs` are in the loop at once, running and waiting.
  EngineLoop(Engine& engine, int max_jobs);
  ~EngineLoop();  // Stop

  // All or none of `jobs` are taken, in order. kResourceExhausted: the loop is full, or would be;
  // kInvalidArgument: so many would not fit an empty one; kCancelled: it takes no more (Drain,
  // Stop).
  Expected<std::vector<Ticket>> Submit(std::vector<Job> jobs);
  // Ends a request before the next step; it gets its result. Unknown and ended ones are ignored.
  void Cancel(Ticket ticket);

  // As of the last step.
  EngineStats stats() const;
  // The longest of the steps since the last call, for those who watch the jitter.
  std::chrono::duration<double> TakeLongestStep();
  int num_jobs() const;

  void Drain();  // takes no more requests
  bool draining() const;
  // True when no request is left; waits at most `limit` for it.
  bool WaitIdle(std::chrono::milliseconds limit);
  void Stop();  // cancels what is left; idempotent

 private:
  struct Active {
    RequestId id;
    std::function<void()> on_step;
    std::function<void(Expected<Result>)> on_end;
    bool had_token = false;
  };

  void Run();
  void TakeCommands(bool may_wait);
  void Start(Ticket ticket, Job job);
  void CollectResults();
  void End(const std::function<void(Expected<Result>)>& on_end, Expected<Result> result);

  Engine& engine_;
  const int max_jobs_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<Ticket, Job>> submitted_;  // not yet seen by the engine's thread
  std::vector<Ticket> cancelled_;
  Ticket next_ticket_ = 1;
  int num_jobs_ = 0;
  bool draining_ = false;
  bool stopping_ = false;
  EngineStats stats_;
  std::chrono::duration<double> longest_step_{0};

  std::map<Ticket, Active> active_;  // the engine's thread alone
  std::thread thread_;
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_ENGINE_LOOP_H_
