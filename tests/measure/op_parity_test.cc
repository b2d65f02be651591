// RunOpParity on the shapes of the nano model: equal as it is, and with one op broken in the last
// place, in state, or in its route alone, the report says which. Not the kernels.
#include "measure/op_parity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/create_backend.h"
#include "backend/observe/forwarding_backend.h"

namespace verbatim {
namespace {

using ::testing::HasSubstr;

const std::string kNano = std::string(VERBATIM_SOURCE_DIR) + "/models/nano-qwen35";

// The next representable value away from zero.
void Nudge(float* value) { *value = std::bit_cast<float>(std::bit_cast<uint32_t>(*value) + 1); }

// Breaks one op from the ninth row of a call on.
class BrokenBackend : public ForwardingBackend {
 public:
  BrokenBackend(std::unique_ptr<ops::Backend> inner, ops::Op op)
      : ForwardingBackend(std::move(inner)), op_(op) {}

  void Linear(const ops::LinearArgs& args) override {
    ForwardingBackend::Linear(args);
    if (op_ != ops::Op::kLinear || args.num_rows < 10) return;
    Nudge(args.tasks[0].out + 9 * args.tasks[0].out_stride + 3);
  }
  void RmsNorm(const ops::RmsNormArgs& args) override {
    ForwardingBackend::RmsNorm(args);
    if (op_ == ops::Op::kRmsNorm && args.num_rows > 9) Nudge(args.out + 9 * args.out_stride);
  }
  void Attention(const ops::AttentionArgs& args) override {
    ForwardingBackend::Attention(args);
    if (op_ == ops::Op::kAttention && args.step.num_rows > 9) Nudge(args.out);
  }
  void RopeAndCache(const ops::RopeAndCacheArgs& args) override {
    ForwardingBackend::RopeAndCache(args);
    if (op_ != ops::Op::kRopeAndCache || args.step.num_rows < 10) return;
    const ops::SequenceRows& rows = args.step.sequences[0];
    const int slot = rows.first_slot + 9;
    std::byte* page =
        args.cache.pages + rows.pages[slot / ops::kPageSlots] * args.cache.layout.page_bytes();
    reinterpret_cast<uint16_t*>(page)[args.cache.layout.VOffset(0, slot % ops::kPageSlots, 0)] ^= 1;
  }
  void ConvAndGatedDelta(const ops::ConvAndGatedDeltaArgs& args) override {
    ForwardingBackend::ConvAndGatedDelta(args);
    if (op_ == ops::Op::kConvAndGatedDelta && args.step.num_rows > 9) Nudge(args.state.slots);
  }
  void FoldRecords(const ops::FoldRecordsArgs& args) override {
    ForwardingBackend::FoldRecords(args);
    if (op_ == ops::Op::kFoldRecords && args.num_accepted_drafts > 8) Nudge(args.state.slots);
  }
  void BestLogits(const ops::BestLogitsArgs& args) override {
    ForwardingBackend::BestLogits(args);
    if (op_ == ops::Op::kBestLogits && args.num_rows > 9) ++args.best[9].id;
  }

 private:
  ops::Op op_;
};

// A second kernel for some row counts, as far as the log tells.
class OtherRouteBackend : public ForwardingBackend {
 public:
  explicit OtherRouteBackend(std::unique_ptr<ops::Backend> inner)
      : ForwardingBackend(std::move(inner)) {}

  void SetDispatchLog(ops::DispatchLog* log) override {
    log_ = log;
    ForwardingBackend::SetDispatchLog(log);
  }
  void SiluMul(const ops::SiluMulArgs& args) override {
    if (log_ != nullptr) {
      log_->Add({.op = ops::Op::kSiluMul,
                 .family = args.num_rows > 12 ? "other" : "silu_mul",
                 .kernel = "silu_mul",
                 .num_rows = args.num_rows});
    }
    ForwardingBackend::SetDispatchLog(nullptr);
    ForwardingBackend::SiluMul(args);
    ForwardingBackend::SetDispatchLog(log_);
  }

 private:
  ops::DispatchLog* log_ = nullptr;
};

struct ScopedWrapper {
  explicit ScopedWrapper(BackendWrapper wrapper) { WrapEveryBackend(std::move(wrapper)); }
  ~ScopedWrapper() { WrapEveryBackend({}); }
};

ScopedWrapper Break(ops::Op op) {
  return ScopedWrapper([op](std::unique_ptr<ops::Backend> inner) {
    return std::make_unique<BrokenBackend>(std::move(inner), op);
  });
}

OpParityReport Compare(OpParityOptions options) {
  if (options.model.empty()) options.model = kNano;
  Expected<OpParityReport> report = RunOpParity(options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? *std::move(report) : OpParityReport{};
}

std::vector<int> UnequalWidths(const OpParityCase& one) {
  std::vector<int> widths;
  for (const WidthParity& width : one.widths) {
    if (width.verdict() != ParityVerdict::kEqual) widths.push_back(width.width);
  }
  return widths;
}

// Only cases of `op` may be unequal; returns them.
std::vector<OpParityCase> Unequal(const OpParityReport& report, const std::string& op) {
  std::vector<OpParityCase> unequal;
  for (const OpParityCase& one : report.cases) {
    if (one.equal()) continue;
    EXPECT_EQ(one.op, op);
    unequal.push_back(one);
  }
  EXPECT_FALSE(unequal.empty());
  EXPECT_FALSE(report.Holds());
  return unequal;
}

TEST(OpParity, EveryOpOfTheNanoModelIsEqual) {
  const OpParityReport report = Compare({.num_seeds = 3, .widths = {1, 2, 3, 9, 17, 32}});
  EXPECT_TRUE(report.Holds());
  std::vector<std::string> seen;
  for (const OpParityCase& one : report.cases) {
    seen.push_back(one.op);
    EXPECT_TRUE(one.asserted);
    for (const WidthParity& width : one.widths) {
      EXPECT_EQ(width.block.sha256, width.single.sha256);
      EXPECT_EQ(width.block.sha256.size(), 64u);
      EXPECT_GT(width.row_bytes, 0) << one.op;
      EXPECT_EQ(width.block.routes.empty(), one.target == "host") << one.op;
    }
  }
  for (const std::string_view op : ParityOpNames()) {
    EXPECT_THAT(seen, ::testing::Contains(op));
  }
  EXPECT_GT(report.comparisons(), 0);
  EXPECT_GT(report.bytes(), 0);
}

TEST(OpParity, DigestsAreOfTheSeedAndNothingElse) {
  const OpParityOptions options = {.num_seeds = 1, .widths = {4}, .ops = {"linear", "attention"}};
  OpParityOptions threads = options;
  threads.num_threads = 3;
  OpParityOptions seeds = options;
  seeds.num_seeds = 2;
  const OpParityReport a = Compare(options), b = Compare(threads), c = Compare(seeds);
  ASSERT_EQ(a.cases.size(), b.cases.size());
  for (size_t i = 0; i < a.cases.size(); ++i) {
    EXPECT_EQ(a.cases[i].widths[0].block.sha256, b.cases[i].widths[0].block.sha256);
    EXPECT_NE(a.cases[i].widths[0].block.sha256, c.cases[i].widths[0].block.sha256);
  }
}

TEST(OpParity, AnUlpFromTheTenthRowOnIsFoundAndNamed) {
  for (const auto& [op, name] :
       {std::pair{ops::Op::kLinear, "linear"}, std::pair{ops::Op::kRmsNorm, "rms_norm"},
        std::pair{ops::Op::kAttention, "attention"}}) {
    const ScopedWrapper wrapper = Break(op);
    const OpParityReport report = Compare({.num_seeds = 1, .widths = {1, 8, 9, 10, 11, 16}});
    for (const OpParityCase& one : Unequal(report, name)) {
      EXPECT_THAT(UnequalWidths(one), ::testing::ElementsAre(10, 11, 16));
      const WidthParity& width = one.widths[3];
      EXPECT_EQ(width.max_ulp, 1u);
      EXPECT_EQ(width.differing_bytes(), 1);
      EXPECT_NE(width.block.sha256, width.single.sha256);
      EXPECT_TRUE(width.same_route);
      ASSERT_TRUE(width.first);
      if (op == ops::Op::kLinear) {
        EXPECT_EQ(width.first->place, "row 9, value 3");
        EXPECT_EQ(width.differing_row_bytes[9], 1);
      }
    }
  }
}

TEST(OpParity, ABrokenStateIsFoundThoughTheOutputsAreEqual) {
  for (const auto& [op, name] : {std::pair{ops::Op::kRopeAndCache, "rope_and_cache"},
                                 std::pair{ops::Op::kConvAndGatedDelta, "conv_and_gated_delta"},
                                 std::pair{ops::Op::kFoldRecords, "conv_and_gated_delta"}}) {
    const ScopedWrapper wrapper = Break(op);
    const OpParityReport report = Compare({.num_seeds = 1, .widths = {9, 10, 12}});
    for (const OpParityCase& one : Unequal(report, name)) {
      EXPECT_THAT(UnequalWidths(one), ::testing::ElementsAre(10, 12));
      EXPECT_GT(one.widths[1].differing_state_bytes, 0);
      EXPECT_EQ(one.widths[1].differing_bytes(), one.widths[1].differing_state_bytes);
      ASSERT_TRUE(one.widths[1].first);
      EXPECT_THAT(one.widths[1].first->place, HasSubstr("state, value"));
      EXPECT_GE(one.widths[1].max_ulp, 1u);
    }
  }
}

TEST(OpParity, AWrongChoiceHasNoUlp) {
  const ScopedWrapper wrapper = Break(ops::Op::kBestLogits);
  const OpParityReport report =
      Compare({.num_seeds = 1, .widths = {9, 10}, .ops = {"best_logits"}});
  const std::vector<OpParityCase> unequal = Unequal(report, "best_logits");
  ASSERT_EQ(unequal.size(), 1u);
  EXPECT_EQ(unequal[0].widths[1].max_ulp, 0u);
  EXPECT_GT(unequal[0].widths[1].differing_bytes(), 0);
}

TEST(OpParity, AnotherRouteIsADivergenceThoughItsBytesAreEqual) {
  const ScopedWrapper wrapper([](std::unique_ptr<ops::Backend> inner) {
    return std::make_unique<OtherRouteBackend>(std::move(inner));
  });
  const OpParityReport report = Compare({.num_seeds = 1, .widths = {1, 12, 13, 16}});
  const std::vector<OpParityCase> unequal = Unequal(report, "silu_mul");
  ASSERT_EQ(unequal.size(), 1u);
  EXPECT_THAT(UnequalWidths(unequal[0]), ::testing::ElementsAre(13, 16));
  EXPECT_EQ(unequal[0].widths[2].verdict(), ParityVerdict::kRoute);
  EXPECT_EQ(unequal[0].widths[2].differing_bytes(), 0);
  EXPECT_EQ(unequal[0].widths[2].block.routes[0].family, "other");
}

TEST(OpParity, GreedyAssertsEverythingButLinears) {
  OpParityOptions options = {.contract = ContractMode::kGreedy,
                             .num_seeds = 1,
                             .widths = {10},
                             .ops = {"linear", "rms_norm"}};
  {
    const ScopedWrapper wrapper = Break(ops::Op::kLinear);
    const OpParityReport report = Compare(options);
    EXPECT_TRUE(report.Holds());
    for (const OpParityCase& one : report.cases) {
      EXPECT_EQ(one.asserted, one.op != "linear");
      EXPECT_EQ(one.equal(), one.op != "linear");
    }
  }
  const ScopedWrapper wrapper = Break(ops::Op::kRmsNorm);
  EXPECT_FALSE(Compare(options).Holds());
}

TEST(OpParity, PublishedShapesHaveEveryFormatAndModel) {
  OpParityOptions options = {.num_seeds = 1, .widths = {2}, .ops = {"linear", "attention"}};
  const Expected<OpParityReport> report = RunOpParity(options);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->Holds());
  for (const char* model : {"Qwen3.5 27B", "Qwen3.5 0.8B", "Gemma 4 12B", "Gemma 4 31B"}) {
    std::vector<std::string> formats;
    for (const OpParityCase& one : report->cases) {
      if (one.model == model && one.op == "linear") formats.push_back(one.format);
    }
    for (const char* format :
         {"affine 2-bit g64", "affine 3-bit g64", "affine 4-bit g64", "affine 5-bit g64",
          "affine 6-bit g64", "affine 8-bit g64", "bf16", "f16", "f32"}) {
      EXPECT_THAT(formats, ::testing::Contains(format)) << model;
    }
  }
}

TEST(OpParity, BadOptionsAreRefused) {
  for (const OpParityOptions& options :
       {OpParityOptions{.ops = {"nonsense"}}, OpParityOptions{.widths = {0}},
        OpParityOptions{.widths = {kMaxParityWidth + 1}}, OpParityOptions{.widths = {2, 1}},
        OpParityOptions{.num_seeds = 0}, OpParityOptions{.targets = {"mmx"}},
        OpParityOptions{.num_threads = 0}}) {
    const Expected<OpParityReport> report = RunOpParity(options);
    EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(report.status().message(), HasSubstr("expected"));
  }
}

TEST(OpParity, StopEndsTheWork) {
  EXPECT_EQ(RunOpParity({.model = kNano, .stop = [] { return true; }}).status().code(),
            StatusCode::kCancelled);
}

TEST(UlpDistance, CountsRepresentableSteps) {
  EXPECT_EQ(UlpDistance(1.0f, 1.0f), 0u);
  EXPECT_EQ(UlpDistance(1.0f, std::nextafter(1.0f, 2.0f)), 1u);
  EXPECT_EQ(UlpDistance(std::nextafter(1.0f, 0.0f), std::nextafter(1.0f, 2.0f)), 2u);
  EXPECT_EQ(UlpDistance(0.0f, -0.0f), 1u);
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(UlpDistance(-least, least), 3u);
  EXPECT_EQ(UlpDistance(std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()),
            1u);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(UlpDistance(nan, nan), 0u);
  EXPECT_EQ(UlpDistance(nan, 1.0f), kUlpOfNan);
}

}  // namespace
}  // namespace verbatim
