// RunModeBench on nano: both modes are there, agreement is reported and not demanded of greedy.
// Nothing about speed.
#include "measure/mode_bench.h"

#include <gtest/gtest.h>

#include <string>

#include "backend/vendor/vendor_backend.h"

namespace verbatim {
namespace {

BenchOptions Small() {
  BenchOptions options;
  options.engine.model = std::string(VERBATIM_SOURCE_DIR) + "/models/nano-qwen35";
  options.engine.num_threads = 1;
  options.prompt_tokens = 20;
  options.decode_tokens = kMinDecodeTokens;
  options.rounds = 2;
  options.prompt = "Once upon a time";
  return options;
}

TEST(ModeBenchTest, TimesBothModesSideBySide) {
  const auto report = RunModeBench(Small());
  if (const Status vendor = vendor::CheckVendor(); !vendor.ok()) {
    EXPECT_EQ(report.status().code(), StatusCode::kUnsupported);
    GTEST_SKIP() << vendor.message();
  }
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->difference, std::nullopt);
  const auto& [exact, greedy] = report->modes;
  EXPECT_EQ(exact.info.contract_held, ContractMode::kExact);
  EXPECT_EQ(greedy.info.contract_held, ContractMode::kGreedy);
  for (const ModeSpeed& speed : report->modes) {
    EXPECT_EQ(speed.prefill_ms.count, 2);
    EXPECT_EQ(speed.classic_tokens_per_s.count, 2);
    ASSERT_TRUE(speed.mtp_tokens_per_s.has_value());
    EXPECT_EQ(speed.mtp_speedup->count, 2);
    EXPECT_GT(speed.mtp_stats.tested, 0);
    EXPECT_EQ(speed.mtp_agreement.tokens, kMinDecodeTokens);
  }
  EXPECT_EQ(exact.mtp_agreement.equal_tokens, kMinDecodeTokens);
  EXPECT_TRUE(exact.mtp_agreement.equal_logits);
  EXPECT_EQ(report->classic_agreement.tokens, kMinDecodeTokens);
  EXPECT_FALSE(report->classic_agreement.equal_logits);  // other products
  EXPECT_GT(report->classic_cost.median, 0);
  EXPECT_GT(report->mtp_cost->median, 0);
}

TEST(ModeBenchTest, CanBeStopped) {
  if (const Status vendor = vendor::CheckVendor(); !vendor.ok()) GTEST_SKIP() << vendor.message();
  BenchOptions options = Small();
  int calls = 0;
  options.stop = [&calls] { return ++calls > 30; };
  EXPECT_EQ(RunModeBench(options).status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace verbatim
