// Replays the fuzzers' seeds, and each seed truncated and damaged, as an ordinary test.
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/synthetic.h"
#include "fuzz/fuzz_entries.h"

namespace verbatim {
namespace {

void Replay(const char* kind, void (*entry)(std::span<const std::byte>)) {
  int seeds = 0;
  const auto run = [&](const std::string& bytes) { entry(std::as_bytes(std::span(bytes))); };
  for (const auto& file : std::filesystem::directory_iterator(
           std::string(VERBATIM_SOURCE_DIR "/tests/fuzz/seeds/") + kind)) {
    ++seeds;
    const std::string seed = testing::ReadFile(file.path());
    run(seed);
    // 64 places spread over the file keep this within a second.
    for (size_t i = 0; i < 64; ++i) {
      const size_t at = seed.size() * i / 64;
      run(seed.substr(0, at));
      std::string damaged = seed;
      if (!damaged.empty()) damaged[at] = static_cast<char>(damaged[at] ^ (1 << (i % 8)));
      run(damaged);
    }
  }
  EXPECT_GE(seeds, 5);
}

TEST(FuzzReplay, Safetensors) { Replay("safetensors", fuzz::FuzzSafetensors); }

TEST(FuzzReplay, Config) { Replay("config", fuzz::FuzzConfig); }

}  // namespace
}  // namespace verbatim
