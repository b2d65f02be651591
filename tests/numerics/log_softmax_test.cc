// Candidate keys and the gathering of the best. Log-probabilities are in argmax_test.cc.
#include "numerics/log_softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/numerics/splitmix.h"

namespace verbatim::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(CandidateKey, OrdersByLogitThenByLowerId) {
  const std::vector<float> ascending = {-kInf, -3e38F, -1, -1e-45F, 0, 1e-45F, 1, 3e38F, kInf};
  for (size_t i = 0; i + 1 < ascending.size(); ++i) {
    EXPECT_LT(CandidateKey(ascending[i], 0), CandidateKey(ascending[i + 1], 7)) << i;
    EXPECT_GT(CandidateKey(ascending[i], 3), CandidateKey(ascending[i], 4)) << i;
  }
  EXPECT_EQ(CandidateKey(-0.0F, 5), CandidateKey(0.0F, 5));
  EXPECT_EQ(CandidateId(CandidateKey(-2.5F, 248319)), 248319);
}

TEST(GatherBest, EqualsASortForEveryCount) {
  SplitMix random(1);
  for (const int size : {1, 2, 7, 64, 300}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<float> values(size);
      // Few distinct values, so that ties stand at every border; some removed.
      for (float& value : values) {
        value = random.Below(5) == 0 ? -kInf : static_cast<float>(random.Below(9)) - 4;
      }
      std::vector<uint64_t> all;
      for (int i = 0; i < size; ++i) {
        if (values[i] > -kInf) all.push_back(CandidateKey(values[i], i));
      }
      std::ranges::sort(all, std::greater());
      for (const int count : {1, 2, 3, 10, 150, 300, 301}) {
        std::vector<uint64_t> keys;
        GatherBest(values, count, keys);
        std::ranges::sort(keys, std::greater());
        const std::vector<uint64_t> best(all.begin(),
                                         all.begin() + std::min<size_t>(count, all.size()));
        EXPECT_EQ(keys, best) << size << " values, " << count << " best";
      }
    }
  }
}

TEST(SumOfExponentials, OverSomeIdsIsOverAllWithTheOthersRemoved) {
  SplitMix random(2);
  std::vector<float> values = random.Uniforms(1000, 12);
  std::vector<int32_t> ids;
  std::vector<float> others_removed(values.size(), -kInf);
  for (int32_t id = 0; id < 1000; ++id) {
    if (random.Below(3) != 0) continue;
    ids.push_back(id);
    others_removed[id] = values[id];
  }
  EXPECT_EQ(SumOfExponentials(values, ids, 12), SumOfExponentials(others_removed, 12));
}

}  // namespace
}  // namespace verbatim::numerics
