// AlignedBuffer: a zeroed array that starts on a cache line. Not resizable.
#ifndef VERBATIM_BASE_ALIGNED_BUFFER_H_
#define VERBATIM_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace verbatim {

inline constexpr size_t kCacheLine = 64;  // bytes; also the width of the widest vector used

// Of x86-64, and of aarch64 with pages of 4 KiB.
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Asks the system to back whole huge pages inside [data, data + bytes) as such. For memory that is
// read from end to end at every step, where a page of 4 KiB costs a page walk and stops the
// processor's prefetch. Advice: nothing happens where it can't be taken.
void AdviseHugePages(void* data, size_t bytes);

template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Throws std::bad_alloc when memory runs out; callers at the edges turn that into a Status.
  // calloc gives large blocks as untouched pages, so a context that is reserved but not used costs
  // no memory.
  explicit AlignedBuffer(size_t size) : size_(size) {
    if (size == 0) return;
    if (size > (SIZE_MAX - kCacheLine) / sizeof(T)) throw std::bad_alloc();
    size_t space = size * sizeof(T) + kCacheLine;
    block_.reset(std::calloc(space, 1));
    if (block_ == nullptr) throw std::bad_alloc();
    void* start = block_.get();
    data_ = static_cast<T*>(std::align(kCacheLine, size * sizeof(T), start, space));
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> block_;
  T* data_ = nullptr;  // the first cache line inside the block
  size_t size_ = 0;
};

}  // namespace verbatim

#endif  // VERBATIM_BASE_ALIGNED_BUFFER_H_
