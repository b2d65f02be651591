// Flips on nano: none in exact mode, and the planted ones with a backend that changes logits of
// rows that share a step. Not the statistics, and not the report.
#include "measure/flips.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "backend/observe/forwarding_backend.h"
#include "measure/flip_rows.h"
#include "measure/flip_texts.h"
#include "measure/teacher_forced.h"

namespace verbatim {
namespace {

const std::string kNano = std::string(VERBATIM_SOURCE_DIR) + "/models/nano-qwen35";

// What is done to a row of logits in a step of several rows; given a hash of its input.
using Plant = std::function<void(std::span<float> logits, size_t hash)>;

class PlantingBackend : public ForwardingBackend {
 public:
  PlantingBackend(std::unique_ptr<ops::Backend> inner, int64_t vocab_size, Plant plant)
      : ForwardingBackend(std::move(inner)), vocab_size_(vocab_size), plant_(std::move(plant)) {}

  void Linear(const ops::LinearArgs& args) override {
    inner().Linear(args);
    if (args.num_rows == 1) return;
    for (const ops::LinearTask& task : args.tasks) {
      // The load-time probe asks for a part of the outputs.
      if (task.weights->out_features() != vocab_size_ || task.num_outputs != 0) continue;
      for (int row = 0; row < args.num_rows; ++row) {
        const auto* x = reinterpret_cast<const char*>(args.x + row * args.x_stride);  // NOLINT
        const auto bytes = static_cast<size_t>(task.weights->in_features()) * sizeof(float);
        plant_({task.out + row * task.out_stride, static_cast<size_t>(vocab_size_)},
               std::hash<std::string_view>{}({x, bytes}));
      }
    }
  }

 private:
  int64_t vocab_size_;
  Plant plant_;
};

BackendWrapper Planting(Plant plant) {
  static constexpr int64_t kNanoVocabSize = 1024;
  return [plant](std::unique_ptr<ops::Backend> inner) {
    return std::make_unique<PlantingBackend>(std::move(inner), kNanoVocabSize, plant);
  };
}

// The second-best logit becomes the best one, at one row in twenty.
constexpr double kPlantedRate = 0.05;
void SwapOneInTwenty(std::span<float> logits, size_t hash) {
  if (hash % 20 != 0) return;
  const ChainRow row = ChainRowOf(logits);
  std::swap(logits[static_cast<size_t>(row.best)], logits[static_cast<size_t>(row.second)]);
}

FlipOptions Small() {
  FlipOptions options;
  options.engine.model = kNano;
  options.engine.num_threads = 1;
  options.prompts = DefaultFlipPrompts();
  options.prompts.resize(6);
  options.widths = {2, 16};
  options.positions = 3000;
  options.tokens = 24;
  options.seed = 5;
  return options;
}

TEST(FlipsTest, ExactHasNoneAndSaysTheBound) {
  const auto report = RunFlips(Small());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_FALSE(report->AnyDifference());
  ASSERT_TRUE(report->forced.has_value());
  const TeacherForced& forced = *report->forced;
  EXPECT_EQ(forced.positions, 3000);
  EXPECT_EQ(forced.comparisons, 6000);
  EXPECT_EQ(forced.prompts, 6);
  EXPECT_GT(forced.sampled_positions, 0);
  EXPECT_EQ(forced.gaps.total(), 3000);
  EXPECT_EQ(forced.gaps_at_flips.total(), 0);
  EXPECT_EQ(forced.change_max, 0);
  EXPECT_EQ(forced.rounding_limit, 0.0);
  ASSERT_EQ(forced.widths.size(), 2u);
  for (const WidthFlips& width : forced.widths) {
    EXPECT_EQ(width.flips.events, 0);
    EXPECT_EQ(width.byte_differences, 0);
    EXPECT_EQ(width.flips.zero_bound, 3.0 / 3000);
  }
  ASSERT_TRUE(report->running.has_value());
  EXPECT_EQ(report->running->kind, SpeculationKind::kMtp);
  ASSERT_EQ(report->running->arms.size(), 2u);
  for (const FreeRunningArm& arm : report->running->arms) {
    EXPECT_EQ(arm.divergences.events, 0);
    EXPECT_GT(arm.divergences.exposure, 0);
    EXPECT_TRUE(arm.survival.empty());
    EXPECT_GT(arm.speculation.drafted, 0);
  }
}

TEST(FlipsTest, PlantedFlipsAreFoundAtTheirRateAndCalledBugs) {
  FlipOptions options = Small();
  options.tokens = 0;
  options.wrap = Planting(SwapOneInTwenty);
  const auto report = RunFlips(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->AnyDifference());
  const TeacherForced& forced = *report->forced;
  int64_t flips = 0;
  for (const WidthFlips& width : forced.widths) {
    EXPECT_LE(width.flips.interval.low, kPlantedRate);
    EXPECT_GE(width.flips.interval.high, kPlantedRate);
    EXPECT_GT(width.flips.events, 100);
    EXPECT_EQ(width.byte_differences, width.flips.events);
    // All other positions have equal bytes: rounding explains nothing here.
    EXPECT_EQ(width.state_bugs, width.flips.events);
    flips += width.flips.events;
  }
  EXPECT_EQ(forced.gaps_at_flips.total(), flips);
  EXPECT_EQ(forced.flips.size(), 2 * kMaxFlipsListed);
  for (const Flip& flip : forced.flips) EXPECT_NE(flip.chain_token, flip.block_token);
}

// What other kernels do: every logit a little different, so that only near ties flip.
TEST(FlipsTest, NearTiesAreRounding) {
  FlipOptions options = Small();
  options.tokens = 0;
  options.wrap = Planting([](std::span<float> logits, size_t hash) {
    for (float& logit : logits) {
      hash = hash * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
      logit += 0.02F * (static_cast<float>(hash >> 40) * 0x1p-24F - 0.5F);
    }
  });
  const auto report = RunFlips(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  const TeacherForced& forced = *report->forced;
  int64_t flips = 0;
  for (const WidthFlips& width : forced.widths) {
    flips += width.flips.events;
    EXPECT_GT(width.byte_differences, 2900);
    EXPECT_EQ(width.state_bugs, 0);
  }
  EXPECT_GT(flips, 0);
  ASSERT_TRUE(forced.rounding_limit.has_value());
  EXPECT_GT(*forced.rounding_limit, 0.02);  // the largest change that was planted
  EXPECT_GT(forced.change_p99, forced.change_median);
  EXPECT_LE(forced.change_max, 0.0201);
}

TEST(FlipsTest, FreeRunningFindsWhereOutputsPart) {
  FlipOptions options = Small();
  // Exact mode would see the fault at load and not speculate.
  options.engine.contract = ContractMode::kGreedy;
  options.positions = 0;
  options.tokens = 40;
  options.spec = SpeculationKind::kReplay;
  options.widths = {4};
  options.wrap = Planting(SwapOneInTwenty);
  const auto report = RunFlips(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->running->arms.size(), 1u);
  const FreeRunningArm& arm = report->running->arms[0];
  EXPECT_GT(arm.divergences.events, 2);
  EXPECT_LE(arm.divergences.events, 6);
  EXPECT_LE(arm.divergences.interval.low, kPlantedRate);
  EXPECT_GE(arm.divergences.interval.high, kPlantedRate);
  ASSERT_FALSE(arm.survival.empty());
  EXPECT_LT(arm.survival.back().survival, 1);
  EXPECT_GT(arm.speculation.accepted, 0);
  EXPECT_EQ(arm.flips.size(), static_cast<size_t>(arm.divergences.events));
}

TEST(FlipsTest, TheSeedMakesTheTexts) {
  FlipOptions options = Small();
  options.positions = 3000;  // more than the prompts have
  options.tokens = 0;
  const auto first = RunFlips(options);
  const auto again = RunFlips(options);
  options.seed = 6;
  const auto other = RunFlips(options);
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  const auto counts = [](const GapHistogram& gaps) {
    std::vector<int64_t> all;
    for (size_t i = 0; i < GapHistogram::kNumBins; ++i) all.push_back(gaps[i]);
    return all;
  };
  EXPECT_EQ(counts(first->forced->gaps), counts(again->forced->gaps));
  EXPECT_NE(counts(first->forced->gaps), counts(other->forced->gaps));
}

TEST(FlipsTest, CanBeStopped) {
  for (const int after : {1, 40, 3500, 9500}) {  // sampling, scoring, generating
    FlipOptions options = Small();
    int calls = 0;
    options.stop = [&calls, after] { return ++calls > after; };
    EXPECT_EQ(RunFlips(options).status().code(), StatusCode::kCancelled) << after;
  }
}

TEST(FlipsTest, RefusesWhatItCanNotMeasure) {
  const auto code = [](const std::function<void(FlipOptions&)>& change) {
    FlipOptions options = Small();
    change(options);
    return RunFlips(options).status().code();
  };
  EXPECT_EQ(code([](auto& o) { o.widths = {1}; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.widths = {17}; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.widths = {}; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.prompts = {}; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.prompts = {{"", "a", ""}}; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.positions = o.tokens = 0; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.positions = 1; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.positions = -1; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.tokens = -1; }), StatusCode::kInvalidArgument);
}

TEST(ChainRowTest, FirstOfEqualLogitsAndItsGap) {
  const std::vector<float> logits = {1, 3, 2.5F, 3, -1};
  const ChainRow row = ChainRowOf(logits);
  EXPECT_EQ(row.best, 1);
  EXPECT_EQ(row.second, 3);
  EXPECT_EQ(row.gap, 0);
  EXPECT_TRUE(BlockRowOf(row, logits).equal_bytes);
  const std::vector<float> other = {1, 3, 2.5F, 3.25F, -1};
  const BlockRow block = BlockRowOf(row, other);
  EXPECT_FALSE(block.equal_bytes);
  EXPECT_EQ(block.best, 3);
  EXPECT_EQ(block.gap_change, 0.25F);
  EXPECT_EQ(ChainRowOf(std::vector<float>{5, 4}).second, 1);
  EXPECT_EQ(ChainRowOf(std::vector<float>{4, 5}).second, 0);
}

TEST(RoundingLimitTest, IsFourTimesThe99thPercentile) {
  std::vector<float> changes(1000);
  for (size_t i = 0; i < changes.size(); ++i) changes[i] = static_cast<float>(i + 1);
  EXPECT_EQ(RoundingLimit(changes, 1000), 4 * 990.0);
  EXPECT_EQ(RoundingLimit(changes, 100000), 0.0);  // 99 of 100 are 0
  EXPECT_EQ(RoundingLimit(changes, 50000), 4 * 500.0);
  EXPECT_EQ(RoundingLimit({}, kMinChanges - 1), std::nullopt);
  EXPECT_EQ(RoundingLimit({}, kMinChanges), 0.0);
}

TEST(FlipTextsTest, PromptsAreCutAtThePositionsAndAtTheLength) {
  const std::vector<std::vector<int32_t>> prompts = {std::vector<int32_t>(1500, 1),
                                                     std::vector<int32_t>(100, 2)};
  const auto texts = TextsOfPrompts(prompts, 1550);
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[0].token_ids.size(), 1024u);
  EXPECT_EQ(texts[1].token_ids.size(), 476u);
  EXPECT_EQ(texts[2].token_ids.size(), 50u);
  EXPECT_EQ(texts[2].prompt, 1);
  EXPECT_EQ(TextsOfPrompts(prompts, 10000).size(), 3u);
}

TEST(GapHistogramTest, OctavesWithBothEndsOpen) {
  GapHistogram gaps;
  for (const float gap : {0.0F, 1e-30F, 0x1p-20F, 1.0F, 1.99F, 2.0F, 1e9F, 63.9F}) gaps.Add(gap);
  EXPECT_EQ(gaps[0], 1);
  EXPECT_EQ(gaps[1], 2);
  EXPECT_EQ(gaps[21], 2);
  EXPECT_EQ(gaps[22], 1);
  EXPECT_EQ(gaps[GapHistogram::kNumBins - 1], 2);
  EXPECT_EQ(gaps.total(), 8);
  EXPECT_EQ(GapHistogram::LowerEdge(0), 0);
  EXPECT_EQ(GapHistogram::LowerEdge(21), 1);
}

}  // namespace
}  // namespace verbatim
