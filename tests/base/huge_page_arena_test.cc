// HugePageArena: blocks apart from each other, zero, aligned, and alive as long as they are held.
#include "base/huge_page_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace verbatim {
namespace {

TEST(HugePageArena, BlocksAreApartZeroAndAligned) {
  struct Block {
    std::shared_ptr<std::byte> data;
    size_t size;
  };
  std::vector<Block> blocks;
  {
    HugePageArena arena;
    // Small ones, one that fills a chunk, and one that is larger than a chunk.
    for (const size_t size : {1, 64, 1000, 30 << 20, 40 << 20, 64 << 20, 100 << 20, 5}) {
      blocks.push_back({arena.Allocate(size), size});
      std::byte* data = blocks.back().data.get();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kCacheLine, 0U);
      // The ends are enough: touching all of it would take memory.
      EXPECT_EQ(data[0], std::byte{0});
      EXPECT_EQ(data[size - 1], std::byte{0});
      data[0] = data[size - 1] = static_cast<std::byte>(blocks.size());
    }
  }
  // The arena is gone.
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].data.get()[0], static_cast<std::byte>(i + 1));
    EXPECT_EQ(blocks[i].data.get()[blocks[i].size - 1], static_cast<std::byte>(i + 1));
  }
}

TEST(HugePageArena, TheFirstBlockStartsAHugePage) {
  HugePageArena arena;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.Allocate(100).get()) % kHugePageBytes, 0U);
}

TEST(HugePageArena, SaysWhenMemoryCanNotBeThere) {
  HugePageArena arena;
  EXPECT_THROW(arena.Allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(arena.Allocate(SIZE_MAX / 2), std::bad_alloc);
}

}  // namespace
}  // namespace verbatim
