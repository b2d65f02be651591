// A row's logits are looked at once and forgotten.
#include "measure/flip_rows.h"

#include <cmath>
#include <cstddef>
#include <string_view>

#include "base/check.h"
#include "numerics/argmax.h"

namespace verbatim {
namespace {

// The standard library's: 64 bits, and nobody stores it.
uint64_t HashOf(std::span<const float> logits) {
  const auto bytes = std::as_bytes(logits);
  return std::hash<std::string_view>{}(
      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});  // NOLINT
}

float At(std::span<const float> logits, int32_t id) { return logits[static_cast<size_t>(id)]; }

}  // namespace

ChainRow ChainRowOf(std::span<const float> logits) {
  VERBATIM_CHECK(logits.size() >= 2);
  ChainRow row = {.best = numerics::Argmax(logits), .hash = HashOf(logits)};
  row.second = row.best == 0 ? 1 : 0;
  for (size_t id = 0; id < logits.size(); ++id) {
    const auto candidate = static_cast<int32_t>(id);
    if (candidate != row.best && logits[id] > At(logits, row.second)) row.second = candidate;
  }
  row.gap = At(logits, row.best) - At(logits, row.second);
  return row;
}

BlockRow BlockRowOf(const ChainRow& chain, std::span<const float> logits) {
  BlockRow row = {.best = chain.best, .equal_bytes = HashOf(logits) == chain.hash};
  if (row.equal_bytes) return row;
  row.best = numerics::Argmax(logits);
  row.gap_change = std::abs(At(logits, chain.best) - At(logits, chain.second) - chain.gap);
  return row;
}

Expected<std::vector<ChainRow>> ScoreChain(Engine& engine, std::span<const int32_t> ids,
                                           const std::function<Status()>& on_row) {
  std::vector<ChainRow> rows;
  ScoreRequest request = {.token_ids = {ids.begin(), ids.end()}, .width = 1};
  request.on_row = [&](std::span<const float> logits, std::span<const float>) {
    rows.push_back(ChainRowOf(logits));
    return on_row();
  };
  VERBATIM_RETURN_IF_ERROR(engine.Score(request).status());
  return rows;
}

Expected<std::vector<BlockRow>> ScoreBlocks(Engine& engine, std::span<const int32_t> ids, int width,
                                            std::span<const ChainRow> chain,
                                            const std::function<Status()>& on_row) {
  std::vector<BlockRow> rows;
  ScoreRequest request = {.token_ids = {ids.begin(), ids.end()}, .width = width};
  request.on_row = [&](std::span<const float> logits, std::span<const float>) {
    rows.push_back(BlockRowOf(chain[rows.size()], logits));
    return on_row();
  };
  VERBATIM_RETURN_IF_ERROR(engine.Score(request).status());
  return rows;
}

}  // namespace verbatim
