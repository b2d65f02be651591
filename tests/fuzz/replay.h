// ReplaySeeds: runs a fuzzer's seeds, and each of them truncated and damaged, as an ordinary test.
// The process ends if an entry function finds a fault.
#ifndef VERBATIM_TESTS_FUZZ_REPLAY_H_
#define VERBATIM_TESTS_FUZZ_REPLAY_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>

namespace verbatim::fuzz {

// `places` of each seed are cut at and changed; `entry` takes std::span<const std::byte>.
template <typename Entry>
void ReplaySeeds(const char* kind, size_t places, Entry entry) {
  int seeds = 0;
  const auto run = [&](const std::string& bytes) { entry(std::as_bytes(std::span(bytes))); };
  for (const auto& file : std::filesystem::directory_iterator(
           std::string(VERBATIM_SOURCE_DIR "/tests/fuzz/seeds/") + kind)) {
    ++seeds;
    std::ostringstream text;
    text << std::ifstream(file.path(), std::ios::binary).rdbuf();
    const std::string seed = text.str();
    run(seed);
    for (size_t i = 0; i < places; ++i) {
      const size_t at = seed.size() * i / places;
      run(seed.substr(0, at));
      std::string damaged = seed;
      if (!damaged.empty()) damaged[at] = static_cast<char>(damaged[at] ^ (1 << (i % 8)));
      run(damaged);
    }
  }
  EXPECT_GE(seeds, 5);
}

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_REPLAY_H_
