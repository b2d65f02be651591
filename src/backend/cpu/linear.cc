// Cutting a linear into row tiles and tasks, and preparing its activations.
#include "backend/cpu/linear.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace verbatim::cpu {
namespace {

constexpr std::array<int, 3> kGroupSizes = {32, 64, 128};

// Another thread's help should be worth a few barriers (2 us each). The kernels do about 50
// products a cycle at some 3 cycles a ns, so 5 us are 800,000 products; unpacking a tile costs
// about as much as one row of it.
constexpr int64_t kMinHelpedProducts = 800'000;
// Taking a task costs some 50 ns: a quarter of the above is 25 times as much.
constexpr int64_t kMinTaskProducts = kMinHelpedProducts / 4;
// Weights that stay in cache while several row tiles use them: a quarter of a small L2 (256 KiB to
// 2 MiB). A row tile's activations (8 * K bytes or 32 * K) then serve the whole run, and outputs
// are stored in longer pieces.
constexpr int64_t kRunBytes = 64 * 1024;
// Tasks per thread, so that a thread that falls behind leaves little undone.
constexpr int64_t kTasksPerThread = 16;
// Quantizing a value costs about 0.25 ns: 32,768 values are 8 us, above which rows are spread over
// threads.
constexpr int64_t kMinParallelValues = 32'768;
// Dequantizing a value of an embedding costs about the same.
constexpr int64_t kMinParallelEmbedValues = kMinParallelValues;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

const PackedLinear& Packed(const ops::PreparedLinear* weights) {
  return static_cast<const PackedLinear&>(*weights);  // a backend gets only what it prepared
}

int64_t NumTiles(const ops::LinearTask& task) { return CeilDiv(task.width(), kTileOutputs); }

int64_t PaddedFeatures(int64_t in_features) { return CeilDiv(in_features, kChunk) * kChunk; }

}  // namespace

struct LinearRunner::Call {
  const ops::LinearArgs& args;
  int64_t in_features;
  const ops::LinearRoute* affine_route;
  const ops::LinearRoute* dense_route;
  RowTiles affine_rows;
  RowTiles dense_rows;

  const RowTiles& rows(int kind) const { return kind == kDenseKind ? dense_rows : affine_rows; }
};

LinearRunner::LinearRunner(Target target, const LinearKernels& kernels, ThreadPool& pool,
                           std::string forced_route)
    : target_(target), kernels_(kernels), pool_(pool), forced_route_(std::move(forced_route)) {}

int LinearRunner::KindOf(const PackedLinear& weights) {
  if (weights.format().type != WeightType::kAffine) return kDenseKind;
  return weights.group_size() == 32 ? 0 : weights.group_size() == 64 ? 1 : 2;
}

void LinearRunner::Reserve(int max_rows, int64_t max_in_features) {
  const size_t rows = static_cast<size_t>(max_rows);
  const size_t padded = static_cast<size_t>(PaddedFeatures(max_in_features));
  for (int kind = 0; kind < kDenseKind; ++kind) {
    xq_[kind] = AlignedBuffer<int8_t>(rows * padded);
    x_scales_[kind] = AlignedBuffer<float>(rows * 2 * (padded / kGroupSizes[kind]));
  }
  x_dense_ = AlignedBuffer<float>(rows * padded);
  max_rows_ = max_rows;
  max_in_features_ = max_in_features;
}

void LinearRunner::PrepareRow(const Call& call, int kind, int row) {
  const RowTiles& rows = call.rows(kind);
  const int tile = rows.tile_of(row);
  const int row_tile = rows.size(tile);
  const int64_t first = rows.first(tile);
  const int64_t lane = row - first;
  const float* x = call.args.x + row * call.args.x_stride;
  if (kind != kDenseKind) {
    const int64_t num_groups = call.in_features / kGroupSizes[kind];
    kernels_.quantize_row(x, num_groups, kGroupSizes[kind], row_tile,
                          xq_[kind].data() + first * call.in_features + 4 * lane,
                          x_scales_[kind].data() + first * 2 * num_groups + lane);
    return;
  }
  const int64_t padded = PaddedFeatures(call.in_features);
  float* out = x_dense_.data() + first * padded + 2 * lane;
  for (int64_t k = 0; k + 1 < call.in_features; k += 2) {
    std::memcpy(out + k * row_tile, x + k, 2 * sizeof(float));
  }
  if (call.in_features % 2 != 0) {
    out[(call.in_features - 1) * row_tile] = x[call.in_features - 1];
  }
  for (int64_t k = call.in_features; k < padded; ++k) {
    out[(k - k % 2) * row_tile + k % 2] = 0.0f;  // the padding takes part (numerics.md 1)
  }
}

void LinearRunner::RunTaskTiles(const Call& call, const ops::LinearTask& task, int64_t begin,
                                int64_t end) const {
  const PackedLinear& weights = Packed(task.weights);
  const int kind = KindOf(weights);
  const RowTiles& rows = call.rows(kind);
  const bool dense = kind == kDenseKind;
  const auto& kernels = dense ? kernels_.dense[static_cast<size_t>(weights.format().type)]
                              : kernels_.affine[static_cast<size_t>(weights.format().bits)];
  LinearTile tile;
  tile.tile_bytes = weights.tile_bytes();
  tile.num_groups = weights.num_groups();
  tile.group_size = weights.group_size();
  tile.scale_type = weights.format().scale_type;
  tile.out_stride = task.out_stride;
  // With one row tile the kernel walks all tiles; else a run of tiles meets one row tile after the
  // other.
  const int64_t run_limit =
      rows.count == 1 ? end - begin : std::max<int64_t>(1, kRunBytes / weights.tile_bytes());
  for (int64_t index = begin; index < end; index += run_limit) {
    const int64_t run = std::min(run_limit, end - index);
    const int64_t first_output = index * kTileOutputs;
    tile.weights = weights.tile(index);
    tile.num_tiles = static_cast<int>(run);
    tile.num_outputs = task.width() - first_output;
    for (int t = 0; t < rows.count; ++t) {
      const int64_t row = rows.first(t);
      if (dense) {
        tile.x = x_dense_.data() + row * PaddedFeatures(call.in_features);
      } else {
        tile.xq = xq_[kind].data() + row * call.in_features;
        tile.x_scales = x_scales_[kind].data() + row * 2 * tile.num_groups;
      }
      const int64_t place = row * task.out_stride + first_output;
      tile.out = task.out + place;
      tile.residual = task.residual == nullptr ? nullptr : task.residual + place;
      kernels[static_cast<size_t>(rows.size(t) - 1)](tile);
    }
  }
}

void LinearRunner::RunTiles(const Call& call, int64_t begin, int64_t end) const {
  int64_t first = 0;  // index of the task's first tile among the tiles of the call
  for (const ops::LinearTask& task : call.args.tasks) {
    const int64_t num_tiles = NumTiles(task);
    const int64_t from = std::max(begin - first, int64_t{0});
    const int64_t to = std::min(end - first, num_tiles);
    if (from < to) RunTaskTiles(call, task, from, to);
    first += num_tiles;
  }
}

void LinearRunner::Log(const Call& call, int num_tasks) {
  for (const ops::LinearTask& task : call.args.tasks) {
    const bool dense = task.weights->format().type != WeightType::kAffine;
    const ops::LinearRoute& route = dense ? *call.dense_route : *call.affine_route;
    log_->Add({.op = ops::Op::kLinear,
               .family = route.family,
               .kernel = route.kernel,
               .order = route.order,
               .split = kNumSegments,
               .format = task.weights->format(),
               .num_rows = call.args.num_rows,
               .out_features = task.weights->out_features(),
               .in_features = task.weights->in_features(),
               .num_row_tiles = dense ? call.dense_rows.count : call.affine_rows.count,
               .num_tasks = num_tasks});
  }
}

void LinearRunner::Run(const ops::LinearArgs& args) {
  if (args.tasks.empty()) return;
  const int num_rows = args.num_rows;
  const std::string_view target = TargetName(target_);
  // Every dense type has the same row ranges; the type matters for the kernel's code alone.
  const auto* affine_route =
      ops::FindLinearRoute(WeightType::kAffine, target, num_rows, forced_route_);
  const auto* dense_route =
      ops::FindLinearRoute(WeightType::kBF16, target, num_rows, forced_route_);
  const Call call = {args,
                     args.tasks.front().weights->in_features(),
                     affine_route,
                     dense_route,
                     RowTiles(num_rows, affine_route->row_tile),
                     RowTiles(num_rows, dense_route->row_tile)};
  VERBATIM_CHECK(num_rows >= 1 && num_rows <= max_rows_);
  VERBATIM_CHECK(call.in_features <= max_in_features_);

  std::array<int, kNumKinds> kinds;
  int num_kinds = 0;
  int64_t num_tiles = 0;
  for (const ops::LinearTask& task : args.tasks) {
    const PackedLinear& weights = Packed(task.weights);
    VERBATIM_CHECK(weights.in_features() == call.in_features);
    VERBATIM_CHECK(task.num_outputs % kTileOutputs == 0);
    const int kind = KindOf(weights);
    if (std::find(kinds.begin(), kinds.begin() + num_kinds, kind) == kinds.begin() + num_kinds) {
      kinds[num_kinds++] = kind;
    }
    num_tiles += NumTiles(task);
  }

  const int64_t num_items = int64_t{num_kinds} * num_rows;
  const int64_t items_per_task = CeilDiv(kMinParallelValues, call.in_features);
  pool_.Run(CeilDiv(num_items, items_per_task), [&](int64_t task, int) {
    const int64_t end = std::min(num_items, (task + 1) * items_per_task);
    for (int64_t item = task * items_per_task; item < end; ++item) {
      PrepareRow(call, kinds[item / num_rows], static_cast<int>(item % num_rows));
    }
  });

  const int64_t tile_products = call.in_features * kTileOutputs * (num_rows + 1);
  const int64_t products = num_tiles * tile_products;
  const int64_t most_tasks =
      products < kMinHelpedProducts ? 1 : kTasksPerThread * pool_.num_threads();
  const int64_t tiles_per_task =
      std::max(CeilDiv(kMinTaskProducts, tile_products), CeilDiv(num_tiles, most_tasks));
  const int64_t num_tasks = CeilDiv(num_tiles, tiles_per_task);
  // The pool gives a thread tasks that lie side by side in memory: one stream of weights.
  pool_.Run(num_tasks, [&](int64_t task, int) {
    RunTiles(call, task * tiles_per_task, std::min(num_tiles, (task + 1) * tiles_per_task));
  });
  if (log_ != nullptr) Log(call, static_cast<int>(num_tasks));
}

void LinearRunner::Embed(const ops::EmbedArgs& args) {
  const PackedLinear& table = Packed(args.table);
  const WeightFormat& format = table.format();
  const EmbedRowKernel kernel = format.type == WeightType::kAffine
                                    ? kernels_.embed_affine[static_cast<size_t>(format.bits)]
                                    : kernels_.embed_dense[static_cast<size_t>(format.type)];
  const int64_t num_rows = static_cast<int64_t>(args.ids.size());
  const int64_t rows_per_task = CeilDiv(kMinParallelEmbedValues, table.in_features());
  if (log_ != nullptr) {
    ops::DispatchRecord record;
    record.op = ops::Op::kEmbed;
    record.family = record.kernel = ops::OpName(record.op);
    record.format = format;
    record.num_rows = static_cast<int>(num_rows);
    record.out_features = table.in_features();
    log_->Add(record);
  }
  pool_.Run(CeilDiv(num_rows, rows_per_task), [&](int64_t task, int) {
    const int64_t end = std::min(num_rows, (task + 1) * rows_per_task);
    for (int64_t row = task * rows_per_task; row < end; ++row) {
      const int64_t id = args.ids[static_cast<size_t>(row)];
      VERBATIM_CHECK(id >= 0 && id < table.out_features());
      kernel(table.tile(id / kTileOutputs), static_cast<int>(id % kTileOutputs),
             table.in_features(), table.group_size(), format.scale_type,
             args.out + row * args.out_stride);
    }
  });
}

}  // namespace verbatim::cpu
