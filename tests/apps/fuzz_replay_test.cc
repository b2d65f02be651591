// Replays the seeds of the command line's fuzzers as an ordinary test.
#include "fuzz/options_entries.h"
#include "fuzz/replay.h"

namespace verbatim {
namespace {

constexpr size_t kPlaces = 64;  // keeps all within a second

TEST(FuzzReplay, CommandLine) { fuzz::ReplaySeeds("command_line", kPlaces, fuzz::FuzzCommandLine); }
TEST(FuzzReplay, TokenList) { fuzz::ReplaySeeds("token_list", kPlaces, fuzz::FuzzTokenList); }

}  // namespace
}  // namespace verbatim
