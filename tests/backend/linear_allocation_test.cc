// Linears and embeddings never allocate once space is reserved. Own binary: it replaces operator
// new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "backend/cpu/cpu_backend.h"
#include "tests/backend/linear_cases.h"

namespace {
std::atomic<int64_t> allocations{0};

void* Allocate(size_t size, size_t alignment) {
  allocations.fetch_add(1);
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

// Not inlined: GCC would see one of a pair without the other, and warn of a mismatch.
[[gnu::noinline]] void* operator new(size_t size) {
  return Allocate(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace verbatim::cpu {
namespace {

TEST(LinearAllocation, NoneAfterReserve) {
  ops::DispatchLog log(4);  // full after a few calls: later records are only counted
  for (const int threads : {1, 2}) {
    auto created = CreateCpuBackend({.num_threads = threads});
    ASSERT_TRUE(created.ok());
    ops::Backend& backend = **created;
    backend.SetDispatchLog(&log);
    ASSERT_TRUE(backend.Reserve(Needs(40, 384)).ok());
    const LinearCase affine({.type = WeightType::kAffine, .bits = 4, .group_size = 64}, 200, 384,
                            1);
    const LinearCase dense({.type = WeightType::kBF16}, 200, 384, 2);
    const auto a = backend.PrepareLinear(affine.matrix());
    const auto b = backend.PrepareLinear(dense.matrix());
    ASSERT_TRUE(a.ok() && b.ok());
    const std::vector<float> x = AdversarialRows(40, 384, 3);
    std::vector<float> y(2 * 40 * 384);
    const ops::LinearTask tasks[] = {{a->get(), y.data(), 200, nullptr},
                                     {b->get(), y.data() + 40 * 200, 200, nullptr}};
    const std::vector<int32_t> ids = {5, 199, 0};
    const int64_t before = allocations.load();
    for (const int rows : {1, 2, 5, 8, 40}) backend.Linear({x.data(), 384, rows, tasks});
    backend.Embed({.table = a->get(), .ids = ids, .out = y.data(), .out_stride = 384});
    const int64_t after = allocations.load();
    EXPECT_EQ(after, before);
  }
  EXPECT_EQ(log.records().size(), 4u);
  EXPECT_EQ(log.num_seen(), 22);  // two tasks in each linear, one embedding, two thread counts
}

TEST(LinearAllocation, TheCounterCounts) {
  const int64_t before = allocations.load();
  ::operator delete(::operator new(1));  // a new-expression may be optimised away
  EXPECT_EQ(allocations.load(), before + 1);
}

}  // namespace
}  // namespace verbatim::cpu
