// Replays the seeds of the fuzzer of bodies as an ordinary test, and every body with each of its
// values removed, repeated or replaced.
#include <fstream>

#include "fuzz/api_entries.h"
#include "fuzz/replay.h"
#include "tests/support/json_mutations.h"

namespace verbatim {
namespace {

constexpr size_t kPlaces = 200;  // of each seed: about every fifth byte

TEST(FuzzReplay, ApiBody) { fuzz::ReplaySeeds("api_body", kPlaces, fuzz::FuzzApiBody); }

TEST(FuzzReplay, ApiBodyWithWrongValues) {
  int mutations = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(VERBATIM_SOURCE_DIR "/tests/fuzz/seeds/api_body")) {
    std::ifstream stream(file.path());
    const auto seed = nlohmann::ordered_json::parse(stream, nullptr, false);
    if (seed.is_discarded()) continue;
    testing::ForEachJsonMutation(seed, [&](const testing::JsonMutation& mutation) {
      ++mutations;
      fuzz::FuzzApiBody(std::as_bytes(std::span(mutation.text)));
    });
  }
  EXPECT_GT(mutations, 1000);
}

}  // namespace
}  // namespace verbatim
