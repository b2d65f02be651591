// The clocks around the peak kernels give rates; the kernels' results are in
// tests/backend/peak_test.cc.
#include "measure/machine.h"

#include <gtest/gtest.h>

#include "base/available_memory.h"

namespace verbatim {
namespace {

TEST(MachineTest, RatesArePositiveForEverySetting) {
  const auto machine = Machine::Create("scalar", 3, int64_t{8} << 20);
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  EXPECT_EQ((*machine)->read_settings().size(), 8u);  // 1 (also half of 3) and 3 threads
  for (const ReadSetting& setting : (*machine)->read_settings()) {
    EXPECT_GT((*machine)->ReadRate(setting, (*machine)->buffer_bytes()), 0);
    EXPECT_GT((*machine)->ReadRate(setting, 12345), 0);  // less than a task
  }
  EXPECT_GT((*machine)->FmaRate(), 0);
  EXPECT_GT((*machine)->DotRate(4), 0);
}

TEST(MachineTest, TheBufferIsBeyondTheCache) {
  EXPECT_GE(ReadBufferBytes(), std::min(8 * LastLevelCacheBytes(), AvailableMemoryBytes() / 8));
}

TEST(MachineTest, RefusesTargetsThatAreNotThere) {
  EXPECT_EQ(Machine::Create("mmx", 1, 1 << 20).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace verbatim
