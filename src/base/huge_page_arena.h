// HugePageArena: blocks that live long and are read from end to end, side by side in memory that
// the system may back with huge pages. Not a general allocator: single blocks are never given back.
#ifndef VERBATIM_BASE_HUGE_PAGE_ARENA_H_
#define VERBATIM_BASE_HUGE_PAGE_ARENA_H_

#include <cstddef>
#include <memory>

#include "base/aligned_buffer.h"

namespace verbatim {

// A matrix of a small model is as large as a huge page: on its own, most of it would lie in the
// small pages at its two ends. Thread rule: one caller at a time.
class HugePageArena {
 public:
  // Zeroed, on a cache line; lives as long as the pointer, whatever becomes of the arena. Throws
  // std::bad_alloc.
  std::shared_ptr<std::byte> Allocate(size_t bytes);

 private:
  std::shared_ptr<AlignedBuffer<std::byte>> chunk_;
  size_t used_ = 0;
};

}  // namespace verbatim

#endif  // VERBATIM_BASE_HUGE_PAGE_ARENA_H_
