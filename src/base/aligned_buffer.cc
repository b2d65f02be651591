// The one system call of the buffers.
#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>

namespace verbatim {

void AdviseHugePages(void* data, size_t bytes) {
  constexpr uintptr_t kHugePage = kHugePageBytes;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t last = (begin + bytes) / kHugePage * kHugePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace verbatim
