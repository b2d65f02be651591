// The verdict of the demo over results that differ in every way. The real arms are in tests/cli.
#include "apps/verbatim/demo_report.h"

#include <gtest/gtest.h>

namespace verbatim::cli {
namespace {

Result Arm() {
  Result result;
  result.token_ids = {1, 2, 3, 4};
  result.text = "abcd";
  result.logits_sha256 = "00ff";
  return result;
}

Terminal PlainTerminal() {
  auto line = ParseCommandLine({"demo", "--color", "never"});
  return Terminal(*line);
}

std::string Report(const Result& classic, const Result& mtp) {
  return DemoReport(classic, mtp, CompareArms(classic, mtp, 1024),
                    {.classic = 100, .mtp = 250, .repetitions = 3}, PlainTerminal());
}

TEST(DemoReportTest, EqualArms) {
  Result mtp = Arm();
  mtp.speculation.drafted_at = {4, 4};
  mtp.speculation.tested_at = {4, 3};
  mtp.speculation.accepted_at = {3, 0};
  const ArmComparison comparison = CompareArms(Arm(), mtp, 1024);
  EXPECT_TRUE(comparison.equal());
  EXPECT_EQ(comparison.tokens, 4);
  EXPECT_EQ(comparison.logits_bytes, 4 * 1024 * 4);
  const std::string report = Report(Arm(), mtp);
  for (std::string_view part : {"2.50x", "100.0", "250.0", "75.0 %   3 of 4", "0.0 %   0 of 3",
                                "16,384   0 differ", "medians of 3"}) {
    EXPECT_NE(report.find(part), std::string::npos) << part << "\n" << report;
  }
  EXPECT_EQ(report.find('\x1b'), std::string::npos);
}

TEST(DemoReportTest, OneTokenHasNoSpeed) {
  Result arm = Arm();
  arm.token_ids = {1};
  const std::string report = DemoReport(arm, arm, CompareArms(arm, arm, 1024), {}, PlainTerminal());
  EXPECT_NE(report.find("tokens/s                               -           -\n"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("speed-up                               -           -\n"),
            std::string::npos)
      << report;
}

TEST(DemoReportTest, ATokenThatDiffers) {
  Result mtp = Arm();
  mtp.token_ids[2] = 9;
  const ArmComparison comparison = CompareArms(Arm(), mtp, 1024);
  EXPECT_FALSE(comparison.equal());
  EXPECT_EQ(comparison.tokens_that_differ, 1);
  EXPECT_EQ(comparison.first_difference, 2);
  const std::string report = Report(Arm(), mtp);
  EXPECT_EQ(report.find("2.50x"), std::string::npos) << report;
  EXPECT_EQ(report.find("tokens/s"), std::string::npos) << report;
  EXPECT_NE(report.find("no speed-up is given"), std::string::npos) << report;
}

TEST(DemoReportTest, AnArmThatEndsEarly) {
  Result mtp = Arm();
  mtp.token_ids.pop_back();
  const ArmComparison comparison = CompareArms(Arm(), mtp, 1024);
  EXPECT_FALSE(comparison.equal());
  EXPECT_EQ(comparison.tokens, 4);
  EXPECT_EQ(comparison.tokens_that_differ, 1);
  EXPECT_EQ(comparison.first_difference, 3);
}

TEST(DemoReportTest, LogitsOrTextThatDiffer) {
  Result mtp = Arm();
  mtp.logits_sha256 = "00fe";
  EXPECT_FALSE(CompareArms(Arm(), mtp, 1024).equal());
  EXPECT_NE(Report(Arm(), mtp).find("digests differ"), std::string::npos);
  mtp = Arm();
  mtp.text += " ";
  EXPECT_FALSE(CompareArms(Arm(), mtp, 1024).equal());
  Result without_digest = Arm();
  without_digest.logits_sha256.clear();
  EXPECT_FALSE(CompareArms(without_digest, without_digest, 1024).equal());
}

}  // namespace
}  // namespace verbatim::cli
