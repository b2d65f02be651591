// Statistics of rare events: intervals for rates, clustering, survival with censoring. Not what is
// counted (flips.h), and not medians of timings (statistics.h).
#ifndef VERBATIM_MEASURE_FLIP_STATISTICS_H_
#define VERBATIM_MEASURE_FLIP_STATISTICS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace verbatim {

inline constexpr double kConfidence = 0.95;

struct Interval {
  double low = 0;
  double high = 0;
};

// The exact interval of a probability after `events` of `trials` (Clopper and Pearson, "The use of
// confidence or fiducial limits illustrated in the case of the binomial", 1934). trials >= 1,
// 0 <= events <= trials.
Interval ClopperPearson(int64_t events, int64_t trials, double confidence = kConfidence);

// The exact interval of a rate per unit after `events` in `exposure` units (Garwood, "Fiducial
// limits for the Poisson distribution", 1936). exposure > 0.
Interval PoissonInterval(int64_t events, double exposure, double confidence = kConfidence);

// The one-sided 95 % upper bound after no event in `exposure` units: the rule of three, -ln 0.05 =
// 2.996 rounded up.
inline double ZeroEventsBound(double exposure) { return 3.0 / exposure; }

struct Cluster {
  int64_t events = 0;
  int64_t trials = 0;
};

// The percentile interval of the pooled rate when whole clusters are drawn with replacement (Efron
// 1979): positions of one prompt are not independent, prompts are. nullopt below two clusters, and
// where no cluster or only one has an event: such draws say nothing about the spread. The same seed
// gives the same interval.
std::optional<Interval> ClusterBootstrap(std::span<const Cluster> clusters, uint64_t seed,
                                         double confidence = kConfidence);

// One life: the time of its event, or the last time at which it was seen without one.
struct Lifetime {
  int64_t time = 0;
  bool event = false;
};

struct SurvivalStep {
  int64_t time = 0;     // of at least one event
  int64_t at_risk = 0;  // lives that reached this time
  int64_t events = 0;   // at this time
  double survival = 1;  // the share that is alive after it
  Interval band = {};   // pointwise, log-log transformed Greenwood variance
};

// The product-limit estimate (Kaplan and Meier, "Nonparametric estimation from incomplete
// observations", 1958), one step per time with an event. A life censored at a time counts as at
// risk there. Where nobody is left the band is [0, that of the step before].
std::vector<SurvivalStep> KaplanMeier(std::span<const Lifetime> lives,
                                      double confidence = kConfidence);

// A number of events with all that may be said of their rate.
struct Rate {
  int64_t events = 0;
  double exposure = 0;                     // trials, or units of exposure
  double rate = 0;                         // events / exposure; 0 without exposure
  Interval interval = {};                  // exact, as if every trial were independent
  std::optional<Interval> clustered = {};  // bootstrap by prompt
  // Instead of "none": the upper bound where no event was seen.
  std::optional<double> zero_bound = {};
};

// Of a probability per trial, clustered.
Rate ProportionOf(std::span<const Cluster> clusters, uint64_t seed);
// Of events per unit of exposure: `clusters` have their exposure in `trials`.
Rate RateOf(std::span<const Cluster> clusters, uint64_t seed);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_FLIP_STATISTICS_H_
