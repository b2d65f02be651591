// RunBench on nano: what it counts, that the parts add up, that it can be stopped, and that unequal
// outputs are found. Nothing about speed.
#include "measure/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "measure/anatomy.h"

namespace verbatim {
namespace {

const std::string kNano = std::string(VERBATIM_SOURCE_DIR) + "/models/nano-qwen35";

BenchOptions Small() {
  BenchOptions options;
  options.engine.model = kNano;
  options.engine.num_threads = 1;
  options.prompt_tokens = 20;
  options.decode_tokens = kMinDecodeTokens;
  options.rounds = 1;
  options.prompt = "Once upon a time";
  return options;
}

TEST(FindDifferenceTest, EqualArmsHaveNone) {
  const std::vector<ArmOutput> arms = {{"classic", {1, 2}, "aa"}, {"MTP", {1, 2}, "aa"}};
  EXPECT_EQ(FindDifference(arms), std::nullopt);
}

// The negative control of "refuses to print a speed-up over unequal outputs".
TEST(FindDifferenceTest, APlantedDigestOrIdIsNamed) {
  std::vector<ArmOutput> arms = {{"classic", {1, 2}, "aa"}, {"MTP", {1, 2}, "aa"}};
  arms.push_back({"blocks of 4 rows", {1, 2}, "ab"});
  EXPECT_EQ(FindDifference(arms), "the logits of blocks of 4 rows and of classic differ");
  arms[1].token_ids = {1, 3};
  EXPECT_EQ(FindDifference(arms), "the token ids of MTP and of classic differ");
}

TEST(BenchTest, CountsWhatAStepReads) {
  bool loaded = false;
  BenchOptions options = Small();
  options.on_loaded = [&loaded] { loaded = true; };
  const auto report = RunBench(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(loaded);
  EXPECT_EQ(report->difference, std::nullopt);
  ASSERT_EQ(report->rows.size(), 16u);
  // All layers, the head, and a row of the embedding per token: nano is bf16 with 128 columns.
  const auto weights = static_cast<double>(report->info.weight_bytes);
  for (int rows = 1; rows <= 16; ++rows) {
    const Timed& timed = report->rows[static_cast<size_t>(rows - 1)];
    const double embedding = 2.0 * static_cast<double>(report->info.hidden_size) * rows;
    EXPECT_EQ(timed.work.bytes, weights + embedding) << rows;
    EXPECT_GT(timed.limit.seconds(), 0);
    EXPECT_GT(timed.ms.median, 0);
    EXPECT_EQ(timed.ms.count, 1);
  }
  // Arithmetic grows with the rows by equal steps, what is shared by them does not.
  const auto& rows = report->rows;
  EXPECT_EQ(rows[2].work.lane_ops - rows[1].work.lane_ops,
            rows[1].work.lane_ops - rows[0].work.lane_ops);
  EXPECT_LT(rows[1].work.lane_ops, 2 * rows[0].work.lane_ops);

  EXPECT_EQ(report->classic.stats.drafted, 0);
  EXPECT_EQ(report->classic.speedup.median, 1);
  ASSERT_TRUE(report->mtp.has_value());
  EXPECT_GT(report->mtp->stats.tested, 0);
  EXPECT_EQ(report->perfect.stats.accepted, report->perfect.stats.tested);
  EXPECT_GT(report->peaks.bytes, 0);
  EXPECT_GT(report->peaks.fmas, 0);
}

TEST(BenchTest, ThePartsOfAStepAddUpToIt) {
  const auto report = RunBench(Small());
  ASSERT_TRUE(report.ok()) << report.status().message();
  std::set<Part> step;
  double inside = 0;
  for (const PartTime& part : report->step.parts) {
    step.insert(part.part);
    inside += part.timed.ms.median;
  }
  EXPECT_EQ(step, (std::set<Part>{Part::kEmbed, Part::kNorms, Part::kAttentionProj,
                                  Part::kAttention, Part::kDeltaProj, Part::kDelta, Part::kMlp,
                                  Part::kHead, Part::kCopies}));
  EXPECT_NEAR(inside + report->step.outside_ms.median, report->step.wall_ms.median,
              1e-6 * report->step.wall_ms.median);
  ASSERT_TRUE(report->drafter.has_value());
  std::set<Part> drafter;
  for (const PartTime& part : report->drafter->parts) drafter.insert(part.part);
  EXPECT_TRUE(drafter.contains(Part::kJoin));
  EXPECT_TRUE(drafter.contains(Part::kHead));
  EXPECT_FALSE(drafter.contains(Part::kDelta));  // the head has no recurrent layer
}

TEST(BenchTest, CanBeStopped) {
  BenchOptions options = Small();
  int calls = 0;
  options.stop = [&calls] { return ++calls > 30; };
  EXPECT_EQ(RunBench(options).status().code(), StatusCode::kCancelled);
}

TEST(BenchTest, RefusesWhatItCanNotMeasure) {
  BenchOptions options = Small();
  options.decode_tokens = kMinDecodeTokens - 1;
  EXPECT_EQ(RunBench(options).status().code(), StatusCode::kInvalidArgument);
  options = Small();
  options.rounds = 0;
  EXPECT_EQ(RunBench(options).status().code(), StatusCode::kInvalidArgument);
  options = Small();
  options.engine.model = "/nowhere";
  EXPECT_FALSE(RunBench(options).ok());
}

TEST(AnatomyTest, LeavesOutWhatTheHeadDidForThePrompt) {
  const auto pass = [](bool drafter, double seconds) {
    Pass made{.drafter = drafter, .rows = 1, .wall_s = 2 * seconds};
    made.seconds[static_cast<size_t>(Part::kHead)] = seconds;
    made.work[static_cast<size_t>(Part::kHead)].bytes = 10 * seconds;
    return made;
  };
  const std::vector<Pass> passes = {pass(true, 100), pass(false, 1), pass(true, 2),
                                    pass(true, 3),   pass(false, 4), pass(true, 5)};
  const MeanStep target = MeanOf(passes, false);
  EXPECT_EQ(target.seconds[static_cast<size_t>(Part::kHead)], 2.5);
  EXPECT_EQ(target.wall_s, 5);
  const MeanStep drafter = MeanOf(passes, true);  // per pass of the target
  EXPECT_EQ(drafter.seconds[static_cast<size_t>(Part::kHead)], 5);
  EXPECT_EQ(drafter.work[static_cast<size_t>(Part::kHead)].bytes, 50);
  EXPECT_EQ(MeanOf({}, false).wall_s, 0);
}

TEST(PartTest, GoesByTheNameOfTheWeights) {
  EXPECT_EQ(PartOfWeights("mtp.fc.weight"), Part::kJoin);
  EXPECT_EQ(PartOfWeights("mtp.layers.0.mlp.up_proj.weight"), Part::kMlp);
  EXPECT_EQ(PartOfWeights("language_model.model.layers.3.self_attn.q_proj.weight"),
            Part::kAttentionProj);
  EXPECT_EQ(PartOfWeights("model.layers.0.linear_attn.in_proj_qkv.weight"), Part::kDeltaProj);
  EXPECT_EQ(PartOfWeights("model.embed_tokens.weight"), Part::kHead);
  EXPECT_EQ(PartOfWeights("lm_head.weight"), Part::kHead);
}

}  // namespace
}  // namespace verbatim
