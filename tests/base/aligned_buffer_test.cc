// AlignedBuffer: alignment, zeros, and the advice about pages, which must stay inside the buffer.
#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace verbatim {
namespace {

TEST(AlignedBuffer, IsAlignedAndZero) {
  for (const size_t size : {1, 63, 64, 1000, 5 << 20}) {
    const AlignedBuffer<uint8_t> buffer(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kCacheLine, 0U);
    EXPECT_EQ(std::ranges::count(buffer.span(), 0), static_cast<ptrdiff_t>(size));
  }
}

// The flags of the mapping that holds `address`, from /proc: "hg" is the advice for huge pages.
bool AdvisedAt(const void* address) {
  std::ifstream file("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto place = reinterpret_cast<uintptr_t>(address);
      inside = begin <= place && place < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line.find(" hg") != std::string::npos;
    }
  }
  return false;
}

TEST(AdviseHugePages, CoversWholeHugePagesInsideTheBuffer) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    GTEST_SKIP() << "this kernel has no transparent huge pages";
  }
  constexpr size_t kHugePage = size_t{2} << 20;
  AlignedBuffer<uint8_t> buffer(4 * kHugePage);
  EXPECT_FALSE(AdvisedAt(buffer.data() + 2 * kHugePage));
  AdviseHugePages(buffer.data(), buffer.size());
  EXPECT_TRUE(AdvisedAt(buffer.data() + 2 * kHugePage));
  EXPECT_FALSE(AdvisedAt(buffer.data()));  // calloc's header stands in front of it
}

TEST(AdviseHugePages, LeavesSmallBuffersAlone) {
  AlignedBuffer<uint8_t> buffer(4096);
  AdviseHugePages(buffer.data(), buffer.size());
  EXPECT_FALSE(AdvisedAt(buffer.data()));
}

}  // namespace
}  // namespace verbatim
