// Targets: names, what features allow, and the choice between option, environment and the best.
#include "backend/cpu/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/cpu/cpu_backend.h"

namespace verbatim::cpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Targets, FollowFromFeatures) {
  EXPECT_THAT(TargetsFor({}), ElementsAre(Target::kScalar));
  EXPECT_THAT(TargetsFor({.avx2 = true}), ElementsAre(Target::kScalar, Target::kAvx2));
  EXPECT_THAT(TargetsFor({.avx2 = true, .avx512 = true}),
              ElementsAre(Target::kScalar, Target::kAvx2, Target::kAvx512));
  EXPECT_THAT(TargetsFor({.avx2 = true, .avx512 = true, .avx512_vnni = true}),
              ElementsAre(Target::kScalar, Target::kAvx2, Target::kAvx512, Target::kAvx512Vnni));
  EXPECT_THAT(TargetsFor({.neon = true}), ElementsAre(Target::kScalar, Target::kNeon));
  EXPECT_THAT(TargetsFor({.neon = true, .neon_dotprod = true}),
              ElementsAre(Target::kScalar, Target::kNeon, Target::kNeonDotprod));
}

// The compiler's own reading of cpuid knows nothing of ours.
TEST(Targets, DetectionAgreesWithTheCompilers) {
#if defined(__x86_64__)
  const CpuFeatures features = DetectCpuFeatures();
  EXPECT_EQ(features.avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(features.avx512,
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512cd"));
  EXPECT_EQ(features.avx512_vnni, features.avx512 && __builtin_cpu_supports("avx512vnni"));
#endif
}

TEST(Targets, OptionWinsOverEnvironmentWinsOverBest) {
  const std::vector<Target> available = {Target::kScalar, Target::kAvx2};
  EXPECT_EQ(*ChooseTarget("", "", available), Target::kAvx2);
  EXPECT_EQ(*ChooseTarget("", "scalar", available), Target::kScalar);
  EXPECT_EQ(*ChooseTarget("avx2", "scalar", available), Target::kAvx2);
}

TEST(Targets, UnknownNamesListTheKnownOnes) {
  const std::vector<Target> available = {Target::kScalar};
  const auto chosen = ChooseTarget("", "sse9", available);
  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(
      chosen.status().message(),
      "[VERBATIM_TARGET] expected one of scalar, avx2, avx512, avx512vnni, neon, neon_dotprod, "
      "received \"sse9\"");
}

TEST(Targets, UnavailableOnesSayWhatTheProcessorHas) {
  const std::vector<Target> available = {Target::kScalar, Target::kAvx2};
  const auto chosen = ChooseTarget("avx512", "", available);
  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(chosen.status().message(), HasSubstr("this processor has (scalar, avx2)"));
  EXPECT_THAT(chosen.status().message(), HasSubstr("\"avx512\"; try avx2"));
  EXPECT_THAT(ChooseTarget("neon", "", available).status().message(),
              HasSubstr("this processor has (scalar, avx2), received \"neon\"; try avx2"));
}

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    const char* old = std::getenv(name);
    if (old != nullptr) old_ = old;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (old_.empty()) {
      unsetenv(name_);
    } else {
      setenv(name_, old_.c_str(), 1);
    }
  }

 private:
  const char* name_;
  std::string old_;
};

TEST(CpuBackend, EnvironmentForcesTargetAndRoute) {
  {
    const Environment target("VERBATIM_TARGET", "scalar");
    const auto backend = CreateCpuBackend({});
    ASSERT_TRUE(backend.ok());
    EXPECT_EQ((*backend)->target(), "scalar");
    EXPECT_EQ((*backend)->name(), "cpu");
  }
  {
    const Environment target("VERBATIM_TARGET", "mmx");
    EXPECT_EQ(CreateCpuBackend({}).status().code(), StatusCode::kInvalidArgument);
  }
  {
    const Environment route("VERBATIM_FORCE_ROUTE", "affine_rows_2");
    EXPECT_TRUE(CreateCpuBackend({}).ok());
  }
  const Environment route("VERBATIM_FORCE_ROUTE", "affine_rows_3");
  const auto backend = CreateCpuBackend({});
  ASSERT_FALSE(backend.ok());
  EXPECT_EQ(backend.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(backend.status().message(), HasSubstr("affine_rows_2, affine_rows_4"));
}

TEST(CpuBackend, RefusesNoThreads) {
  EXPECT_EQ(CreateCpuBackend({.num_threads = 0}).status().code(), StatusCode::kInvalidArgument);
}

TEST(CpuBackend, EveryAvailableTargetCanBeCreated) {
  for (const std::string& target : AvailableTargets()) {
    const auto backend = CreateCpuBackend({.target = target});
    ASSERT_TRUE(backend.ok());
    EXPECT_EQ((*backend)->target(), target);
  }
}

}  // namespace
}  // namespace verbatim::cpu
