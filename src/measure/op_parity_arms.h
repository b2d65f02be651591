// What the cases of RunOpParity share: the run of one case, comparison of two arms, digests and
// routes. Internal to measure/op_parity*.
#ifndef VERBATIM_MEASURE_OP_PARITY_ARMS_H_
#define VERBATIM_MEASURE_OP_PARITY_ARMS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "measure/op_parity.h"
#include "model/device_vector.h"
#include "ops/backend.h"

namespace verbatim::parity {

enum class Element : uint8_t { kF32, kBf16, kId };  // kId: 32 bits that are no number

// Two arms at one width, as they come in.
class WidthRecorder {
 public:
  explicit WidthRecorder(int width);

  // Outputs [width][row_bytes] of one block call and of `width` calls of one row.
  void AddRows(int seed, Element element, std::span<const std::byte> block,
               std::span<const std::byte> single);
  // State that both arms left; `after` says after what, for the place of a difference.
  void AddState(int seed, Element element, std::span<const std::byte> block,
                std::span<const std::byte> single, std::string_view after);
  void AddRoutes(const ops::DispatchLog& block, const ops::DispatchLog& single);
  int width() const { return result_.width; }
  WidthParity Finish();

 private:
  // Differing bytes of two equally long runs; notes the first difference at place(index).
  template <typename Place>
  int64_t Compare(int seed, Element element, std::span<const std::byte> block,
                  std::span<const std::byte> single, const Place& place);
  void AddDigests(Element element, std::span<const std::byte> block,
                  std::span<const std::byte> single, bool equal);

  WidthParity result_;
  Sha256 block_digest_, single_digest_;
};

// One case while it runs.
struct CaseRun {
  ops::Backend& backend;
  int num_seeds = 1;
  int max_width = 1;
  bool on_host = false;               // the backend has no part in it: no routes
  std::vector<WidthRecorder> widths;  // ascending
  ops::DispatchLog block_log, single_log;

  CaseRun(ops::Backend& used_backend, std::span<const int> all_widths, int seeds);
};

// Runs rows [first, first + count) of the seed's inputs in one call; `out` gets [count][row_bytes].
using RunRows = std::function<void(int first, int count, std::byte* out)>;

// For ops whose rows leave no state: all single rows once, then a block of each width over the
// first rows.
void CompareRows(CaseRun& run, int seed, Element element, int64_t row_bytes, const RunRows& rows);

// `values` random numbers of one row: of size 1 with a few channels 30 times as large (as
// activations have them), up to 2^40 times or down to 2^-120 times as large, by seed mod 3.
void FillInputs(uint64_t stream, int seed, int64_t row, std::span<float> values);
// [rows, width]
std::vector<float> RandomInputs(uint64_t stream, int seed, int64_t rows, int64_t width);
// The same in the backend's memory. Errors: those of Allocate.
Expected<DeviceVector> DeviceInputs(ops::Backend& backend, uint64_t stream, int seed, int64_t rows,
                                    int64_t width);

// A counter of RandomWord for the index-th number of a seed.
inline uint64_t CounterOf(int seed, int index) {
  return (static_cast<uint64_t>(seed) << 32) | static_cast<uint32_t>(index);
}

// Multipliers near 1, as norms have them.
std::vector<float> RandomNormWeight(uint64_t stream, int64_t width);

}  // namespace verbatim::parity

#endif  // VERBATIM_MEASURE_OP_PARITY_ARMS_H_
