// Chain parity: equal where the contract holds, and a planted break is named by its op.
#include "measure/chain_parity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backend/create_backend.h"
#include "tests/support/breaking_backend.h"
#include "tests/support/test_models.h"

namespace verbatim::testing {
namespace {

using ::testing::HasSubstr;

// Breaks every backend of the process while it lives.
struct Planted {
  explicit Planted(const std::string& text) { WrapEveryBackend(BreakWith(*ParseBreak(text))); }
  ~Planted() { WrapEveryBackend({}); }
};

ChainParityOptions Options() {
  return {.model = NanoModel().string(), .num_tokens = 40, .num_seeds = 1};
}

TEST(ChainParity, EveryWidthAndPatternIsEqual) {
  const auto report = RunChainParity(Options());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->Holds());
  EXPECT_EQ(report->cases.size(), 1 + 15 * 3u);  // width 1 has no drafts
  for (const ChainCase& one : report->cases) {
    EXPECT_EQ(one.rows_compared, 40) << one.width;
    EXPECT_GE(one.states_compared, 1);
  }
}

TEST(ChainParity, NamesTheOpOfEveryBreak) {
  for (size_t i = 0; i < ops::kNumOps; ++i) {
    const auto op = static_cast<ops::Op>(i);
    // The chain folds nothing, so a fold has no second route, and choices show no sizes.
    for (const std::string where : {":blocks:silent", ":ninth-row:silent", ":positions"}) {
      const bool silent = where.find("silent") != where.npos;
      if (op == ops::Op::kFoldRecords && !silent) continue;
      // A model's logits have no ties, which is what this break needs: the route alone tells.
      if (op == ops::Op::kBestLogits && silent) continue;
      SCOPED_TRACE(std::string(ops::OpName(op)) + where);
      const Planted planted(std::string(ops::OpName(op)) + where);
      const auto report = RunChainParity(Options());
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_FALSE(report->Holds());
      bool found = false;
      for (const ChainCase& one : report->cases) {
        if (!one.divergence) continue;
        found = true;
        ASSERT_TRUE(one.divergence->op.has_value());
        EXPECT_EQ(one.divergence->op->op, op) << one.divergence->op->Describe();
        if (where.find("ninth") != where.npos) {
          EXPECT_GE(one.width, 9);
        }
      }
      EXPECT_TRUE(found);
    }
  }
}

TEST(ChainParity, SaysWhereAndByHowMuch) {
  const Planted planted("linear:ninth-row:silent");
  ChainParityOptions options = Options();
  options.widths = {8, 12};
  const auto report = RunChainParity(options);
  ASSERT_TRUE(report.ok());
  for (const ChainCase& one : report->cases) {
    EXPECT_EQ(one.divergence.has_value(), one.width == 12 && one.fate != DraftFate::kRejected);
    if (!one.divergence || one.fate != DraftFate::kAccepted) continue;
    const ChainDivergence& found = *one.divergence;
    EXPECT_EQ(found.position, 8);
    EXPECT_EQ(found.round, 0);
    EXPECT_EQ(found.row, 8);
    EXPECT_GT(found.logit_bytes, 0);
    EXPECT_GT(found.hidden_bytes, 0);
    EXPECT_GT(found.largest, 0.0f);
    EXPECT_GT(found.chain.gap, 0.0f);
    EXPECT_EQ(found.op->layer, 0);
    EXPECT_THAT(found.op->weights, HasSubstr("layers.0."));
  }
}

TEST(ChainParity, RefusesByName) {
  ChainParityOptions options = Options();
  options.widths = {17};
  EXPECT_THAT(RunChainParity(options).status().message(), HasSubstr("[widths] expected 1 to 16"));
  options = Options();
  options.num_tokens = 0;
  EXPECT_THAT(RunChainParity(options).status().message(), HasSubstr("[num_tokens]"));
  options = Options();
  options.model = "no/such/model";
  EXPECT_FALSE(RunChainParity(options).ok());
  options = Options();
  options.stop = [] { return true; };
  EXPECT_EQ(RunChainParity(options).status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace verbatim::testing
