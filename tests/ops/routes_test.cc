// The table of routes: complete, without overlap, one order of sums for each type.
#include "ops/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace verbatim::ops {
namespace {

using testing::HasSubstr;

constexpr WeightType kTypes[] = {WeightType::kF32, WeightType::kBF16, WeightType::kF16,
                                 WeightType::kAffine};
constexpr std::string_view kTargets[] = {"scalar",     "avx2", "avx512",
                                         "avx512vnni", "neon", "neon_dotprod"};

TEST(Routes, EveryTypeAndTargetCoversAllRowCountsOnce) {
  size_t seen = 0;
  for (const WeightType type : kTypes) {
    for (const std::string_view target : kTargets) {
      std::vector<LinearRoute> routes;
      for (const LinearRoute& route : LinearRoutes()) {
        if (route.type == type && route.target == target) routes.push_back(route);
      }
      std::sort(routes.begin(), routes.end(),
                [](const auto& a, const auto& b) { return a.min_rows < b.min_rows; });
      ASSERT_FALSE(routes.empty()) << target;
      seen += routes.size();
      EXPECT_EQ(routes.front().min_rows, 1);
      EXPECT_EQ(routes.back().max_rows, kUnlimitedRows);
      for (size_t i = 0; i < routes.size(); ++i) {
        EXPECT_LE(routes[i].min_rows, routes[i].max_rows);
        EXPECT_GE(routes[i].row_tile, 1);
        if (i > 0) {
          EXPECT_EQ(routes[i].min_rows, routes[i - 1].max_rows + 1);
        }
      }
    }
  }
  EXPECT_EQ(seen, LinearRoutes().size()) << "a route of an unknown type or target";
}

TEST(Routes, AllRoutesOfATypeHaveOneOrder) {
  std::map<WeightType, std::set<OrderId>> orders;
  for (const LinearRoute& route : LinearRoutes()) orders[route.type].insert(route.order);
  for (const auto& [type, ids] : orders) EXPECT_EQ(ids.size(), 1u);
}

// The backend looks up bf16 for every dense type.
TEST(Routes, DenseTypesHaveTheSameRoutes) {
  for (const LinearRoute& route : LinearRoutes()) {
    if (route.type == WeightType::kAffine) continue;
    const LinearRoute* bf16 = FindLinearRoute(WeightType::kBF16, route.target, route.min_rows);
    ASSERT_NE(bf16, nullptr);
    EXPECT_EQ(bf16->kernel, route.kernel);
    EXPECT_EQ(bf16->max_rows, route.max_rows);
  }
}

TEST(Routes, LookupFindsTheRangeUnlessForced) {
  EXPECT_EQ(FindLinearRoute(WeightType::kAffine, "avx512", 1)->kernel, "affine_rows_1");
  EXPECT_EQ(FindLinearRoute(WeightType::kAffine, "avx512", 4)->kernel, "affine_rows_4");
  EXPECT_EQ(FindLinearRoute(WeightType::kAffine, "avx512", 5000)->kernel, "affine_rows_8");
  EXPECT_EQ(FindLinearRoute(WeightType::kF16, "scalar", 5)->kernel, "dense_rows_2");
  EXPECT_EQ(FindLinearRoute(WeightType::kAffine, "avx512", 16, "affine_rows_1")->kernel,
            "affine_rows_1");
  // A forced kernel that the target or the type lacks leaves the table's choice.
  EXPECT_EQ(FindLinearRoute(WeightType::kAffine, "avx2", 16, "affine_rows_8")->kernel,
            "affine_rows_4");
  EXPECT_EQ(FindLinearRoute(WeightType::kBF16, "avx512", 1, "affine_rows_8")->kernel,
            "dense_rows_1");
  EXPECT_EQ(FindLinearRoute(WeightType::kBF16, "vax", 1), nullptr);
}

TEST(Routes, AnUnknownForcedKernelIsAnErrorThatListsTheKnownOnes) {
  EXPECT_TRUE(CheckForcedRoute("").ok());
  for (const std::string_view name : KernelNames()) EXPECT_TRUE(CheckForcedRoute(name).ok());
  const Status status = CheckForcedRoute("affine_rows_7");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("[VERBATIM_FORCE_ROUTE] expected one of dense_rows_1"));
  EXPECT_THAT(status.message(), HasSubstr("received \"affine_rows_7\""));
}

}  // namespace
}  // namespace verbatim::ops
