// Number, then unit.
#include "apps/verbatim/byte_size.h"

#include <cmath>
#include <string>

#include "apps/verbatim/option_value.h"

namespace verbatim::cli {
namespace {

struct Unit {
  std::string_view name;
  int64_t bytes;
};

constexpr Unit kUnits[] = {
    {"KiB", int64_t{1} << 10},
    {"MiB", int64_t{1} << 20},
    {"GiB", int64_t{1} << 30},
    {"TiB", int64_t{1} << 40},
    {"KB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
    {"K", int64_t{1} << 10},
    {"M", int64_t{1} << 20},
    {"G", int64_t{1} << 30},
    {"T", int64_t{1} << 40},
    {"B", 1},
};

constexpr double kMost = 4.611686018427388e18;  // 2^62

}  // namespace

Expected<int64_t> ParseByteSize(std::string_view where, std::string_view text) {
  std::string_view number = text;
  int64_t unit = 1;
  for (const Unit& candidate : kUnits) {
    if (!number.ends_with(candidate.name)) continue;
    number.remove_suffix(candidate.name.size());
    if (number.ends_with(' ')) number.remove_suffix(1);
    unit = candidate.bytes;
    break;
  }
  double value = 0;
  const bool parsed = ParseDecimal(number, &value);
  const double bytes = value * static_cast<double>(unit);
  // NaN does not parse; a part of a byte is a mistyped unit.
  if (!parsed || value < 0 || bytes > kMost || bytes != std::floor(bytes)) {
    return MakeError(StatusCode::kInvalidArgument, where,
                     "a number of bytes, such as 512MiB or 2GiB", std::string(text));
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace verbatim::cli
