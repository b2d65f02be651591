// Chunks, each filled from its start.
#include "base/huge_page_arena.h"

#include <algorithm>
#include <cstdint>

namespace verbatim {
namespace {

// So large that calloc maps it (its threshold ends at 32 MiB): what is not used costs no memory.
constexpr size_t kChunkBytes = size_t{64} << 20;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::shared_ptr<std::byte> HugePageArena::Allocate(size_t bytes) {
  if (chunk_ == nullptr || chunk_->size() - used_ < bytes) {
    if (bytes > SIZE_MAX - kHugePageBytes) throw std::bad_alloc();
    chunk_ =
        std::make_shared<AlignedBuffer<std::byte>>(std::max(bytes, kChunkBytes) + kHugePageBytes);
    AdviseHugePages(chunk_->data(), chunk_->size());
    const auto begin = reinterpret_cast<uintptr_t>(chunk_->data());
    used_ = RoundUp(begin, kHugePageBytes) - begin;
  }
  std::shared_ptr<std::byte> block(chunk_, chunk_->data() + used_);
  used_ = std::min(RoundUp(used_ + bytes, kCacheLine), chunk_->size());
  return block;
}

}  // namespace verbatim
