// The probe: equal where the promise is kept, and every kind of break is caught, in bytes and in
// the dispatch record.
#include "engine/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "base/temporary_folder.h"
#include "checkpoint/quantize.h"
#include "engine/instrumented_engine.h"
#include "tests/support/breaking_backend.h"
#include "tests/support/model_harness.h"
#include "tests/support/sample_size.h"
#include "tests/support/test_models.h"

namespace verbatim::testing {
namespace {

using ::testing::HasSubstr;

// A model behind a tracing backend behind a broken one.
class Probed {
 public:
  Probed(const std::filesystem::path& folder, const BackendWrapper& wrap)
      : harness_(folder, {.num_threads = 2,
                          .context = 256,
                          .max_sequences = 1,
                          .wrap = [&](std::unique_ptr<ops::Backend> backend) {
                            if (wrap) backend = wrap(std::move(backend));
                            auto tracing = std::make_unique<TracingBackend>(std::move(backend));
                            tracing_ = tracing.get();
                            return tracing;
                          }}) {}

  ProbeReport Run(uint64_t seed, double budget_ms = 1e6) {
    return RunProbe(*tracing_, *harness_.model, harness_.caches,
                    {.max_step_rows = 64, .budget_ms = budget_ms, .seed = seed});
  }

 private:
  TracingBackend* tracing_ = nullptr;
  ModelHarness harness_;
};

TEST(Probe, AModelThatKeepsThePromiseIsEqual) {
  for (const auto& folder : {NanoModel(), TinyQuantizedModel()}) {
    Probed probed(folder, {});
    const ProbeReport report = probed.Run(1);
    EXPECT_EQ(report.verdict, ProbeVerdict::kEqual) << report.detail;
    EXPECT_GT(report.linear_shapes, 3);
    EXPECT_GT(report.outputs_compared, 100'000);
    EXPECT_GT(report.rows_walked, 90);
  }
}

TEST(Probe, ASlowMachineWalksFewerLayersAndWidths) {
  Probed probed(TinyQuantizedModel(), {});
  const ProbeReport whole = probed.Run(1);
  const ProbeReport part = probed.Run(1, /*budget_ms=*/0);
  EXPECT_EQ(part.verdict, ProbeVerdict::kEqual) << part.detail;
  EXPECT_LT(part.layers_walked, whole.layers_walked);
  EXPECT_GE(part.layers_walked, 4);  // three gated delta layers, then attention
  EXPECT_LT(part.rows_walked, whole.rows_walked);
  // And leaves the model whole.
  EXPECT_EQ(probed.Run(1).layers_walked, whole.layers_walked);
}

struct Break {
  std::string text;  // as VERBATIM_BREAK gives it
  std::string op;
};

// Every op, with its own kernel for blocks, and from the ninth row on. Bytes alone must tell.
std::vector<Break> BreaksThatBytesShow() {
  std::vector<Break> breaks;
  for (size_t i = 0; i < ops::kNumOps; ++i) {
    const std::string op(ops::OpName(static_cast<ops::Op>(i)));
    for (const char* where : {"blocks", "ninth-row", "rare"}) {
      // Choices among equal logits differ in no thousandth.
      if (op == "best_logits" && std::string(where) == "rare") continue;
      breaks.push_back({op + ":" + where + ":silent", op});
    }
  }
  return breaks;
}

// Bytes may agree wherever the probe looks; the record does not.
std::vector<Break> BreaksThatTheRecordShows() {
  std::vector<Break> breaks;
  for (size_t i = 0; i < ops::kNumOps; ++i) {
    const std::string op(ops::OpName(static_cast<ops::Op>(i)));
    if (op == "fold_records") continue;  // single rows fold nothing: no two routes to compare
    for (const char* where : {"sizes", "positions"}) breaks.push_back({op + ":" + where, op});
  }
  return breaks;
}

void ExpectCaught(const Break& planted, const std::filesystem::path& folder, int num_seeds) {
  SCOPED_TRACE(planted.text);
  const auto spec = ParseBreak(planted.text);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  Probed probed(folder, BreakWith(*spec));
  for (int seed = 1; seed <= num_seeds; ++seed) {
    const ProbeReport report = probed.Run(static_cast<uint64_t>(seed));
    EXPECT_EQ(report.verdict, ProbeVerdict::kLocalized) << "seed " << seed << report.detail;
    EXPECT_EQ(report.op, planted.op) << "seed " << seed << ": " << report.detail;
  }
}

int NumSeeds() {
  const char* given = std::getenv("VERBATIM_PROBE_SEEDS");  // 100 in `make test-full`
  return given != nullptr ? std::atoi(given) : static_cast<int>(Sampled(2, 1));
}

TEST(Probe, BytesShowEveryBreak) {
  for (const Break& planted : BreaksThatBytesShow()) ExpectCaught(planted, NanoModel(), NumSeeds());
}

// Matrices of 192 columns have three groups of 64; no model of the repository has an odd number.
TEST(Probe, AnOddNumberOfGroupsIsMet) {
  const auto folder = TemporaryFolder::CreateUnique("verbatim-probe-");
  ASSERT_TRUE(folder.ok());
  const std::filesystem::path model = folder->path() / "nano-4bit";
  QuantizeOptions options;
  options.model = NanoModel().string();
  options.output = model;
  const auto quantized = QuantizeCheckpoint(options);
  ASSERT_TRUE(quantized.ok()) << quantized.status().message();
  ExpectCaught({"linear:odd-groups:silent", "linear"}, model, NumSeeds());
  // The models that have none are equal, as they should be.
  Probed even(NanoModel(), BreakWith(*ParseBreak("linear:odd-groups")));
  EXPECT_EQ(even.Run(1).verdict, ProbeVerdict::kEqual);
}

TEST(Probe, TheRecordShowsWhatInputsCannotMeet) {
  for (const Break& planted : BreaksThatTheRecordShows()) {
    ExpectCaught(planted, NanoModel(), NumSeeds());
    // The negative control of the negative control: without the record, nothing is seen.
    const auto spec = ParseBreak(planted.text + ":silent");
    ASSERT_TRUE(spec.ok());
    Probed silent(NanoModel(), BreakWith(*spec));
    EXPECT_EQ(silent.Run(1).verdict, ProbeVerdict::kEqual) << planted.text;
  }
}

EngineOptions Options(ContractMode contract) {
  EngineOptions options;
  options.model = NanoModel().string();
  options.contract = contract;
  options.num_threads = 1;
  options.context = 256;
  return options;
}

BackendWrapper Broken() { return BreakWith(*ParseBreak("attention:rare")); }

TEST(ProbeAtLoad, ExactHoldsAndSaysWhatWasCompared) {
  const auto engine = Engine::Load(Options(ContractMode::kExact));
  ASSERT_TRUE(engine.ok());
  const EngineInfo& info = (*engine)->info();
  EXPECT_EQ(info.contract_held, ContractMode::kExact);
  EXPECT_EQ(info.probe.verdict, ProbeVerdict::kEqual);
  EXPECT_THAT(info.contract_reason, HasSubstr("had the bytes of single rows"));
}

TEST(ProbeAtLoad, ExactDeclinesToClassicDecode) {
  const auto engine = InstrumentedEngine::Load(Options(ContractMode::kExact), Broken());
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const EngineInfo& info = (*engine)->info();
  EXPECT_EQ(info.contract_held, ContractMode::kOff);
  EXPECT_EQ(info.probe.op, "attention");
  EXPECT_THAT(info.contract_reason, HasSubstr("attention"));
  Request request;
  request.prompt_token_ids = {5, 6, 7};
  request.max_tokens = 8;
  request.ignore_eos = true;
  request.speculation = {.kind = SpeculationKind::kNgram, .draft_tokens = 3};
  const auto result = (*engine)->Generate(request);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->speculation.drafted, 0);
  EXPECT_EQ(result->token_ids.size(), 8u);
}

TEST(ProbeAtLoad, StrictRefusesByName) {
  const auto engine = InstrumentedEngine::Load(Options(ContractMode::kStrict), Broken());
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().code(), StatusCode::kDivergence);
  EXPECT_THAT(engine.status().message(), HasSubstr("[--contract strict]"));
  EXPECT_THAT(engine.status().message(), HasSubstr("attention"));
}

TEST(ProbeAtLoad, ASmallContextAndChunkHaveRoom) {
  EngineOptions options = Options(ContractMode::kStrict);
  options.context = 2;
  options.prefill_chunk = 1;
  const auto engine = Engine::Load(options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
}

TEST(ProbeAtLoad, OffAndGreedyDoNotRunIt) {
  for (const ContractMode mode : {ContractMode::kOff, ContractMode::kGreedy}) {
    const auto engine = Engine::Load(Options(mode));
    ASSERT_TRUE(engine.ok());
    EXPECT_EQ((*engine)->info().probe.verdict, ProbeVerdict::kNotRun);
    EXPECT_FALSE((*engine)->info().probe.detail.empty());
  }
}

TEST(ParseBreak, SaysWhatItKnows) {
  for (const char* text : {"", "linears", "linear:often", "linear:", ":rare"}) {
    const auto spec = ParseBreak(text);
    if (std::string_view(text) == "linear:") continue;  // nothing behind the colon is nothing
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_THAT(spec.status().message(), HasSubstr("VERBATIM_BREAK"));
  }
}

}  // namespace
}  // namespace verbatim::testing
