// TaskPool: tasks of a strand run in order, what throws ends alone, and the pool's end runs what
// was posted.
#include "serve/task_pool.h"

#include <gtest/gtest.h>

#include <future>
#include <new>
#include <vector>

namespace verbatim::serve {
namespace {

TEST(TaskPool, AStrandRunsInOrder) {
  std::vector<int> order;
  {
    const auto pool = TaskPool::Create(4);
    const auto strand = pool->MakeStrand();
    for (int i = 0; i < 1000; ++i) strand->Post([&order, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 1000);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[i], i);
}

TEST(TaskPool, WhatThrowsEndsAlone) {
  const auto pool = TaskPool::Create(1);
  const auto strand = pool->MakeStrand();
  const auto held = std::make_shared<int>(0);
  ::testing::internal::CaptureStderr();
  strand->Post([held] { throw std::bad_alloc(); });
  std::promise<long> uses;
  strand->Post([&] { uses.set_value(held.use_count()); });
  EXPECT_EQ(uses.get_future().get(), 1);  // let go of, so that who waits for it learns
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("a request failed: std::bad_alloc"), said.npos) << said;
}

}  // namespace
}  // namespace verbatim::serve
