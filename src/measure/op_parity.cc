// One backend per case, target after target; what the report says of its cases.
#include "measure/op_parity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <numeric>
#include <utility>

#include "backend/create_backend.h"
#include "base/float_environment.h"
#include "measure/op_parity_cases.h"

namespace verbatim {
namespace {

using parity::Budget;
using parity::Case;
using parity::CaseRun;

constexpr std::array<std::string_view, 11> kAllOps = {
    "linear",      "embed",          "rms_norm",  "gated_norm",
    "silu_mul",    "rope_and_cache", "attention", "conv_and_gated_delta",
    "best_logits", "log_softmax",    "sampler"};

Status Check(const OpParityOptions& options) {
  for (const std::string& op : options.ops) {
    if (std::ranges::find(kAllOps, op) != kAllOps.end()) continue;
    return MakeError(StatusCode::kInvalidArgument, "ops",
                     fmt::format("{}", fmt::join(kAllOps, ", ")), op);
  }
  for (size_t i = 0; i < options.widths.size(); ++i) {
    const int width = options.widths[i];
    if (width >= 1 && width <= kMaxParityWidth && (i == 0 || options.widths[i - 1] < width))
      continue;
    return MakeError(StatusCode::kInvalidArgument, "widths",
                     fmt::format("ascending numbers from 1 to {}", kMaxParityWidth),
                     fmt::format("{}", fmt::join(options.widths, ", ")));
  }
  if (options.num_seeds < 1) {
    return MakeError(StatusCode::kInvalidArgument, "seeds", "at least 1",
                     fmt::format("{}", options.num_seeds));
  }
  return {};
}

class Runner {
 public:
  explicit Runner(const OpParityOptions& options) : options_(options) {
    report_.contract = options.contract;
    report_.num_threads = options.num_threads;
    report_.num_seeds = options.num_seeds;
    report_.widths = options.widths;
    if (report_.widths.empty()) {
      report_.widths.resize(32);
      std::iota(report_.widths.begin(), report_.widths.end(), 1);
    }
  }

  Expected<OpParityReport> Run() {
    const auto start = std::chrono::steady_clock::now();
    if (options_.model.empty()) {
      models_ = parity::PublishedShapes();
    } else {
      VERBATIM_ASSIGN_OR_RETURN(parity::ModelShapes shapes, parity::ShapesOfModel(options_.model));
      models_.push_back(std::move(shapes));
    }
    std::vector<std::string> targets = options_.targets;
    if (targets.empty()) targets.emplace_back();
    // Names first: a target that is not there is an error before anything runs.
    std::vector<std::pair<std::string, std::vector<Case>>> parts;
    for (const std::string& target : targets) {
      VERBATIM_ASSIGN_OR_RETURN(const auto backend, MakeBackend(target));
      report_.targets.emplace_back(backend->target());
      parts.emplace_back(report_.targets.back(), CasesOf(parity::BudgetOf(backend->target())));
    }
    parts.emplace_back("host", HostCases());
    size_t total = 0;
    for (const auto& [target, cases] : parts) total += cases.size();
    for (const auto& [target, cases] : parts) {
      for (const Case& one : cases) {
        if (options_.stop && options_.stop()) {
          return MakeError(StatusCode::kCancelled, "parity ops", "to finish", "a request to stop");
        }
        if (options_.progress) {
          options_.progress(static_cast<double>(report_.cases.size()) / static_cast<double>(total),
                            fmt::format("{} {}", target, one.description.op));
        }
        VERBATIM_RETURN_IF_ERROR(RunCase(target, one));
      }
    }
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  Expected<std::unique_ptr<ops::Backend>> MakeBackend(const std::string& target) const {
    return CreateBackend(
        {.contract = options_.contract, .num_threads = options_.num_threads, .target = target});
  }

  parity::Wanted WantedOps() const {
    return [this](std::string_view op) {
      return options_.ops.empty() || std::ranges::find(options_.ops, op) != options_.ops.end();
    };
  }

  std::vector<Case> CasesOf(const Budget& budget) const {
    std::vector<Case> cases;
    for (const parity::ModelShapes& model : models_) {
      parity::AddLinearCases(model, budget, WantedOps(), cases);
      parity::AddRowCases(model, budget, WantedOps(), cases);
      parity::AddAttentionCases(model, budget, WantedOps(), cases);
      parity::AddGatedDeltaCases(model, budget, WantedOps(), cases);
    }
    return cases;
  }

  std::vector<Case> HostCases() const {
    std::vector<Case> cases;
    for (const parity::ModelShapes& model : models_) {
      const bool known =
          std::ranges::any_of(models_.begin(), models_.begin() + (&model - models_.data()),
                              [&](const parity::ModelShapes& earlier) {
                                return earlier.vocab_size == model.vocab_size;
                              });
      if (!known) parity::AddHostCases(model, WantedOps(), cases);
    }
    return cases;
  }

  // A backend of its own, so that no case depends on what ran before, and its memory goes with it.
  Status RunCase(const std::string& target, const Case& one) {
    const bool on_host = target == "host";
    VERBATIM_ASSIGN_OR_RETURN(const std::unique_ptr<ops::Backend> backend,
                              MakeBackend(on_host ? std::string() : target));
    ops::WorkspaceNeeds needs = one.needs;
    needs.max_rows = report_.widths.back();
    VERBATIM_RETURN_IF_ERROR(backend->Reserve(needs));
    CaseRun run(*backend, report_.widths, options_.num_seeds);
    run.on_host = on_host;
    VERBATIM_RETURN_IF_ERROR(one.run(run));
    OpParityCase& result = report_.cases.emplace_back(one.description);
    result.target = target;
    result.asserted = options_.contract != ContractMode::kGreedy || result.op != "linear";
    for (WidthRecorder& width : run.widths) result.widths.push_back(width.Finish());
    return {};
  }

  using WidthRecorder = parity::WidthRecorder;

  const OpParityOptions& options_;
  std::vector<parity::ModelShapes> models_;
  OpParityReport report_;
};

}  // namespace

std::span<const std::string_view> ParityOpNames() { return kAllOps; }

std::string_view ParityVerdictName(ParityVerdict verdict) {
  switch (verdict) {
    case ParityVerdict::kRoute:
      return "route";
    case ParityVerdict::kDiffers:
      return "differs";
    case ParityVerdict::kEqual:
      break;
  }
  return "equal";
}

int64_t WidthParity::differing_bytes() const {
  return std::accumulate(differing_row_bytes.begin(), differing_row_bytes.end(),
                         differing_state_bytes);
}

ParityVerdict WidthParity::verdict() const {
  if (differing_bytes() != 0) return ParityVerdict::kDiffers;
  return same_route ? ParityVerdict::kEqual : ParityVerdict::kRoute;
}

bool OpParityCase::equal() const {
  return std::ranges::all_of(
      widths, [](const WidthParity& width) { return width.verdict() == ParityVerdict::kEqual; });
}

bool OpParityReport::Holds() const {
  return std::ranges::all_of(cases,
                             [](const OpParityCase& one) { return !one.asserted || one.equal(); });
}

int64_t OpParityReport::comparisons() const {
  int64_t sum = 0;
  for (const OpParityCase& one : cases) {
    for (const WidthParity& width : one.widths) sum += width.comparisons;
  }
  return sum;
}

int64_t OpParityReport::bytes() const {
  int64_t sum = 0;
  for (const OpParityCase& one : cases) {
    for (const WidthParity& width : one.widths) sum += width.bytes();
  }
  return sum;
}

Expected<OpParityReport> RunOpParity(const OpParityOptions& options) {
  const FloatEnvironment environment;
  VERBATIM_RETURN_IF_ERROR(Check(options));
  return Runner(options).Run();
}

namespace parity {

Budget BudgetOf(std::string_view target) {
  // Chosen by timing whole default runs on 2 cores: the linears are most of it, scalar ones first.
  if (target == "scalar") {
    return {.linear_products = int64_t{16} * 8192,
            .max_kv_heads = 1,
            .max_key_heads = 2,
            .max_logits = int64_t{1} << 16};
  }
  const bool wide = target.starts_with("avx512");
  return {.linear_products = int64_t{wide ? 256 : 128} * 8192,
          .max_kv_heads = 4,
          .max_key_heads = wide ? 16 : 8,
          .max_logits = int64_t{1} << 20};
}

}  // namespace parity
}  // namespace verbatim
