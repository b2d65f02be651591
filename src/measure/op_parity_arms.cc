// Comparison value by value; random inputs of three sizes.
#include "measure/op_parity_arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/half.h"
#include "measure/random_values.h"

namespace verbatim::parity {
namespace {

// Calls of one case leave at most this many records: 64 rows, a few calls each.
constexpr size_t kLogCapacity = 1024;

size_t ElementBytes(Element element) { return element == Element::kBf16 ? 2 : 4; }

float ToFloat(Element element, const std::byte* bytes) {
  if (element == Element::kBf16) {
    uint16_t half = 0;
    std::memcpy(&half, bytes, sizeof(half));
    return Bf16ToFloat(half);
  }
  float value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

bool SameElement(Element element, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, ElementBytes(element)) == 0) return true;
  return element != Element::kId && std::isnan(ToFloat(element, a)) &&
         std::isnan(ToFloat(element, b));
}

uint64_t Distance(Element element, const std::byte* a, const std::byte* b) {
  if (element == Element::kId) return 0;
  const uint64_t steps = UlpDistance(ToFloat(element, a), ToFloat(element, b));
  // Neighbours in bfloat16 are 2^16 apart in binary32.
  return element == Element::kBf16 && steps != kUlpOfNan ? steps >> 16 : steps;
}

int64_t DifferingBytes(const std::byte* a, const std::byte* b, size_t count) {
  int64_t differing = 0;
  for (size_t i = 0; i < count; ++i) differing += a[i] != b[i] ? 1 : 0;
  return differing;
}

std::string Shown(Element element, const std::byte* bytes) {
  if (element == Element::kId) {
    int32_t id = 0;
    std::memcpy(&id, bytes, sizeof(id));
    return fmt::format("{}", id);
  }
  const float value = ToFloat(element, bytes);
  return fmt::format("{:.9g} (0x{:08x})", value, std::bit_cast<uint32_t>(value));
}

void AddRoute(const ops::DispatchRecord& record, std::vector<ServedBy>& routes) {
  const auto same = [&](const ServedBy& known) {
    return known.op == record.op && known.family == record.family &&
           known.kernel == record.kernel && known.order == record.order &&
           known.split == record.split;
  };
  if (std::ranges::any_of(routes, same)) return;
  routes.push_back({.op = record.op,
                    .family = std::string(record.family),
                    .kernel = std::string(record.kernel),
                    .order = record.order,
                    .split = record.split});
}

// A fold has no counterpart among single rows, which leave no records to fold.
bool HasCounterpart(ops::Op op) { return op != ops::Op::kFoldRecords; }

// Every call of an op in one arm takes the route of every call of it in the other.
bool RoutesAgree(std::span<const ops::DispatchRecord> block,
                 std::span<const ops::DispatchRecord> single) {
  for (const ops::DispatchRecord& a : block) {
    if (a.order == ops::OrderId::kUnknown) return false;
    if (!HasCounterpart(a.op)) continue;
    bool met = false;
    for (const ops::DispatchRecord& b : single) {
      if (a.op != b.op) continue;
      met = true;
      if (!ops::SameRoute(a, b)) return false;
    }
    if (!met) return false;
  }
  return !block.empty() && !single.empty();
}

}  // namespace

WidthRecorder::WidthRecorder(int width) {
  result_.width = width;
  result_.differing_row_bytes.assign(static_cast<size_t>(width), 0);
}

template <typename Place>
int64_t WidthRecorder::Compare(int seed, Element element, std::span<const std::byte> block,
                               std::span<const std::byte> single, const Place& place) {
  VERBATIM_CHECK(block.size() == single.size());
  if (block.empty() || std::memcmp(block.data(), single.data(), block.size()) == 0) return 0;
  const size_t bytes = ElementBytes(element);
  int64_t differing = 0;
  for (size_t i = 0; i + bytes <= block.size(); i += bytes) {
    const std::byte* a = &block[i];
    const std::byte* b = &single[i];
    if (SameElement(element, a, b)) continue;
    differing += DifferingBytes(a, b, bytes);
    result_.max_ulp = std::max(result_.max_ulp, Distance(element, a, b));
    if (result_.first) continue;
    result_.first = {.seed = seed,
                     .place = place(i / bytes),
                     .block = Shown(element, a),
                     .single = Shown(element, b)};
  }
  return differing;
}

void WidthRecorder::AddDigests(Element element, std::span<const std::byte> block,
                               std::span<const std::byte> single, bool equal) {
  const auto add = [element](std::span<const std::byte> bytes, Sha256& digest) {
    if (element != Element::kF32) return digest.Update(bytes);
    digest.UpdateFloats({reinterpret_cast<const float*>(bytes.data()), bytes.size() / 4});
  };
  // One pass over both arms: equal bytes have equal digests.
  Sha256 part;
  add(single, part);
  const Sha256Bytes single_part = part.Finish();
  Sha256Bytes block_part = single_part;
  if (!equal) {
    add(block, part);
    block_part = part.Finish();
  }
  single_digest_.Update(std::as_bytes(std::span(single_part)));
  block_digest_.Update(std::as_bytes(std::span(block_part)));
}

void WidthRecorder::AddRows(int seed, Element element, std::span<const std::byte> block,
                            std::span<const std::byte> single) {
  const size_t row_bytes = block.size() / static_cast<size_t>(result_.width);
  ++result_.comparisons;
  result_.row_bytes += static_cast<int64_t>(row_bytes);
  bool equal = true;
  for (int row = 0; row < result_.width; ++row) {
    const size_t at = static_cast<size_t>(row) * row_bytes;
    const int64_t differing =
        Compare(seed, element, block.subspan(at, row_bytes), single.subspan(at, row_bytes),
                [row](size_t index) { return fmt::format("row {}, value {}", row, index); });
    result_.differing_row_bytes[static_cast<size_t>(row)] += differing;
    equal &= differing == 0;
  }
  AddDigests(element, block, single, equal);
}

void WidthRecorder::AddState(int seed, Element element, std::span<const std::byte> block,
                             std::span<const std::byte> single, std::string_view after) {
  const int64_t differing = Compare(seed, element, block, single, [after](size_t index) {
    return fmt::format("state, value {} after {}", index, after);
  });
  result_.state_bytes += static_cast<int64_t>(block.size());
  result_.differing_state_bytes += differing;
  AddDigests(element, block, single, differing == 0);
}

void WidthRecorder::AddRoutes(const ops::DispatchLog& block, const ops::DispatchLog& single) {
  VERBATIM_CHECK(block.num_seen() == static_cast<int64_t>(block.records().size()));
  VERBATIM_CHECK(single.num_seen() == static_cast<int64_t>(single.records().size()));
  for (const ops::DispatchRecord& record : block.records()) AddRoute(record, result_.block.routes);
  for (const ops::DispatchRecord& record : single.records()) {
    AddRoute(record, result_.single.routes);
  }
  result_.same_route &= RoutesAgree(block.records(), single.records());
}

WidthParity WidthRecorder::Finish() {
  result_.block.sha256 = block_digest_.HexDigest();
  result_.single.sha256 = single_digest_.HexDigest();
  return std::move(result_);
}

CaseRun::CaseRun(ops::Backend& used_backend, std::span<const int> all_widths, int seeds)
    : backend(used_backend), num_seeds(seeds), block_log(kLogCapacity), single_log(kLogCapacity) {
  for (const int width : all_widths) {
    widths.emplace_back(width);
    max_width = std::max(max_width, width);
  }
}

void CompareRows(CaseRun& run, int seed, Element element, int64_t row_bytes, const RunRows& rows) {
  const auto bytes = static_cast<size_t>(row_bytes);
  std::vector<std::byte> single(bytes * static_cast<size_t>(run.max_width));
  std::vector<std::byte> block(single.size());
  run.single_log.Clear();
  run.backend.SetDispatchLog(&run.single_log);
  for (int row = 0; row < run.max_width; ++row) {
    rows(row, 1, &single[bytes * static_cast<size_t>(row)]);
  }
  run.backend.SetDispatchLog(&run.block_log);
  for (WidthRecorder& width : run.widths) {
    run.block_log.Clear();
    rows(0, width.width(), block.data());
    const size_t size = bytes * static_cast<size_t>(width.width());
    width.AddRows(seed, element, std::span(block).first(size), std::span(single).first(size));
    if (!run.on_host) width.AddRoutes(run.block_log, run.single_log);
  }
  run.backend.SetDispatchLog(nullptr);
}

void FillInputs(uint64_t stream, int seed, int64_t row, std::span<float> values) {
  const uint64_t own =
      RandomWord(RandomWord(stream, static_cast<uint64_t>(seed)), static_cast<uint64_t>(row));
  const uint64_t sizes = RandomWord(own, 1);
  int exponent = 0;  // of the whole row
  if (seed % 3 == 1) exponent = static_cast<int>(sizes % 41);
  // Groups of values around 2^-100 are those that a quantized linear takes for zero (numerics.md
  // 2).
  if (seed % 3 == 2) exponent = -static_cast<int>(sizes % 121);
  const float size = std::ldexp(1.0f, exponent);
  const uint64_t values_stream = RandomWord(own, 2);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t word = RandomWord(values_stream, i);
    // The sum of two uniform numbers: values near zero are the most frequent.
    const auto low = static_cast<float>(static_cast<int32_t>(word)) * 0x1p-31f;
    const auto high = static_cast<float>(static_cast<int32_t>(word >> 32)) * 0x1p-31f;
    const float outlier = (i * 0x9e3779b1u) % 64 == 0 ? 30.0f : 1.0f;
    values[i] = (low + high) * outlier * size;
  }
}

std::vector<float> RandomInputs(uint64_t stream, int seed, int64_t rows, int64_t width) {
  std::vector<float> values(static_cast<size_t>(rows * width));
  for (int64_t row = 0; row < rows; ++row) {
    FillInputs(
        stream, seed, row,
        std::span(values).subspan(static_cast<size_t>(row * width), static_cast<size_t>(width)));
  }
  return values;
}

Expected<DeviceVector> DeviceInputs(ops::Backend& backend, uint64_t stream, int seed, int64_t rows,
                                    int64_t width) {
  return DeviceVector::From(backend, RandomInputs(stream, seed, rows, width));
}

std::vector<float> RandomNormWeight(uint64_t stream, int64_t width) {
  std::vector<float> values(static_cast<size_t>(width));
  for (size_t i = 0; i < values.size(); ++i) values[i] = RandomFloat(stream, i, 0.5f, 1.5f);
  return values;
}

}  // namespace verbatim::parity

namespace verbatim {
namespace {

// Order-preserving: -0 and +0 are neighbours.
int64_t Ordered(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return (bits & 0x80000000u) != 0 ? -1 - static_cast<int64_t>(bits & 0x7fffffffu)
                                   : static_cast<int64_t>(bits);
}

}  // namespace

uint64_t UlpDistance(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : kUlpOfNan;
  const int64_t steps = Ordered(a) - Ordered(b);
  return static_cast<uint64_t>(steps < 0 ? -steps : steps);
}

}  // namespace verbatim
