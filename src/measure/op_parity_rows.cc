// Cases of the ops whose rows leave no state: norms, elementwise, the largest logit, and what runs
// on the host.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "measure/op_parity_cases.h"
#include "measure/random_values.h"
#include "model/device_vector.h"
#include "numerics/log_softmax.h"
#include "numerics/sampler.h"

namespace verbatim::parity {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
// Streams of random numbers, so that no two tensors of a case are alike.
enum Stream : uint64_t { kX = 101, kZ, kWeight, kLogits };

// Runs `call(first, count, out)` with out in device memory, [count][row_bytes].
template <typename Call>
void CompareCalls(CaseRun& run, int seed, Element element, int64_t row_bytes, void* out,
                  const Call& call) {
  CompareRows(run, seed, element, row_bytes, [&](int first, int count, std::byte* host) {
    call(first, count);
    run.backend.Synchronize();
    run.backend.CopyToHost(host, out, static_cast<size_t>(count * row_bytes));
  });
}

Status RunRmsNorm(CaseRun& run, int64_t width, float eps) {
  VERBATIM_ASSIGN_OR_RETURN(const DeviceVector weight,
                            DeviceVector::From(run.backend, RandomNormWeight(kWeight, width)));
  VERBATIM_ASSIGN_OR_RETURN(const DeviceVector out,
                            DeviceVector::Zeros(run.backend, run.max_width * width));
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    VERBATIM_ASSIGN_OR_RETURN(const DeviceVector x,
                              DeviceInputs(run.backend, kX, seed, run.max_width, width));
    CompareCalls(run, seed, Element::kF32, width * kFloatBytes, out.data(),
                 [&](int first, int count) {
                   run.backend.RmsNorm({.x = x.data() + first * width,
                                        .x_stride = width,
                                        .weight = weight.data(),
                                        .eps = eps,
                                        .num_rows = count,
                                        .width = width,
                                        .out = out.data(),
                                        .out_stride = width});
                 });
  }
  return {};
}

Status RunGatedNorm(CaseRun& run, int num_heads, int head_dim, float eps) {
  const int64_t width = int64_t{num_heads} * head_dim;
  VERBATIM_ASSIGN_OR_RETURN(const DeviceVector weight,
                            DeviceVector::From(run.backend, RandomNormWeight(kWeight, head_dim)));
  VERBATIM_ASSIGN_OR_RETURN(const DeviceVector out,
                            DeviceVector::Zeros(run.backend, run.max_width * width));
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    VERBATIM_ASSIGN_OR_RETURN(const DeviceVector x,
                              DeviceInputs(run.backend, kX, seed, run.max_width, width));
    VERBATIM_ASSIGN_OR_RETURN(const DeviceVector z,
                              DeviceInputs(run.backend, kZ, seed, run.max_width, width));
    CompareCalls(run, seed, Element::kF32, width * kFloatBytes, out.data(),
                 [&](int first, int count) {
                   run.backend.GatedNorm({.x = x.data() + first * width,
                                          .z = z.data() + first * width,
                                          .weight = weight.data(),
                                          .eps = eps,
                                          .num_rows = count,
                                          .num_heads = num_heads,
                                          .head_dim = head_dim,
                                          .out = out.data()});
                 });
  }
  return {};
}

Status RunSiluMul(CaseRun& run, int64_t width) {
  VERBATIM_ASSIGN_OR_RETURN(const DeviceVector out,
                            DeviceVector::Zeros(run.backend, run.max_width * width));
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    VERBATIM_ASSIGN_OR_RETURN(const DeviceVector gate,
                              DeviceInputs(run.backend, kX, seed, run.max_width, width));
    VERBATIM_ASSIGN_OR_RETURN(const DeviceVector up,
                              DeviceInputs(run.backend, kZ, seed, run.max_width, width));
    CompareCalls(run, seed, Element::kF32, width * kFloatBytes, out.data(),
                 [&](int first, int count) {
                   run.backend.SiluMul({.gate = gate.data() + first * width,
                                        .up = up.data() + first * width,
                                        .num_rows = count,
                                        .width = width,
                                        .out = out.data()});
                 });
  }
  return {};
}

// Logits with ties and, in one row of four of the first seed, a NaN.
std::vector<float> RandomLogits(int seed, int64_t rows, int64_t vocab_size, bool with_nan) {
  std::vector<float> logits = RandomInputs(kLogits, seed, rows, vocab_size);
  for (int64_t row = 0; row < rows; ++row) {
    float* values = &logits[static_cast<size_t>(row * vocab_size)];
    const float best = *std::max_element(values, values + vocab_size);
    values[RandomWord(kLogits, static_cast<uint64_t>(row)) % static_cast<uint64_t>(vocab_size)] =
        best;
    if (with_nan && seed == 0 && row % 4 == 3) {
      values[vocab_size / 2] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  return logits;
}

Status RunBestLogits(CaseRun& run, int64_t vocab_size) {
  std::vector<ops::BestLogit> best(static_cast<size_t>(run.max_width));
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    VERBATIM_ASSIGN_OR_RETURN(
        const DeviceVector logits,
        DeviceVector::From(run.backend, RandomLogits(seed, run.max_width, vocab_size, true)));
    CompareRows(run, seed, Element::kId, 2 * sizeof(int32_t),
                [&](int first, int count, std::byte* out) {
                  run.backend.BestLogits({.logits = logits.data() + first * vocab_size,
                                          .num_rows = count,
                                          .vocab_size = vocab_size,
                                          .num_choosable = vocab_size - vocab_size / 64,
                                          .best = best.data()});
                  for (int row = 0; row < count; ++row) {
                    const int32_t words[] = {best[static_cast<size_t>(row)].id,
                                             best[static_cast<size_t>(row)].has_nan ? 1 : 0};
                    std::memcpy(out + row * sizeof(words), words, sizeof(words));
                  }
                });
  }
  return {};
}

Status RunLogSoftmax(CaseRun& run, int64_t vocab_size) {
  const auto width = static_cast<size_t>(vocab_size);
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    const std::vector<float> logits = RandomLogits(seed, run.max_width, vocab_size, false);
    // All of a block's rows lie in one array; a single row lies in its own.
    CompareRows(
        run, seed, Element::kF32, 3 * kFloatBytes, [&](int first, int count, std::byte* out) {
          for (int row = 0; row < count; ++row) {
            const auto values =
                std::span(logits).subspan(width * static_cast<size_t>(first + row), width);
            const std::vector<float> alone(count == 1 ? values.begin() : values.end(),
                                           values.end());
            const auto softmax = numerics::LogSoftmax::Of(count == 1 ? std::span(alone) : values);
            const float results[] = {softmax.max, softmax.log_sum,
                                     softmax.LogProbability(values[width / 3])};
            std::memcpy(out + row * sizeof(results), results, sizeof(results));
          }
        });
  }
  return {};
}

// The choices of a block: one sampler walks over its rows and takes each draft in before the next,
// as the engine does; it then takes the drafts back. A single row: a new sampler with the tokens so
// far and scratch of its own.
Status RunSampler(CaseRun& run, int64_t vocab_size) {
  const auto width = static_cast<size_t>(vocab_size);
  const std::vector<int32_t> prompt = {1, 2, 3, 3, 5};
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    const SamplingOptions options{.repetition_penalty = 1.1f,
                                  .frequency_penalty = 0.2f,
                                  .presence_penalty = 0.1f,
                                  .temperature = seed % 2 == 0 ? 0.8f : 1.3f,
                                  .top_k = seed % 2 == 0 ? 40 : 0,
                                  .top_p = seed % 3 == 0 ? 0.95f : 1.0f,
                                  .min_p = seed % 3 == 1 ? 0.02f : 0.0f,
                                  .seed = static_cast<uint64_t>(seed)};
    const numerics::SamplerLimits limits{
        .vocab_size = vocab_size, .num_choosable = vocab_size, .max_output = run.max_width + 1};
    std::vector<float> logits = RandomInputs(kLogits, seed, run.max_width, vocab_size);
    // The logits of a model: sizes that leave several tokens a chance.
    if (seed % 3 != 0) {
      for (size_t i = 0; i < logits.size(); ++i) logits[i] = RandomFloat(kLogits, i, -9.0f, 9.0f);
    }
    const auto row = [&](int index) {
      return std::span<const float>(logits).subspan(width * static_cast<size_t>(index), width);
    };
    const auto draft = [&](int index) {
      return static_cast<int32_t>(RandomWord(kX, static_cast<uint64_t>(index)) %
                                  static_cast<uint64_t>(vocab_size));
    };
    numerics::SamplerScratch shared(vocab_size);
    numerics::Sampler block(options, limits, prompt);
    CompareRows(
        run, seed, Element::kId, sizeof(int32_t), [&](int first, int count, std::byte* out) {
          const auto store = [&](int index, int32_t choice) {
            std::memcpy(out + static_cast<size_t>(index) * sizeof(choice), &choice, sizeof(choice));
          };
          if (count == 1) {
            numerics::SamplerScratch scratch(vocab_size);
            numerics::Sampler single(options, limits, prompt);
            for (int i = 0; i < first; ++i) single.Push(draft(i));
            store(0, single.Choose(row(first), {}, scratch, nullptr));
            return;
          }
          for (int i = 0; i < count; ++i) {
            store(i, block.Choose(row(i), {}, shared, nullptr));
            block.Push(draft(i));
          }
          for (int i = count; i > 0; --i) block.Pop(draft(i - 1));
        });
  }
  return {};
}

std::string LogitsOf(int64_t used, int64_t all) {
  return used == all ? fmt::format("{} logits", all) : fmt::format("{} of {} logits", used, all);
}

}  // namespace

void AddRowCases(const ModelShapes& model, const Budget& budget, const Wanted& wanted,
                 std::vector<Case>& cases) {
  if (model.hidden_size == 0) return;
  const auto add = [&](const std::string& op, const std::string& what, const std::string& shape,
                       auto run) {
    if (!wanted(op)) return;
    cases.push_back({.description = {.op = op, .model = model.name, .what = what, .shape = shape},
                     .needs = {},
                     .run = std::move(run)});
  };
  add("rms_norm", "norms", fmt::format("width {}", model.hidden_size),
      [width = model.hidden_size, eps = model.eps](CaseRun& run) {
        return RunRmsNorm(run, width, eps);
      });
  if (model.recurrent) {
    const ops::RecurrentLayout& layout = *model.recurrent;
    add("gated_norm", "linear_attn.norm",
        fmt::format("{} heads of {}", layout.num_value_heads, layout.value_head_dim),
        [layout, eps = model.eps](CaseRun& run) {
          return RunGatedNorm(run, layout.num_value_heads, layout.value_head_dim, eps);
        });
  }
  if (model.silu_width > 0) {
    add("silu_mul", "mlp", fmt::format("width {}", model.silu_width),
        [width = model.silu_width](CaseRun& run) { return RunSiluMul(run, width); });
  }
  const int64_t logits = std::min(model.vocab_size, budget.max_logits);
  add("best_logits", "greedy choice", LogitsOf(logits, model.vocab_size),
      [logits](CaseRun& run) { return RunBestLogits(run, logits); });
}

void AddHostCases(const ModelShapes& model, const Wanted& wanted, std::vector<Case>& cases) {
  if (model.vocab_size == 0) return;
  // The 64 lanes of the sum and the filters go by ids: 512 rounds of lanes are as good as 4000, and
  // 8 times as fast.
  constexpr int64_t kMaxHostLogits = 32768;
  const int64_t logits = std::min(model.vocab_size, kMaxHostLogits);
  const auto add = [&](const std::string& op, const std::string& what, auto run) {
    if (!wanted(op)) return;
    cases.push_back({.description = {.op = op,
                                     .model = model.name,
                                     .what = what,
                                     .shape = LogitsOf(logits, model.vocab_size)},
                     .needs = {},
                     .run = std::move(run)});
  };
  add("log_softmax", "log-probabilities",
      [logits](CaseRun& run) { return RunLogSoftmax(run, logits); });
  add("sampler", "temperature, filters, penalties",
      [logits](CaseRun& run) { return RunSampler(run, logits); });
}

}  // namespace verbatim::parity
