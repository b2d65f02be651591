// No allocation in a decode step: operator new is counted while Engine::Step runs. Text is off,
// since text grows.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/support/test_models.h"
#include "verbatim/engine.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};

void* Allocate(std::size_t size, std::size_t alignment) {
  if (counting.load()) allocations.fetch_add(1);
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = alignment <= alignof(std::max_align_t) ? std::malloc(size == 0 ? 1 : size)
                                                        : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Not inlined: GCC would see one of a pair without the other, and warn of a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) { return Allocate(size, 1); }
[[gnu::noinline]] void* operator new[](std::size_t size) { return Allocate(size, 1); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace verbatim::testing {
namespace {

// Two sequences whose decode steps cross a page's edge while they are counted.
void CheckDecodeSteps(const std::filesystem::path& model, const SpeculationOptions& speculation,
                      bool logits_digest, const SamplingOptions& sampling = {}) {
  auto engine = Engine::Load({.model = model.string(),
                              .with_mtp = true,
                              .num_threads = 2,
                              .context = 700,
                              .max_sequences = 2});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  for (const int32_t start : {5, 50}) {
    Request request;
    for (int32_t i = 0; i < 250; ++i) request.prompt_token_ids.push_back(start + i % 40);
    request.max_tokens = 400;
    request.ignore_eos = true;
    request.logits_digest = logits_digest;
    request.position_digests = logits_digest;
    request.speculation = speculation;
    request.sampling = sampling;
    ASSERT_TRUE((*engine)->Submit(request).ok());
  }
  // Admission and prompts may allocate, and the first steps may grow the text's buffers to a
  // token's size.
  for (int step = 0; step < 4; ++step) (*engine)->Step();
  allocations = 0;
  for (int step = 0; step < 20;
       ++step) {  // before the first sequence can end: ending moves the result out
    counting = true;
    const bool more = (*engine)->Step();
    counting = false;
    ASSERT_TRUE(more);
    EXPECT_EQ(allocations.load(), 0) << "step " << step;
  }
}

TEST(Allocation, DecodeStepsAllocateNothing) {
  using enum SpeculationKind;
  const std::vector<int32_t> replay(400, 7);
  for (const SpeculationOptions& speculation :
       {SpeculationOptions{.kind = kOff}, SpeculationOptions{.kind = kMtp, .draft_tokens = 3},
        SpeculationOptions{.kind = kMtp, .draft_tokens = 15, .automatic = true},
        SpeculationOptions{.kind = kNgram, .draft_tokens = 5},
        SpeculationOptions{.kind = kReplay, .draft_tokens = 5, .replay = replay},
        SpeculationOptions{.kind = kWrong, .draft_tokens = 5}}) {
    SCOPED_TRACE(SpeculationKindName(speculation.kind));
    CheckDecodeSteps(NanoModel(), speculation, true);
    CheckDecodeSteps(TinyQuantizedModel(), speculation, false);
  }
}

TEST(Allocation, SampledStepsAllocateNothing) {
  using enum SpeculationKind;
  for (const SpeculationKind kind : {kOff, kMtp}) {
    const SpeculationOptions speculation = {.kind = kind, .draft_tokens = 4};
    CheckDecodeSteps(TinyQuantizedModel(), speculation, false, {.temperature = 0.8F, .seed = 3});
    CheckDecodeSteps(TinyQuantizedModel(), speculation, false,
                     {.repetition_penalty = 1.1F,
                      .frequency_penalty = 0.1F,
                      .logit_bias = {{3, 1}},
                      .banned_strings = {"the", "abc"},
                      .temperature = 0.8F,
                      .top_k = 50,
                      .top_p = 0.9F,
                      .min_p = 0.01F});
  }
}

TEST(Allocation, TheCounterCounts) {
  allocations = 0;
  counting = true;
  ::operator delete(::operator new(1));  // a new-expression may be optimised away
  counting = false;
  EXPECT_EQ(allocations.load(), 1);
}

}  // namespace
}  // namespace verbatim::testing
