// Cases of linears and embeddings: a checkpoint's own matrices, or random ones in every format.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "base/half.h"
#include "measure/op_parity_cases.h"
#include "measure/random_values.h"
#include "model/device_vector.h"

namespace verbatim::parity {
namespace {

constexpr int64_t kTile = 16;  // outputs: LinearTask::num_outputs
// Rows of a table from which an embedding is taken: more tiles than threads.
constexpr int64_t kEmbeddingRows = 256;
constexpr int64_t kFloatBytes = sizeof(float);
enum Stream : uint64_t { kX = 201, kResidual, kWeights, kScales, kIds };

// A checkpoint's own format, or every one that a matrix with this K can have.
std::vector<WeightFormat> FormatsOf(const MatrixShape& shape, bool all_group_sizes) {
  if (shape.weights != nullptr) return {shape.weights->format};
  std::vector<WeightFormat> formats;
  for (const int group : {64, 32, 128}) {
    if (shape.in_features % group != 0 || (group != 64 && !all_group_sizes)) continue;
    for (const int bits : {2, 3, 4, 5, 6, 8}) {
      formats.push_back({.type = WeightType::kAffine, .bits = bits, .group_size = group});
    }
  }
  for (const WeightType type : {WeightType::kBF16, WeightType::kF16, WeightType::kF32}) {
    formats.push_back({.type = type});
  }
  return formats;
}

// The first `rows` of a matrix: a view of it, or random values.
struct Slice {
  WeightMatrix matrix;
  std::vector<std::byte> data, scales, biases;  // behind `matrix` if the values are random
};

void AppendHalf(float value, std::vector<std::byte>& bytes) {
  const uint16_t half = FloatToBf16(value);
  const size_t at = bytes.size();
  bytes.resize(at + sizeof(half));
  std::memcpy(&bytes[at], &half, sizeof(half));
}

void FillRandom(int64_t rows, int64_t cols, const WeightFormat& format, Slice& slice) {
  const auto count = static_cast<size_t>(rows * cols);  // a multiple of 64: whole random words
  switch (format.type) {
    case WeightType::kF32: {
      const float most = 1.7f / std::sqrt(static_cast<float>(cols));
      slice.data.resize(4 * count);
      for (size_t i = 0; i < count; ++i) {
        const float value = RandomFloat(kWeights, i, -most, most);
        std::memcpy(&slice.data[4 * i], &value, 4);
      }
      break;
    }
    case WeightType::kBF16:
    case WeightType::kF16:
      slice.data.resize(2 * count);
      RandomHalves(cols, format.type == WeightType::kF16).Fill(kWeights, 0, slice.data);
      break;
    case WeightType::kAffine: {
      slice.data.resize(count * static_cast<size_t>(format.bits) / 8);
      FillRandomBytes(kWeights, 0, slice.data);
      const float middle = static_cast<float>((1 << format.bits) - 1) / 2;
      for (size_t group = 0; group < count / static_cast<size_t>(format.group_size); ++group) {
        const float scale = RandomAffineScale(kScales, group, format.bits, cols);
        AppendHalf(scale, slice.scales);
        AppendHalf(-scale * middle, slice.biases);
      }
      break;
    }
  }
  slice.matrix.data = slice.data;
  slice.matrix.scales = slice.scales;
  slice.matrix.biases = slice.biases;
}

Slice MakeSlice(const MatrixShape& shape, const WeightFormat& format, int64_t rows) {
  Slice slice;
  if (shape.weights != nullptr) {
    slice.matrix = *shape.weights;
    const auto cut = [&](std::span<const std::byte>& bytes) {
      bytes = bytes.first(bytes.size() / static_cast<size_t>(shape.weights->rows) *
                          static_cast<size_t>(rows));
    };
    cut(slice.matrix.data);
    cut(slice.matrix.scales);
    cut(slice.matrix.biases);
  } else {
    FillRandom(rows, shape.in_features, format, slice);
  }
  slice.matrix.name = shape.name;
  slice.matrix.format = format;
  slice.matrix.rows = rows;
  slice.matrix.cols = shape.in_features;
  return slice;
}

// Two linears of one input in one call, as layers have them: all outputs, and a tile of them with a
// residual. The outputs of a row are compared one behind the other. A single tile is not computed
// twice: it has the residual for every other seed.
Status RunLinear(CaseRun& run, const MatrixShape& shape, const WeightFormat& format, int64_t rows) {
  const Slice slice = MakeSlice(shape, format, rows);
  VERBATIM_ASSIGN_OR_RETURN(const std::unique_ptr<ops::PreparedLinear> weights,
                            run.backend.PrepareLinear(slice.matrix));
  const int64_t inputs = shape.in_features;
  const bool both = rows > kTile;
  const int64_t few = both ? kTile : rows;
  VERBATIM_ASSIGN_OR_RETURN(const DeviceVector all,
                            DeviceVector::Zeros(run.backend, run.max_width * rows));
  VERBATIM_ASSIGN_OR_RETURN(const DeviceVector first_few,
                            DeviceVector::Zeros(run.backend, run.max_width * few));
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    VERBATIM_ASSIGN_OR_RETURN(const DeviceVector x,
                              DeviceInputs(run.backend, kX, seed, run.max_width, inputs));
    VERBATIM_ASSIGN_OR_RETURN(const DeviceVector residual,
                              DeviceInputs(run.backend, kResidual, seed, run.max_width, few));
    const int64_t outputs = both ? rows + few : rows;
    CompareRows(
        run, seed, Element::kF32, outputs * kFloatBytes, [&](int first, int count, std::byte* out) {
          const float* addend = residual.data() + first * few;
          const ops::LinearTask tasks[] = {{.weights = weights.get(),
                                            .out = all.data(),
                                            .out_stride = rows,
                                            .residual = !both && seed % 2 == 1 ? addend : nullptr},
                                           {.weights = weights.get(),
                                            .out = first_few.data(),
                                            .out_stride = few,
                                            .residual = addend,
                                            .num_outputs = few}};
          run.backend.Linear({.x = x.data() + first * inputs,
                              .x_stride = inputs,
                              .num_rows = count,
                              .tasks = std::span(tasks).first(both ? 2 : 1)});
          run.backend.Synchronize();
          const auto all_bytes = static_cast<size_t>(rows * kFloatBytes);
          const auto few_bytes = static_cast<size_t>(few * kFloatBytes);
          for (int row = 0; row < count; ++row) {
            run.backend.CopyToHost(out, all.data() + row * rows, all_bytes);
            out += all_bytes;
            if (!both) continue;
            run.backend.CopyToHost(out, first_few.data() + row * few, few_bytes);
            out += few_bytes;
          }
        });
  }
  return {};
}

Status RunEmbed(CaseRun& run, const MatrixShape& shape, const WeightFormat& format, int64_t rows) {
  const Slice slice = MakeSlice(shape, format, rows);
  VERBATIM_ASSIGN_OR_RETURN(const std::unique_ptr<ops::PreparedLinear> table,
                            run.backend.PrepareLinear(slice.matrix));
  const int64_t width = shape.in_features;
  VERBATIM_ASSIGN_OR_RETURN(const DeviceVector embedded,
                            DeviceVector::Zeros(run.backend, run.max_width * width));
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    std::vector<int32_t> ids;
    ids.reserve(static_cast<size_t>(run.max_width));
    for (int row = 0; row < run.max_width; ++row) {
      ids.push_back(static_cast<int32_t>(RandomWord(kIds, CounterOf(seed, row)) %
                                         static_cast<uint64_t>(rows)));
    }
    CompareRows(run, seed, Element::kF32, width * kFloatBytes,
                [&](int first, int count, std::byte* out) {
                  run.backend.Embed({.table = table.get(),
                                     .ids = std::span(ids).subspan(static_cast<size_t>(first),
                                                                   static_cast<size_t>(count)),
                                     .out = embedded.data(),
                                     .out_stride = width});
                  run.backend.Synchronize();
                  run.backend.CopyToHost(out, embedded.data(),
                                         static_cast<size_t>(count * width * kFloatBytes));
                });
  }
  return {};
}

// Matrices of one K and format are one case once only their first outputs are computed: in a kernel
// they differ by nothing else.
struct LinearGroup {
  MatrixShape first;
  WeightFormat format;
  int64_t outputs = 0;          // that are computed
  int64_t least = 0, most = 0;  // that the matrices have
  std::vector<std::string> names;
};

std::string Outputs(const LinearGroup& group) {
  if (group.outputs == group.most) return fmt::format("{} outputs", group.outputs);
  return group.least == group.most
             ? fmt::format("first {} of {} outputs", group.outputs, group.most)
             : fmt::format("first {} of {}..{} outputs", group.outputs, group.least, group.most);
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<LinearGroup> GroupMatrices(const ModelShapes& model, const Budget& budget) {
  std::vector<LinearGroup> groups;
  for (const MatrixShape& shape : model.matrices) {
    const int64_t affordable = budget.linear_products / shape.in_features / kTile * kTile;
    const int64_t outputs = std::min(shape.out_features, std::max(affordable, kTile));
    for (const WeightFormat& format : FormatsOf(shape, model.all_group_sizes)) {
      const auto group = std::ranges::find_if(groups, [&](const LinearGroup& known) {
        return known.first.in_features == shape.in_features && known.format == format &&
               known.outputs == outputs;
      });
      if (group == groups.end()) {
        groups.push_back({.first = shape,
                          .format = format,
                          .outputs = outputs,
                          .least = shape.out_features,
                          .most = shape.out_features,
                          .names = {shape.name}});
        continue;
      }
      group->least = std::min(group->least, shape.out_features);
      group->most = std::max(group->most, shape.out_features);
      if (std::ranges::count(group->names, shape.name) == 0) group->names.push_back(shape.name);
    }
  }
  return groups;
}

}  // namespace

void AddLinearCases(const ModelShapes& model, const Budget& budget, const Wanted& wanted,
                    std::vector<Case>& cases) {
  if (wanted("linear")) {
    for (const LinearGroup& group : GroupMatrices(model, budget)) {
      ops::WorkspaceNeeds needs;
      needs.max_in_features = group.first.in_features;
      cases.push_back({.description = {.op = "linear",
                                       .model = model.name,
                                       .what = Joined(group.names),
                                       .shape = fmt::format("K {}, {}", group.first.in_features,
                                                            Outputs(group)),
                                       .format = FormatName(group.format)},
                       .needs = needs,
                       .run = [group](CaseRun& run) {
                         return RunLinear(run, group.first, group.format, group.outputs);
                       }});
    }
  }
  if (wanted("embed") && model.embedding.out_features > 0) {
    const MatrixShape& table = model.embedding;
    const int64_t rows = std::min(table.out_features, kEmbeddingRows);
    for (const WeightFormat& format : FormatsOf(table, model.all_group_sizes)) {
      ops::WorkspaceNeeds needs;
      needs.max_in_features = table.in_features;
      cases.push_back(
          {.description = {.op = "embed",
                           .model = model.name,
                           .what = "embed_tokens",
                           .shape = fmt::format("width {}, {} of {} rows", table.in_features, rows,
                                                table.out_features),
                           .format = FormatName(format)},
           .needs = needs,
           .run = [table, format, rows](CaseRun& run) {
             return RunEmbed(run, table, format, rows);
           }});
    }
  }
}

}  // namespace verbatim::parity
