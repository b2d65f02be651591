// The seeds of the fuzzers of constraints and answers, whole and damaged. Not fuzzing.
#include "fuzz/answer_entries.h"
#include "fuzz/replay.h"

namespace verbatim {
namespace {

TEST(FuzzReplay, Constraint) { fuzz::ReplaySeeds("constraint", 24, fuzz::FuzzConstraint); }
TEST(FuzzReplay, Answer) { fuzz::ReplaySeeds("answer", 64, fuzz::FuzzAnswerParser); }

}  // namespace
}  // namespace verbatim
