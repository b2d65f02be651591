// Asio's thread pool and strands.
#include "serve/task_pool.h"

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdio>
#include <exception>
#include <utility>

namespace verbatim::serve {
namespace {

using Executor = boost::asio::thread_pool::executor_type;

class AsioStrand : public Strand {
 public:
  explicit AsioStrand(const Executor& executor) : strand_(boost::asio::make_strand(executor)) {}
  void Post(std::function<void()> task) override {
    boost::asio::post(strand_, [task = std::move(task)] {
      try {
        task();
      } catch (const std::exception& error) {
        (void)std::fprintf(stderr, "verbatim: a request failed: %s\n", error.what());
      }
    });
  }

 private:
  boost::asio::strand<Executor> strand_;
};

class AsioPool : public TaskPool {
 public:
  explicit AsioPool(int num_threads) : pool_(num_threads) {}
  ~AsioPool() override { pool_.join(); }
  std::shared_ptr<Strand> MakeStrand() override {
    return std::make_shared<AsioStrand>(pool_.get_executor());
  }

 private:
  boost::asio::thread_pool pool_;
};

}  // namespace

std::unique_ptr<TaskPool> TaskPool::Create(int num_threads) {
  return std::make_unique<AsioPool>(num_threads);
}

}  // namespace verbatim::serve
