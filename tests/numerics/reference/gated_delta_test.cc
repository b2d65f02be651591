// The reference gated delta rule: golden vectors of qwen3_5.md section 10, a binary64 recurrence,
// and items 9 and 17 to 24 of section 9.
#include "numerics/reference/gated_delta.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "numerics/elementary.h"
#include "numerics/reference/norm.h"
#include "tests/numerics/splitmix.h"

namespace verbatim::reference {
namespace {

// f(n, s)[i] = sin(0.7 (i + 1) + s), the inputs of the golden vectors.
std::vector<float> Wave(int n, double s) {
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = static_cast<float>(std::sin(0.7 * (i + 1) + s));
  return values;
}

// Item 9: taps are oldest first; x before the start is zero.
TEST(ConvSilu, GoldenVector) {
  const float x[] = {0, 0, 0, 1, 2, 3, 4, 5};
  const float w[] = {0.1f, 0.2f, 0.3f, 0.4f};
  const double want[] = {0.2394751, 0.8252861, 1.7615942, 2.8577224, 3.9280552};
  for (int t = 0; t < 5; ++t) EXPECT_NEAR(ConvSilu(x + t, w), want[t], 1e-6) << t;
}

TEST(ConvSilu, AbsentInputsTakePart) {
  const float x[] = {0, 0, 0, 1};
  const float w[] = {std::numeric_limits<float>::infinity(), 0, 0, 1};
  EXPECT_TRUE(std::isnan(ConvSilu(x, w))) << "0 * inf: absent inputs are +0, not skipped";
}

// Items 22 to 24: large and small a and dt stay finite; the decay underflows to exactly +0.
TEST(ComputeGates, Extremes) {
  const Gates strong = ComputeGates(80.0f, 0.0f, 1.0f, 0.0f);
  EXPECT_EQ(strong.decay, 0.0f);
  EXPECT_EQ(strong.beta, 0.5f);
  EXPECT_EQ(ComputeGates(100.0f, 0.0f, 20.0f, 30.0f).decay, 0.0f);
  EXPECT_EQ(ComputeGates(-200.0f, 0.0f, 1.0f, 0.0f).decay, 1.0f);
  EXPECT_EQ(ComputeGates(std::numeric_limits<float>::infinity(), 0, 1, 0).decay, 0.0f);
  // The threshold: g = -44 is kept, anything below is not (softplus(x) = x for these).
  EXPECT_EQ(ComputeGates(44.0f, 0, 1, 0).decay, Exp(-44.0f));
  EXPECT_EQ(ComputeGates(std::nextafter(44.0f, 45.0f), 0, 1, 0).decay, 0.0f);
  EXPECT_GT(Exp(-44.0f), 0x1p-64f);
}

class Golden : public testing::Test {
 protected:
  static constexpr int kTokens = 3, kHeads = 2, kKeyDim = 4, kValueDim = 2;
  std::vector<float> q = Wave(12, 0), k = Wave(12, 1), v = Wave(12, 2);  // q, k [T][1][Dk]
  std::vector<float> a = Wave(6, 3), b = Wave(6, 4);                     // [T][Hv]
  const float decay_rate[2] = {1.0f, static_cast<float>(std::exp(1.0))};
  const float dt_bias[2] = {0.5f, -0.5f};
  std::vector<float> state = std::vector<float>(kHeads * kKeyDim * kValueDim, 0.0f);
  std::vector<float> out = std::vector<float>(12);  // [T][Hv][Dv]

  void Run() {
    float khat[kKeyDim], qhat[kKeyDim], d[kValueDim];
    for (int t = 0; t < kTokens; ++t) {
      L2Norm(&k[t * kKeyDim], kKeyDim, khat);
      L2NormScaled(&q[t * kKeyDim], kKeyDim, 0.5f, qhat);
      for (int h = 0; h < kHeads; ++h) {
        const int at = t * kHeads + h;
        const Gates gates = ComputeGates(a[at], b[at], decay_rate[h], dt_bias[h]);
        GatedDeltaStep(
            {kKeyDim, kValueDim, khat, qhat, &v[at * kValueDim], gates.beta, gates.decay},
            &state[h * kKeyDim * kValueDim], &out[at * kValueDim], d);
      }
    }
  }
};

TEST_F(Golden, Gates) {
  const double g[] = {-.6783404, -.5719775, -.5027354, -.8777481, -1.1133143, -2.3125041};
  const double beta[] = {.2689565, .3158814, .4545849, .621075, .7186955, .7192472};
  for (int i = 0; i < 6; ++i) {
    const Gates gates = ComputeGates(a[i], b[i], decay_rate[i % 2], dt_bias[i % 2]);
    EXPECT_NEAR(gates.decay, std::exp(g[i]), 2e-7) << i;
    EXPECT_NEAR(gates.beta, beta[i], 2e-7) << i;
  }
}

// Item 18: decay before the write, read after it, beta on the whole delta.
TEST_F(Golden, OutputsAndFinalState) {
  Run();
  const double o[] = {.0323318, -.019332, -.0727041, -.0885094, -.0989277, -.0108247,
                      .106195,  .1792145, .1948766,  .0944252,  -.0580444, -.1819083};
  const double s[] = {.4149406,  .1719353,  .4573416,  .2015759, .2846477,  .1364122,
                      -.0219205, .0070917,  -.1267953, -.366931, -.1384236, -.4128815,
                      -.0849491, -.2646474, .0084782,  .0080546};
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(out[i], o[i], 3e-7) << i;
  for (int i = 0; i < 16; ++i) EXPECT_NEAR(state[i], s[i], 3e-7) << i;
}

TEST_F(Golden, GatedNorm) {
  Run();
  const std::vector<float> z = Wave(12, 5);
  const float w[] = {.5f, 1.5f};
  const double want[] = {-.1221355, -.067085, -.2206932, -1.1960461, -.3870383, -.0285656,
                         -.0639196, -.47892,  -.1688123, -.1831338,  -.0152712, -1.0130499};
  for (int i = 0; i < 12; i += 2) {
    float y[2];
    reference::GatedNorm(&out[i], &z[i], w, 2, 1e-6f, y);
    EXPECT_NEAR(y[0], want[i], 2e-6) << i;
    EXPECT_NEAR(y[1], want[i + 1], 2e-6) << i;
  }
}

// One head's random run of `tokens` tokens; keeps what each step left behind.
struct HeadRun {
  static constexpr int kKeyDim = 32, kValueDim = 16;
  struct Token {
    std::vector<float> khat, qhat, val, d;
    float beta, decay;
  };
  std::vector<Token> tokens;
  std::vector<float> state = std::vector<float>(kKeyDim * kValueDim, 0.0f);
  std::vector<float> out;  // [T][Dv]

  HeadRun(int n, uint64_t seed) {
    SplitMix random(seed);
    for (int t = 0; t < n; ++t) {
      Token token{std::vector<float>(kKeyDim),
                  std::vector<float>(kKeyDim),
                  random.Uniforms(kValueDim),
                  std::vector<float>(kValueDim),
                  0,
                  0};
      L2Norm(random.Uniforms(kKeyDim).data(), kKeyDim, token.khat.data());
      L2NormScaled(random.Uniforms(kKeyDim).data(), kKeyDim, 0.17677669f, token.qhat.data());
      const float a = random.Uniform() * 4 - 4;
      const float b = random.Uniform() * 3;
      const Gates gates = ComputeGates(a, b, 0.5f, 0.1f);
      token.beta = gates.beta;
      token.decay = gates.decay;
      tokens.push_back(token);
    }
  }
  void Step(int t) {
    Token& token = tokens[t];
    out.resize((t + 1) * kValueDim);
    GatedDeltaStep({kKeyDim, kValueDim, token.khat.data(), token.qhat.data(), token.val.data(),
                    token.beta, token.decay},
                   state.data(), &out[t * kValueDim], token.d.data());
  }
};

// Items 19 and 20: 4096 tokens stay with a binary64 recurrence, since the state is never rounded
// below binary32.
TEST(GatedDelta, LongRunAgreesWithBinary64) {
  HeadRun run(4096, 1);
  std::vector<double> state(run.state.size(), 0.0);
  for (int t = 0; t < 4096; ++t) {
    run.Step(t);
    const HeadRun::Token& token = run.tokens[t];
    for (int v = 0; v < HeadRun::kValueDim; ++v) {
      double mem = 0, out = 0;
      for (int k = 0; k < HeadRun::kKeyDim; ++k) {
        state[k * HeadRun::kValueDim + v] *= token.decay;
        mem += state[k * HeadRun::kValueDim + v] * token.khat[k];
      }
      for (int k = 0; k < HeadRun::kKeyDim; ++k) {
        double& s = state[k * HeadRun::kValueDim + v];
        s += token.khat[k] * (token.val[v] - mem) * token.beta;
        out += s * token.qhat[k];
      }
      ASSERT_NEAR(run.out[t * HeadRun::kValueDim + v], out, 2e-6) << t;
    }
  }
  for (size_t i = 0; i < state.size(); ++i) EXPECT_NEAR(run.state[i], state[i], 2e-6);
}

// Replay is rollback: folding a step's record gives the bytes that the step gave (item 21: the
// second piece goes on from the first piece's state).
TEST(GatedDelta, FoldingTheRecordsGivesTheSameState) {
  HeadRun run(200, 2);
  std::vector<float> folded = run.state;
  for (int t = 0; t < 200; ++t) {
    run.Step(t);
    const HeadRun::Token& token = run.tokens[t];
    FoldRecord(HeadRun::kKeyDim, HeadRun::kValueDim, token.khat.data(), token.d.data(), token.decay,
               folded.data());
    ASSERT_EQ(folded, run.state) << t;
  }
}

// A zero decay forgets the state altogether, and leaves no denormal behind.
TEST(GatedDelta, ZeroDecayForgets) {
  HeadRun run(2, 3), fresh(2, 3);
  run.Step(0);
  run.tokens[1].decay = fresh.tokens[1].decay = 0.0f;
  run.Step(1);
  fresh.Step(1);
  EXPECT_EQ(run.state, fresh.state);
}

}  // namespace
}  // namespace verbatim::reference
