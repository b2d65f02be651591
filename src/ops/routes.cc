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
  std::string_view kernel;
};

// A kernel with a row tile of R cuts M rows into ceil(M / R) nearly equal tiles. A row tile needs
// accumulators for each row beside the weights. AVX-512 has 32 registers: 8 rows of an int32 and a
// binary32 sum (affine), or of two binary32 chains (dense).
constexpr std::array kWideAffine = {
    RowRange{1, 1, 1, "affine_rows_1"},
    RowRange{2, 2, 2, "affine_rows_2"},
    RowRange{3, 4, 4, "affine_rows_4"},
    RowRange{5, kUnlimitedRows, 8, "affine_rows_8"},
};
constexpr std::array kWideDense = {
    RowRange{1, 1, 1, "dense_rows_1"},
    RowRange{2, 2, 2, "dense_rows_2"},
    RowRange{3, 4, 4, "dense_rows_4"},
    RowRange{5, kUnlimitedRows, 8, "dense_rows_8"},
};
// AVX2 has 16 registers of half the width. Affine kernels take 8 outputs at a time: 4 rows. Two
// chains of 16 outputs are 4 registers a row: 2 rows (4 would spill: 30 instead of 48 products a
// ns). NEON has 32 registers of a quarter of the width: the same dense rows by the same count, and
// 4 outputs of an affine row at a time.
constexpr std::array kNarrowAffine = {
    RowRange{1, 1, 1, "affine_rows_1"},
    RowRange{2, 2, 2, "affine_rows_2"},
    RowRange{3, kUnlimitedRows, 4, "affine_rows_4"},
};
constexpr std::array kNarrowDense = {
    RowRange{1, 1, 1, "dense_rows_1"},
    RowRange{2, kUnlimitedRows, 2, "dense_rows_2"},
};

struct TargetRanges {
  std::string_view target;
  std::span<const RowRange> affine;
  std::span<const RowRange> dense;
};
constexpr std::array kTargets = {
    TargetRanges{"scalar", kNarrowAffine, kNarrowDense},
    TargetRanges{"avx2", kNarrowAffine, kNarrowDense},
    TargetRanges{"avx512", kWideAffine, kWideDense},
    TargetRanges{"avx512vnni", kWideAffine, kWideDense},
    TargetRanges{"neon", kNarrowAffine, kNarrowDense},
    TargetRanges{"neon_dotprod", kNarrowAffine, kNarrowDense},
};

constexpr std::span<const RowRange> RangesOf(WeightType type, const TargetRanges& target) {
  return type == WeightType::kAffine ? target.affine : target.dense;
}

constexpr size_t CountRoutes() {
  size_t count = 0;
  for (const WeightType type : kTypes) {
    for (const TargetRanges& target : kTargets) count += RangesOf(type, target).size();
  }
  return count;
}

constexpr std::array<LinearRoute, CountRoutes()> MakeRoutes() {
  std::array<LinearRoute, CountRoutes()> routes{};
  size_t count = 0;
  for (const WeightType type : kTypes) {
    const OrderId order =
        type == WeightType::kAffine ? OrderId::kAffineSegments8 : OrderId::kDenseSegments8;
    for (const TargetRanges& target : kTargets) {
      for (const RowRange& range : RangesOf(type, target)) {
        routes[count++] = {.type = type,
                           .target = target.target,
                           .min_rows = range.min_rows,
                           .max_rows = range.max_rows,
                           .kernel = range.kernel,
                           .family = type == WeightType::kAffine ? "affine" : "dense",
                           .row_tile = range.row_tile,
                           .order = order};
      }
    }
  }
  return routes;
}

constexpr auto kRoutes = MakeRoutes();

}  // namespace

std::string_view OrderName(OrderId order) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "affine-segments-8", "dense-segments-8", "no-sum", "lanes-64",
      "chunks-256",        "delta-chains-4",   "unknown"};
  return kNames[static_cast<size_t>(order)];
}

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
