// Coordinates of three plots. Drawn 400 wide with type of 12.5, so that it stays readable on a
// phone and three abreast.
#include "apps/verbatim/flip_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/verbatim/page.h"

namespace verbatim::cli {
namespace {

constexpr double kWidth = 400;
constexpr double kHeight = 270;
constexpr double kLeft = 50;
constexpr double kRight = 12;
constexpr double kTop = 26;     // a line of legend
constexpr double kBottom = 40;  // tick labels and the axis title
constexpr int kNumColors = 4;   // s0 to s3 of the style

std::string Open(double height, std::string_view what) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, height,
                     EscapeHtml(what));
}

std::string Line(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>",
                     x1, y1, x2, y2, style);
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text,
                 std::string_view style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>", x,
                     y, anchor, style, EscapeHtml(text));
}

std::string Rect(double x, double y, double width, double height, std::string_view style) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"/>", x, y,
      std::max(width, 0.0), std::max(height, 0.0), style);
}

std::string Color(size_t i) { return fmt::format("s{}", i % kNumColors); }

// Squares and labels from left to right above the plot.
std::string Legend(const std::vector<std::string>& labels) {
  constexpr double kAdvance = 6.6;  // of a character, about
  std::string svg;
  double x = kLeft;
  for (size_t i = 0; i < labels.size(); ++i) {
    svg += fmt::format("<g class=\"{}\">{}</g>", Color(i), Rect(x, 5, 10, 10, "fill"));
    svg += Text(x + 15, 14, "start", labels[i]);
    x += 15 + kAdvance * static_cast<double>(labels[i].size()) + 10;
  }
  return svg;
}

// 0.001, 0.1, 10, 1e-07: as short as it can be.
std::string Short(double value) { return fmt::format("{:.3g}", value); }

// 2e-4, 0.004, 0.06, 1, 16.
std::string ShortEdge(double edge) {
  if (edge >= 0.001) return edge < 1 ? fmt::format("{:.1g}", edge) : fmt::format("{:.3g}", edge);
  const int exponent = static_cast<int>(std::floor(std::log10(edge)));
  return fmt::format("{:.0f}e{}", edge / std::pow(10, exponent), exponent);
}

// The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below `value`.
double NiceStep(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

double Clamped(double value, double low, double high) { return std::clamp(value, low, high); }

}  // namespace

std::string RatePlot(const std::vector<RateRow>& rows, bool percent) {
  const double unit = percent ? 100 : 1000;
  constexpr double kRowHeight = 46;
  constexpr double kLabels = 84;
  double low = 1e300;
  double high = 0;
  for (const RateRow& row : rows) {
    const Rate& rate = row.rate;
    if (rate.exposure <= 0) continue;
    high = std::max({high, rate.interval.high, rate.zero_bound.value_or(0)});
    const double least = rate.events > 0 ? rate.interval.low : rate.zero_bound.value_or(1) / 10;
    low = std::min(low, std::max(least, 1e-12));
  }
  if (high <= 0) return "";
  const double first = std::floor(std::log10(low * unit));
  const double last = std::max(std::ceil(std::log10(high * unit)), first + 1);
  const double bottom = 8 + kRowHeight * static_cast<double>(rows.size());
  const auto x = [&](double rate) {
    const double place = (std::log10(std::max(rate * unit, 1e-300)) - first) / (last - first);
    return kLabels + (kWidth - kLabels - kRight) * Clamped(place, 0, 1);
  };
  std::string svg = Open(bottom + kBottom, "flip rates with intervals");
  for (double decade = first; decade <= last; ++decade) {
    const double at = x(std::pow(10, decade) / unit);
    svg += Line(at, 4, at, bottom, "grid");
    svg += Text(at, bottom + 16, decade == last ? "end" : "middle",
                Short(std::pow(10, decade)) + (percent ? " %" : ""));
  }
  svg += Text(kWidth - kRight, bottom + 34, "end",
              percent ? "of the positions flip" : "divergences per 1000 tokens");
  for (size_t i = 0; i < rows.size(); ++i) {
    const Rate& rate = rows[i].rate;
    const double y = 8 + kRowHeight * (static_cast<double>(i) + 0.5);
    svg += Text(kLabels - 8, y + 4, "end", rows[i].label, "strong");
    if (rate.exposure <= 0) continue;
    svg += "<g class=\"s0\">";
    if (rate.events == 0) {
      const double bound = x(*rate.zero_bound);
      svg += Rect(kLabels, y - 6, bound - kLabels, 12, "band") +
             Line(bound, y - 8, bound, y + 8, "stroke");
      svg += Text(
          bound - 7, y + 4, "end",
          fmt::format("0 seen, below {}{}", Short(*rate.zero_bound * unit), percent ? " %" : ""));
    } else {
      if (rate.clustered) {
        svg += Rect(x(rate.clustered->low), y - 8, x(rate.clustered->high) - x(rate.clustered->low),
                    16, "band");
      }
      svg += Line(x(rate.interval.low), y, x(rate.interval.high), y, "stroke");
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" class=\"fill\"/>",
                         x(rate.rate), y);
      svg += Text(x(rate.rate), y - 11, "middle", Short(rate.rate * unit) + (percent ? " %" : ""));
    }
    svg += "</g>";
  }
  return svg + Line(kLabels, bottom, kWidth - kRight, bottom, "axis") + "</svg>";
}

std::string GapPlot(const GapHistogram& all, const GapHistogram& at_flips,
                    std::optional<double> limit) {
  if (all.total() == 0) return "";
  size_t first = GapHistogram::kNumBins;
  size_t last = 0;
  double top = 0;
  const auto share = [](const GapHistogram& gaps, size_t bin) {
    return gaps.total() == 0 ? 0.0
                             : static_cast<double>(gaps[bin]) / static_cast<double>(gaps.total());
  };
  for (size_t bin = 0; bin < GapHistogram::kNumBins; ++bin) {
    if (all[bin] == 0 && at_flips[bin] == 0) continue;
    first = std::min(first, bin);
    last = bin;
    top = std::max({top, share(all, bin), share(at_flips, bin)});
  }
  const double tick = NiceStep(top / 4);
  const int ticks = static_cast<int>(std::ceil(top / tick - 1e-9));
  top = tick * ticks;
  const double bottom = kHeight - kBottom;
  const double step = (kWidth - kLeft - kRight) / static_cast<double>(last - first + 1);
  const auto x = [&](size_t bin) { return kLeft + step * static_cast<double>(bin - first); };
  const auto y = [&](double value) { return bottom - (bottom - kTop) * value / top; };
  std::string svg = Open(kHeight, "histogram of top-2 gaps");
  const std::string flips = at_flips.total() > 0 ? "flips" : "flips (none seen)";
  svg += Legend({"all positions", flips});
  for (int i = 0; i <= ticks; ++i) {
    const double value = tick * i;
    svg += Line(kLeft, y(value), kWidth - kRight, y(value), "grid");
    svg += Text(kLeft - 6, y(value) + 4, "end", fmt::format("{:.3g} %", 100 * value));
  }
  for (size_t bin = first; bin <= last; ++bin) {
    const double value = share(all, bin);
    svg += fmt::format("<g class=\"s0\" opacity=\".55\">{}</g>",
                       Rect(x(bin) + 0.5, y(value), step - 1, bottom - y(value), "fill"));
    const double flipped = share(at_flips, bin);
    if (flipped <= 0) continue;
    svg += fmt::format("<g class=\"s1\">{}</g>", Rect(x(bin) + step * 0.25, y(flipped), step * 0.5,
                                                      bottom - y(flipped), "fill"));
  }
  // Five characters fit between the values.
  const int every = step < 10 ? 8 : step < 28 ? 4 : 2;
  for (size_t bin = first; bin <= last; ++bin) {
    const bool whole = bin > 0 && (static_cast<int>(bin) - 1 + GapHistogram::kLowest) % every == 0;
    if (bin == 0) svg += Text(x(0) + step / 2, bottom + 16, "middle", "tie");
    if (whole && bin > first + (first == 0 ? 2 : 0)) {
      svg += Text(x(bin), bottom + 16, "middle", ShortEdge(GapHistogram::LowerEdge(bin)));
    }
  }
  svg += Text(kWidth - kRight, bottom + 34, "end", "gap between the two largest logits");
  if (limit && *limit > 0) {
    const double octave = std::log2(*limit) - GapHistogram::kLowest + 1;
    const double at = kLeft + step * (octave - static_cast<double>(first));
    if (at > kLeft && at < kWidth - kRight) {
      const bool left = at > kWidth / 2;
      svg += Line(at, kTop - 4, at, bottom, "limit");
      svg += Text(left ? at - 5 : at + 5, kTop + 6, left ? "end" : "start", "rounding ends");
    }
  }
  return svg + Line(kLeft, bottom, kWidth - kRight, bottom, "axis") + "</svg>";
}

std::string SurvivalPlot(const std::vector<SurvivalSeries>& series, int64_t longest) {
  if (series.empty() || longest <= 0) return "";
  // Without events nobody knows how many would have parted but for the exact bound.
  const auto floor_of = [](const SurvivalSeries& one) {
    return one.lives == 0 ? 0 : std::pow(0.05, 1.0 / static_cast<double>(one.lives));
  };
  double low = 1;
  for (const SurvivalSeries& one : series) {
    low = std::min(low, one.steps.empty() ? floor_of(one) : one.steps.back().band.low);
  }
  const double tick = NiceStep(std::max(1 - low, 0.01) / 4);
  const int ticks = static_cast<int>(std::ceil((1 - low) / tick - 1e-9));
  low = std::max(0.0, 1 - tick * std::max(ticks, 1));
  const double bottom = kHeight - kBottom;
  const auto x = [&](double time) {
    return kLeft + (kWidth - kLeft - kRight) * time / static_cast<double>(longest);
  };
  const auto y = [&](double survival) {
    return bottom - (bottom - kTop) * (Clamped(survival, low, 1) - low) / (1 - low);
  };
  std::string svg = Open(kHeight, "share of prompts still equal, by output token");
  std::vector<std::string> labels;
  labels.reserve(series.size());
  for (const SurvivalSeries& one : series) labels.push_back(one.label);
  svg += Legend(labels);
  for (double value = 1; value > low - 1e-9; value -= tick) {
    svg += Line(kLeft, y(value), kWidth - kRight, y(value), "grid");
    svg += Text(kLeft - 6, y(value) + 4, "end",
                fmt::format("{:.3g} %", std::round(1000 * value) / 10));
  }
  for (int i = 0; i <= 4; ++i) {
    const double time = std::round(static_cast<double>(longest) * i / 4);
    svg += Text(x(time), bottom + 16, i == 4 ? "end" : "middle", fmt::format("{:.0f}", time));
  }
  svg += Text(kWidth - kRight, bottom + 34, "end", "output tokens");
  for (size_t i = 0; i < series.size(); ++i) {
    const SurvivalSeries& one = series[i];
    std::string curve = fmt::format("M{:.1f} {:.1f}", x(0), y(1));
    std::string upper = curve;
    std::string lower;  // from right to left
    double previous_low = 1;
    for (const SurvivalStep& step : one.steps) {
      const double at = x(static_cast<double>(step.time));
      curve += fmt::format("H{:.1f}V{:.1f}", at, y(step.survival));
      upper += fmt::format("H{:.1f}V{:.1f}", at, y(step.band.high));
      lower.insert(0, fmt::format("L{0:.1f} {1:.1f}L{0:.1f} {2:.1f}", at, y(step.band.low),
                                  y(previous_low)));
      previous_low = step.band.low;
    }
    const double end = x(static_cast<double>(longest));
    curve += fmt::format("H{:.1f}", end);
    if (one.steps.empty()) {
      upper = fmt::format("M{0:.1f} {1:.1f}H{2:.1f}V{3:.1f}H{0:.1f}", x(0), y(1), end,
                          y(floor_of(one)));
    } else {
      upper += fmt::format("H{:.1f}V{:.1f}", end, y(previous_low)) + lower;
      upper += fmt::format("L{:.1f} {:.1f}", x(0), y(1));
    }
    // Arms without an event have the same band; one of them is enough.
    const bool first =
        std::ranges::all_of(series.begin(), series.begin() + static_cast<int64_t>(i),
                            [](const SurvivalSeries& s) { return !s.steps.empty(); });
    if (one.steps.empty() && !first) upper = curve;
    svg += fmt::format(
        "<g class=\"{}\"><path d=\"{}Z\" class=\"band\"/><path d=\"{}\" "
        "class=\"stroke\"/></g>",
        Color(i), upper, curve);
  }
  return svg + Line(kLeft, bottom, kWidth - kRight, bottom, "axis") + "</svg>";
}

}  // namespace verbatim::cli
