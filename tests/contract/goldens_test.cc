// Logits, hidden states and drafts against Hugging Face transformers (float32) and the training
// code, as the model cards describe the goldens. A tolerance test: the other side rounds
// differently.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "checkpoint/safetensors.h"
#include "numerics/argmax.h"
#include "tests/support/model_harness.h"
#include "tests/support/test_models.h"
#include "verbatim/engine.h"

namespace verbatim::testing {
namespace {

constexpr int kNumPrompts = 6;
constexpr float kMaxLogitDifference = 2e-3f;  // the bound
constexpr float kClearMargin = 1e-2f;         // below it the golden argmax itself is a near-tie

class Goldens {
 public:
  explicit Goldens(const std::filesystem::path& model)
      : file_(*SafetensorsFile::Open(model / "goldens.safetensors")) {}

  template <typename T>
  std::vector<T> Read(const std::string& name) const {
    const TensorInfo& tensor = file_.tensors().at(name);
    std::vector<T> values(tensor.data.size() / sizeof(T));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
  }

 private:
  SafetensorsFile file_;
};

void CheckLogitsAndDrafts(const std::filesystem::path& folder) {
  const Goldens goldens(folder);
  auto engine = Engine::Load(
      {.model = folder.string(), .with_mtp = true, .context = 512, .kv_type = KvCacheType::kF32});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const int64_t vocab = (*engine)->info().vocab_size;
  float worst = 0;
  int64_t clear_drafts = 0;
  for (int p = 0; p < kNumPrompts; ++p) {
    SCOPED_TRACE(p);
    const std::string prefix = std::to_string(p) + ".";
    const auto ids = goldens.Read<int32_t>(prefix + "ids");
    const auto top_ids = goldens.Read<int32_t>(prefix + "logits_top16_ids");
    const auto top_values = goldens.Read<float>(prefix + "logits_top16_values");
    const auto golden_hidden = goldens.Read<float>(prefix + "final_hidden");
    const auto whole = p == 0 ? goldens.Read<float>("0.logits") : std::vector<float>();
    int64_t row = 0;
    float worst_hidden = 0;
    const auto on_row = [&](std::span<const float> logits,
                            std::span<const float> hidden) -> Status {
      for (int i = 0; i < 16; ++i) {
        worst = std::max(worst, std::abs(logits[top_ids[row * 16 + i]] - top_values[row * 16 + i]));
      }
      for (int64_t i = 0; !whole.empty() && i < vocab; ++i) {
        worst = std::max(worst, std::abs(logits[i] - whole[row * vocab + i]));
      }
      for (size_t i = 0; i < hidden.size(); ++i) {
        worst_hidden =
            std::max(worst_hidden, std::abs(hidden[i] - golden_hidden[row * hidden.size() + i]));
      }
      if (top_values[row * 16] - top_values[row * 16 + 1] > kClearMargin) {
        EXPECT_EQ(numerics::Argmax(logits), top_ids[row * 16]) << "row " << row;
      }
      ++row;
      return {};
    };
    const auto result =
        (*engine)->Score({.token_ids = ids, .width = 16, .drafts = true, .on_row = on_row});
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_EQ(row, static_cast<int64_t>(ids.size()));
    EXPECT_LT(worst_hidden, kMaxLogitDifference);

    const auto draft_ids = goldens.Read<int32_t>(prefix + "draft_ids");
    const auto draft_margins = goldens.Read<float>(prefix + "draft_margins");
    ASSERT_EQ(result->drafts.size(), ids.size() - 1);
    for (size_t r = 0; r + 1 < ids.size(); ++r) {
      // A later draft is fed with the earlier ones, so a near-tie makes what follows incomparable.
      for (int depth = 0; depth < 3 && draft_margins[r * 3 + depth] > kClearMargin; ++depth) {
        EXPECT_EQ(result->drafts[r].ids[depth], draft_ids[r * 3 + depth])
            << "row " << r << " draft " << depth;
        ++clear_drafts;
      }
    }
  }
  EXPECT_LE(worst, kMaxLogitDifference);
  EXPECT_GT(clear_drafts, 1000);  // the comparison is not vacuous
  ::testing::Test::RecordProperty("max_logit_difference", std::to_string(worst));
  std::printf("largest logit difference %.2g, %lld drafts compared\n", worst,
              static_cast<long long>(clear_drafts));
}

TEST(Goldens, NanoLogitsAndDrafts) { CheckLogitsAndDrafts(NanoModel()); }

TEST(Goldens, Tiny16BitLogitsAndDrafts) {
  const auto folder = Tiny16BitModel();
  if (!folder) GTEST_SKIP() << kNoTiny16Bit;
  CheckLogitsAndDrafts(*folder);
}

// The residual stream after each layer, to find the layer of a fault.
void CheckLayers(const std::filesystem::path& folder) {
  const Goldens goldens(folder);
  ModelHarness harness(folder, {.kv_type = ops::KvType::kF32});
  const auto ids = goldens.Read<int32_t>("0.ids");
  int layers_seen = 0;
  harness.model->set_layer_observer([&](int layer, const float* residual, int num_rows) {
    ASSERT_EQ(num_rows, static_cast<int>(ids.size()));
    const auto golden = goldens.Read<float>("0.layer" + std::to_string(layer) + "_out");
    float worst = 0;
    for (size_t i = 0; i < golden.size(); ++i) {
      worst = std::max(worst, std::abs(residual[i] - golden[i]));
    }
    EXPECT_LT(worst, kMaxLogitDifference) << "layer " << layer;
    ++layers_seen;
  });
  SequenceState state = harness.NewSequence(ids.size());
  harness.Run(state, ids);
  EXPECT_EQ(layers_seen, harness.checkpoint.config.num_hidden_layers);
}

TEST(Goldens, NanoLayerOutputs) { CheckLayers(NanoModel()); }

TEST(Goldens, Tiny16BitLayerOutputs) {
  const auto folder = Tiny16BitModel();
  if (!folder) GTEST_SKIP() << kNoTiny16Bit;
  CheckLayers(*folder);
}

}  // namespace
}  // namespace verbatim::testing
