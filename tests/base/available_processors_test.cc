// How many threads are started where nobody says: affinity and container limits.
#include "base/available_processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace verbatim {
namespace {

TEST(AvailableProcessors, AreThoseOfTheAffinity) {
  int narrowed = 0;
  // On a thread of its own, whose affinity ends with it.
  std::thread([&] {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    narrowed = AvailableProcessors();
  }).join();
  EXPECT_EQ(narrowed, 1);
  EXPECT_GE(AvailableProcessors(), 1);
  EXPECT_LE(AvailableProcessors(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(AvailableProcessors, OfAQuotaAreRoundedUp) {
  EXPECT_EQ(ProcessorsOfQuota("200000 100000"), 2);
  EXPECT_EQ(ProcessorsOfQuota("200001 100000"), 3);
  EXPECT_EQ(ProcessorsOfQuota("50000 100000"), 1);
  EXPECT_EQ(ProcessorsOfQuota("1 100000"), 1);
  EXPECT_EQ(ProcessorsOfQuota("9223372036854775807 1"), INT32_MAX);
}

TEST(AvailableProcessors, OfNoQuotaAreNone) {
  for (const char* text : {"max 100000", "", "100000", "100000 ", "0 100000", "-1 100000",
                           "100000 0", "100000 -5", "99999999999999999999 100000", "x y"}) {
    EXPECT_EQ(ProcessorsOfQuota(text), 0) << text;
  }
}

}  // namespace
}  // namespace verbatim
