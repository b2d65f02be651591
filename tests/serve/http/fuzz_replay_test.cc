// Replays the seeds of the transport's fuzzers as an ordinary test.
#include "fuzz/http_entries.h"
#include "fuzz/replay.h"

namespace verbatim {
namespace {

constexpr size_t kPlaces = 64;  // keeps all within a second

TEST(FuzzReplay, HttpRequest) { fuzz::ReplaySeeds("http_request", kPlaces, fuzz::FuzzHttpRequest); }
TEST(FuzzReplay, HttpConnection) {
  fuzz::ReplaySeeds("http_connection", kPlaces, fuzz::FuzzHttpConnection);
}

}  // namespace
}  // namespace verbatim
