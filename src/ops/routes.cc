// The table of routes and its lookup.
#include "ops/routes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace verbatim::ops {
namespace {

constexpr std::array kTypes = {WeightType::kF32, WeightType::kBF16, WeightType::kF16,
                               WeightType::kAffine};

struct RowRange {
  int min_rows;
  int max_rows;
  int row_tile;
  std::string_view affine_kernel;
  std::string_view dense_kernel;
};

// A row tile needs an accumulator per row (affine: int32 and binary32, dense: two binary32) beside
// the weights: 8 rows fit into the 32 registers of AVX-512. A kernel with a row tile of R cuts M
// rows into ceil(M / R) nearly equal tiles, so a wider one is never slower; the narrow ones are
// routes of their own because their code differs.
constexpr std::array kWideRanges = {
    RowRange{1, 1, 1, "affine_rows_1", "dense_rows_1"},
    RowRange{2, 2, 2, "affine_rows_2", "dense_rows_2"},
    RowRange{3, 4, 4, "affine_rows_4", "dense_rows_4"},
    RowRange{5, kUnlimitedRows, 8, "affine_rows_8", "dense_rows_8"},
};
// 16 registers, two for each 16-lane value: 4 rows.
constexpr std::array kNarrowRanges = {
    RowRange{1, 1, 1, "affine_rows_1", "dense_rows_1"},
    RowRange{2, 2, 2, "affine_rows_2", "dense_rows_2"},
    RowRange{3, kUnlimitedRows, 4, "affine_rows_4", "dense_rows_4"},
};

struct TargetRanges {
  std::string_view target;
  std::span<const RowRange> ranges;
};
constexpr std::array kTargets = {
    TargetRanges{"scalar", kNarrowRanges},
    TargetRanges{"avx2", kNarrowRanges},
    TargetRanges{"avx512", kWideRanges},
    TargetRanges{"avx512vnni", kWideRanges},
};

constexpr size_t kNumRoutes = kTypes.size() * 2 * (kNarrowRanges.size() + kWideRanges.size());

constexpr std::array<LinearRoute, kNumRoutes> MakeRoutes() {
  std::array<LinearRoute, kNumRoutes> routes{};
  size_t count = 0;
  for (const WeightType type : kTypes) {
    const bool affine = type == WeightType::kAffine;
    for (const TargetRanges& target : kTargets) {
      for (const RowRange& range : target.ranges) {
        routes[count++] = {type,
                           target.target,
                           range.min_rows,
                           range.max_rows,
                           affine ? range.affine_kernel : range.dense_kernel,
                           range.row_tile,
                           affine ? OrderId::kAffineSegments8 : OrderId::kDenseSegments8};
      }
    }
  }
  return routes;
}

constexpr std::array<LinearRoute, kNumRoutes> kRoutes = MakeRoutes();

}  // namespace

std::span<const LinearRoute> LinearRoutes() { return kRoutes; }

const LinearRoute* FindLinearRoute(WeightType type, std::string_view target, int num_rows,
                                   std::string_view forced) {
  const LinearRoute* found = nullptr;
  for (const LinearRoute& route : kRoutes) {
    if (route.type != type || route.target != target) continue;
    if (!forced.empty() && route.kernel == forced) return &route;
    if (route.min_rows <= num_rows && num_rows <= route.max_rows) found = &route;
  }
  return found;
}

std::vector<std::string_view> KernelNames() {
  std::vector<std::string_view> names;
  for (const LinearRoute& route : kRoutes) {
    if (std::find(names.begin(), names.end(), route.kernel) == names.end()) {
      names.push_back(route.kernel);
    }
  }
  return names;
}

Status CheckForcedRoute(std::string_view kernel) {
  const std::vector<std::string_view> names = KernelNames();
  if (kernel.empty() || std::find(names.begin(), names.end(), kernel) != names.end()) return {};
  return MakeError(StatusCode::kInvalidArgument, "VERBATIM_FORCE_ROUTE",
                   fmt::format("one of {}", fmt::join(names, ", ")), fmt::format("\"{}\"", kernel));
}

}  // namespace verbatim::ops
