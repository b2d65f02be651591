// AlignedBuffer: a zeroed array that starts on a cache line. Not resizable.
#ifndef VERBATIM_BASE_ALIGNED_BUFFER_H_
#define VERBATIM_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace verbatim {

inline constexpr size_t kCacheLine = 64;  // bytes; also the width of the widest vector used

template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Throws std::bad_alloc when memory runs out; callers at the edges turn that into a Status.
  explicit AlignedBuffer(size_t size) : size_(size) {
    if (size == 0) return;
    data_.reset(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{kCacheLine})));
    std::memset(static_cast<void*>(data_.get()), 0, size * sizeof(T));
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }
  std::span<T> span() { return {data(), size_}; }
  std::span<const T> span() const { return {data(), size_}; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{kCacheLine}); }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};

}  // namespace verbatim

#endif  // VERBATIM_BASE_ALIGNED_BUFFER_H_
