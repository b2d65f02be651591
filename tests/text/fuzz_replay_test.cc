// Replays the seeds of the text layer's fuzzers as an ordinary test.
#include "fuzz/replay.h"
#include "fuzz/text_entries.h"

namespace verbatim {
namespace {

constexpr size_t kPlaces = 16;  // a rendering has a thread of its own; this keeps all in seconds

TEST(FuzzReplay, Tokenizer) { fuzz::ReplaySeeds("tokenizer", kPlaces, fuzz::FuzzTokenizer); }
TEST(FuzzReplay, ChatTemplate) {
  fuzz::ReplaySeeds("chat_template", kPlaces, fuzz::FuzzChatTemplate);
}

}  // namespace
}  // namespace verbatim
