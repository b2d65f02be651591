// Matrices and activations for the tests of linears: the same values as the checkpoint stores them
// and as the reference reads them. Its bit packer shares no code with the one under test.
#ifndef VERBATIM_TESTS_BACKEND_LINEAR_CASES_H_
#define VERBATIM_TESTS_BACKEND_LINEAR_CASES_H_

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "checkpoint/weights.h"
#include "numerics/reference/linear.h"
#include "ops/backend.h"

namespace verbatim::cpu {

// One matrix in both forms. Not movable: `matrix` views the vectors.
class LinearCase {
 public:
  // Some outputs have q = 0 or q = max everywhere, extreme scales, or (dense) arbitrary bit
  // patterns, NaN included.
  LinearCase(const WeightFormat& format, int64_t rows, int64_t cols, uint32_t seed);
  LinearCase(const LinearCase&) = delete;
  LinearCase& operator=(const LinearCase&) = delete;

  const WeightMatrix& matrix() const { return matrix_; }
  // y [num_rows, matrix().rows]
  std::vector<float> Reference(const std::vector<float>& x, int64_t num_rows) const;
  void ReferenceEmbed(int64_t row, float* out) const;

 private:
  WeightMatrix matrix_;
  std::vector<std::byte> data_, scales_, biases_;
  reference::AffineMatrix affine_;
  reference::DenseMatrix dense_;
};

// Rows in turn: ordinary, of all magnitudes, denormal, around 2^-100, huge, signed zeros, with an
// infinity, with a NaN, +-127 patterns, exact ties of rint.
std::vector<float> AdversarialRows(int64_t num_rows, int64_t cols, uint32_t seed);

// Every type that kernels exist for; affine ones in all bits, groups and scale types.
std::vector<WeightFormat> AllFormats();
std::string Describe(const WeightFormat& format);

// What a model of linears alone reserves.
ops::WorkspaceNeeds Needs(int max_rows, int64_t max_in_features);

// Index of the first difference with NaNs canonicalised, or -1.
int64_t FirstDifference(const float* a, const float* b, int64_t count);

}  // namespace verbatim::cpu

#endif  // VERBATIM_TESTS_BACKEND_LINEAR_CASES_H_
