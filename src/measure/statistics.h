// Medians and spread of repeated measurements, and the interleaving that makes them comparable. Not
// the measurements.
#ifndef VERBATIM_MEASURE_STATISTICS_H_
#define VERBATIM_MEASURE_STATISTICS_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "verbatim/status.h"

namespace verbatim {

struct Summary {
  double median = 0;
  double low = 0;   // first quartile
  double high = 0;  // third quartile; high - low is the interquartile range
  int count = 0;
};

// The quantile p in [0, 1] of a sorted, non-empty list, linear between its neighbours.
double Quantile(std::span<const double> sorted, double p);
// All zero for an empty list.
Summary Summarize(std::vector<double> values);

// One thing to measure; `run` measures it once and gives the value, in whatever unit.
struct Arm {
  std::string name;
  std::function<Expected<double>()> run;
};

// Every arm once per round, in the order given and the next round backwards, so that a machine that
// changes speed changes it for all. Result [arm][round]. The first error ends it.
// `progress` gets the share done and the arm about to run; may be empty.
Expected<std::vector<std::vector<double>>> RunInterleaved(
    std::span<const Arm> arms, int rounds,
    const std::function<void(double fraction, const std::string& what)>& progress);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_STATISTICS_H_
