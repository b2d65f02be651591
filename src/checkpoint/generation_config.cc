// Key by key, each with its range.
#include "checkpoint/generation_config.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "checkpoint/json.h"

namespace verbatim {
namespace {

class Reader {
 public:
  Reader(const JsonFields& fields, GenerationDefaults& defaults)
      : fields_(fields), defaults_(defaults) {}

  // A number in [low, high] as binary32, which must not make it 0 unless it is.
  Status Number(std::string_view key, double low, double high, float& out) {
    if (!fields_.Has(key)) return {};
    VERBATIM_ASSIGN_OR_RETURN(const double value, fields_.Number(key));
    if (!(value >= low && value <= high)) {
      return MakeError(StatusCode::kCorrupt, fields_.Where(key), fmt::format("{} to {}", low, high),
                       fmt::format("{}", value));
    }
    out = static_cast<float>(value);
    defaults_.fields.emplace_back(key);
    return {};
  }

 private:
  const JsonFields& fields_;
  GenerationDefaults& defaults_;
};

}  // namespace

Expected<GenerationDefaults> ParseGenerationDefaults(const nlohmann::json& config,
                                                     const std::string& where) {
  const JsonFields fields(config, where);
  GenerationDefaults defaults;
  SamplingOptions& sampling = defaults.sampling;
  Reader reader(fields, defaults);
  // transformers refuses penalties of 0 and below; the smallest number keeps l / r finite enough.
  VERBATIM_RETURN_IF_ERROR(reader.Number("repetition_penalty", std::numeric_limits<float>::min(),
                                         kMaxPenalty, sampling.repetition_penalty));
  bool sample = false;
  if (fields.Has("do_sample")) {
    VERBATIM_ASSIGN_OR_RETURN(sample, fields.Bool("do_sample"));
    defaults.fields.emplace_back("do_sample");
  }
  // Checked even if not used: a file that is wrong is wrong.
  float temperature = 1;
  VERBATIM_RETURN_IF_ERROR(reader.Number("temperature", 0, kMaxTemperature, temperature));
  if (temperature != 0 && temperature < kMinTemperature) temperature = kMinTemperature;
  if (sample) sampling.temperature = temperature;
  if (fields.Has("top_k")) {
    VERBATIM_ASSIGN_OR_RETURN(sampling.top_k,
                              fields.Integer("top_k", 0, std::numeric_limits<int32_t>::max()));
    defaults.fields.emplace_back("top_k");
  }
  VERBATIM_RETURN_IF_ERROR(reader.Number("top_p", 0, 1, sampling.top_p));
  VERBATIM_RETURN_IF_ERROR(reader.Number("min_p", 0, 1, sampling.min_p));
  return defaults;
}

}  // namespace verbatim
