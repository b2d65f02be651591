// Routes: which kernel a linear takes, as data. Not the kernels (backend/) and not the order of
// sums itself (numerics.md).
#ifndef VERBATIM_OPS_ROUTES_H_
#define VERBATIM_OPS_ROUTES_H_

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/weights.h"
#include "verbatim/status.h"

namespace verbatim::ops {

// A name for one association of every sum of an op. Kernels with equal ids give equal bits.
enum class OrderId : uint8_t {
  kAffineSegments8,  // numerics.md 1 and 2: int8 dot per group, two fma per group, 8 segments
  kDenseSegments8,   // numerics.md 1 and 3: chains over even and over odd k, 8 segments
  kNoSum,            // every output is made of few inputs in one way, or chosen
  kLanes64,          // numerics.md 4: the norms
  kChunks256,        // numerics.md 5: attention
  kDeltaChains4,     // numerics.md 6: gated delta rule
  kUnknown,          // a vendor's library chooses, call by call
};

std::string_view OrderName(OrderId order);  // "affine-segments-8", ...

inline constexpr int kUnlimitedRows = std::numeric_limits<int>::max();

struct LinearRoute {
  WeightType type;          // kAffine: of any number of bits
  std::string_view target;  // instruction set
  int min_rows;             // of the call, inclusive
  int max_rows;
  std::string_view kernel;
  std::string_view family;  // of kernels that are one code for several row tiles
  int row_tile;             // rows that share one pass over a tile of weights, at most
  OrderId order;
};

// Every (type, target) covers all row counts once, and all routes of a type have one order.
std::span<const LinearRoute> LinearRoutes();

// The route of a call. `forced` (a kernel's name, or empty) wins wherever the target has that
// kernel for the type. Never null for a known type and target and num_rows >= 1.
const LinearRoute* FindLinearRoute(WeightType type, std::string_view target, int num_rows,
                                   std::string_view forced = {});

// Names of all kernels, each once, in the table's order.
std::vector<std::string_view> KernelNames();

// kInvalidArgument if `kernel` (the value of VERBATIM_FORCE_ROUTE) is not empty and no kernel has
// that name.
Status CheckForcedRoute(std::string_view kernel);

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_ROUTES_H_
