// TaskPool: threads for what must neither hold up the network nor the engine: parsing, rendering,
// compiling, writing answers. Not for kernels (base/thread_pool.h).
#ifndef VERBATIM_SERVE_TASK_POOL_H_
#define VERBATIM_SERVE_TASK_POOL_H_

#include <functional>
#include <memory>

namespace verbatim::serve {

// Runs what is posted one after the other, in order, on the pool's threads.
class Strand {
 public:
  virtual ~Strand() = default;
  // A task that throws (out of memory, say) ends alone, with a line on standard error: who waits
  // for what it held, such as an HttpExchange, learns by its end.
  virtual void Post(std::function<void()> task) = 0;
};

class TaskPool {
 public:
  static std::unique_ptr<TaskPool> Create(int num_threads);
  virtual ~TaskPool() = default;                     // runs what was posted, then joins
  virtual std::shared_ptr<Strand> MakeStrand() = 0;  // must not outlive the pool
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_TASK_POOL_H_
