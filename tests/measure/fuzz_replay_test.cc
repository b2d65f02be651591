// Replays the seeds of the receipts' fuzzer as an ordinary test.
#include "fuzz/receipt_entries.h"
#include "fuzz/replay.h"

namespace verbatim {
namespace {

constexpr size_t kPlaces = 256;  // keeps all within a second

TEST(FuzzReplay, Receipt) { fuzz::ReplaySeeds("receipt", kPlaces, fuzz::FuzzReceipt); }

}  // namespace
}  // namespace verbatim
