// The one system call of the buffers.
#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>

namespace verbatim {

void AdviseHugePages(void* data, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const size_t skipped = (kHugePageBytes - begin % kHugePageBytes) % kHugePageBytes;
  if (bytes < skipped + kHugePageBytes) return;
  const size_t whole = (bytes - skipped) / kHugePageBytes * kHugePageBytes;
  madvise(static_cast<std::byte*>(data) + skipped, whole, MADV_HUGEPAGE);
}

}  // namespace verbatim
