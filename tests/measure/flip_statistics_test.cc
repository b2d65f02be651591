// Intervals and survival against values computed elsewhere. Not the counting of flips.
#include "measure/flip_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/philox.h"

namespace verbatim {
namespace {

// scipy 1.17: beta.ppf(.025, k, n - k + 1), beta.isf(.025, k + 1, n - k).
TEST(ClopperPearsonTest, EqualsScipy) {
  struct Case {
    int64_t events, trials;
    double low, high;
  };
  for (const Case& c :
       {Case{0, 10, 0, 0.30849710781876083}, Case{1, 10, 0.0025285785444617848, 0.4450161170281953},
        Case{7, 20, 0.15390920478454118, 0.5921885345328282}, Case{10, 10, 0.6915028921812392, 1},
        Case{3, 300000, 2.0622451573879683e-06, 2.922396265995377e-05},
        Case{150, 50000, 0.002539683458890391, 0.0035194269171164587}}) {
    const Interval interval = ClopperPearson(c.events, c.trials);
    EXPECT_NEAR(interval.low, c.low, 1e-9 * (c.low + 1e-3)) << c.events << " of " << c.trials;
    EXPECT_NEAR(interval.high, c.high, 1e-9 * c.high) << c.events << " of " << c.trials;
  }
}

// scipy 1.17: gamma.ppf(.025, k) / t, gamma.isf(.025, k + 1) / t.
TEST(PoissonIntervalTest, EqualsScipy) {
  EXPECT_EQ(PoissonInterval(0, 1000).low, 0);
  EXPECT_NEAR(PoissonInterval(0, 1000).high, 0.003688879454113936, 1e-12);
  EXPECT_NEAR(PoissonInterval(1, 1000).low, 2.5317807984289875e-05, 1e-14);
  EXPECT_NEAR(PoissonInterval(1, 1000).high, 0.005571643390938898, 1e-12);
  EXPECT_NEAR(PoissonInterval(10, 2500).low, 0.0019181554784529734, 1e-12);
  EXPECT_NEAR(PoissonInterval(10, 2500).high, 0.00735614241680711, 1e-12);
}

// The remission times of the 6-MP arm of Freireich et al. 1963, the example of every text book; the
// band: lifelines 0.30, KaplanMeierFitter().fit(T, E).confidence_interval_.
TEST(KaplanMeierTest, EqualsTheTextBookAndLifelines) {
  const std::vector<Lifetime> lives = {
      {6, true},   {6, true},   {6, true},   {6, false},  {7, true},   {9, false},  {10, true},
      {10, false}, {11, false}, {13, true},  {16, true},  {17, false}, {19, false}, {20, false},
      {22, true},  {23, true},  {25, false}, {32, false}, {32, false}, {34, false}, {35, false}};
  struct Step {
    int64_t time, at_risk, events;
    double survival, low, high;
  };
  const std::vector<Step> expected = {
      {6, 21, 3, 0.857143, 0.619718, 0.951552},  {7, 17, 1, 0.806723, 0.563147, 0.922809},
      {10, 15, 1, 0.752941, 0.503200, 0.889362}, {13, 12, 1, 0.690196, 0.431610, 0.849066},
      {16, 11, 1, 0.627451, 0.367511, 0.804912}, {22, 7, 1, 0.537815, 0.267779, 0.746791},
      {23, 6, 1, 0.448179, 0.188052, 0.680143}};
  const std::vector<SurvivalStep> steps = KaplanMeier(lives);
  ASSERT_EQ(steps.size(), expected.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].time, expected[i].time);
    EXPECT_EQ(steps[i].at_risk, expected[i].at_risk);
    EXPECT_EQ(steps[i].events, expected[i].events);
    EXPECT_NEAR(steps[i].survival, expected[i].survival, 1e-6);
    EXPECT_NEAR(steps[i].band.low, expected[i].low, 1e-6);
    EXPECT_NEAR(steps[i].band.high, expected[i].high, 1e-6);
  }
}

TEST(KaplanMeierTest, NobodyLeftAndNobodyDead) {
  EXPECT_TRUE(KaplanMeier({}).empty());
  EXPECT_TRUE(KaplanMeier(std::vector<Lifetime>{{5, false}, {9, false}}).empty());
  const auto steps = KaplanMeier(std::vector<Lifetime>{{3, true}, {2, true}});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].survival, 0);
  EXPECT_EQ(steps[1].band.low, 0);
  EXPECT_EQ(steps[1].band.high, steps[0].band.high);
}

TEST(RateTest, ZeroEventsHaveABoundAndNoSpread) {
  const Rate rate = ProportionOf(std::vector<Cluster>{{0, 100000}, {0, 200000}}, 1);
  EXPECT_EQ(rate.rate, 0);
  ASSERT_TRUE(rate.zero_bound.has_value());
  EXPECT_DOUBLE_EQ(*rate.zero_bound, 1e-5);
  EXPECT_FALSE(rate.clustered.has_value());
  // The rule of three is the one-sided exact bound but for 0.2 %.
  EXPECT_NEAR(*rate.zero_bound, ClopperPearson(0, 300000, 0.90).high, 0.003e-5);
  EXPECT_FALSE(ProportionOf(std::vector<Cluster>{{1, 10}, {0, 10}}, 1).zero_bound.has_value());
  EXPECT_EQ(ProportionOf({}, 1).exposure, 0);
}

// Every cluster is all or nothing: as if there were 40 trials, not 40,000.
TEST(ClusterBootstrapTest, IsWiderWhereClustersDiffer) {
  std::vector<Cluster> clusters(40, Cluster{0, 1000});
  for (size_t i = 0; i < 10; ++i) clusters[i].events = 1000;
  const Rate rate = ProportionOf(clusters, 7);
  EXPECT_DOUBLE_EQ(rate.rate, 0.25);
  ASSERT_TRUE(rate.clustered.has_value());
  // sqrt(p (1 - p) / 40) = 0.0685, times 1.96.
  EXPECT_NEAR(rate.clustered->low, 0.25 - 0.134, 0.03);
  EXPECT_NEAR(rate.clustered->high, 0.25 + 0.134, 0.03);
  EXPECT_LT(rate.interval.high - rate.interval.low, 0.01);
  EXPECT_EQ(ClusterBootstrap(clusters, 7)->low, rate.clustered->low);  // of the seed alone
}

TEST(ClusterBootstrapTest, SaysNothingFromOneClusterWithEvents) {
  EXPECT_FALSE(ClusterBootstrap(std::vector<Cluster>{{5, 100}}, 1).has_value());
  EXPECT_FALSE(ClusterBootstrap(std::vector<Cluster>{{5, 100}, {0, 100}}, 1).has_value());
}

// The promise of an interval: it has the true rate in at least 95 of 100 experiments.
TEST(ClopperPearsonTest, CoversTheTruth) {
  constexpr int kExperiments = 2000;
  constexpr int kTrials = 400;
  constexpr double kTruth = 0.01;
  int covered = 0;
  for (uint32_t experiment = 0; experiment < kExperiments; ++experiment) {
    int64_t events = 0;
    for (uint32_t trial = 0; trial < kTrials; ++trial) {
      events += Philox4x32({trial, experiment, 0, 0}, {1, 2})[0] < kTruth * 0x1p32 ? 1 : 0;
    }
    const Interval interval = ClopperPearson(events, kTrials);
    covered += interval.low <= kTruth && kTruth <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, 0.95 * kExperiments);
  EXPECT_LT(covered, kExperiments);
}

}  // namespace
}  // namespace verbatim
