// Replays the seeds of the checkpoint layer's fuzzers as an ordinary test.
#include "fuzz/fuzz_entries.h"
#include "fuzz/replay.h"

namespace verbatim {
namespace {

constexpr size_t kPlaces = 64;  // keeps all within a second

TEST(FuzzReplay, Safetensors) { fuzz::ReplaySeeds("safetensors", kPlaces, fuzz::FuzzSafetensors); }
TEST(FuzzReplay, Config) { fuzz::ReplaySeeds("config", kPlaces, fuzz::FuzzConfig); }
TEST(FuzzReplay, Quantization) {
  fuzz::ReplaySeeds("quantization", kPlaces, fuzz::FuzzQuantization);
}
TEST(FuzzReplay, GenerationConfig) {
  fuzz::ReplaySeeds("generation_config", kPlaces, fuzz::FuzzGenerationConfig);
}
TEST(FuzzReplay, ShardIndex) { fuzz::ReplaySeeds("shard_index", kPlaces, fuzz::FuzzShardIndex); }
TEST(FuzzReplay, HubCache) { fuzz::ReplaySeeds("hub_cache", kPlaces, fuzz::FuzzHubCache); }

}  // namespace
}  // namespace verbatim
