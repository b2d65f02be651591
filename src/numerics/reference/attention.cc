// The scalar reference of softmax attention; see attention.h.
#include "numerics/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "numerics/elementary.h"

namespace verbatim::reference {
namespace {

// The running softmax of a run of slots: maximum, normaliser, weighted sum of values.
struct Partial {
  float m = 0;
  float l = 0;
  std::vector<float> o;  // [d]
};

// Four chains over d = 0, 1, 2, 3 (mod 4).
float Dot4(const float* a, const float* b, int n) {
  float c[4] = {};
  for (int i = 0; i < n; ++i) c[i % 4] = std::fma(a[i], b[i], c[i % 4]);
  return (c[0] + c[1]) + (c[2] + c[3]);
}

// A NaN operand may win or lose: whichever m comes out, the NaN score's own p is NaN (s - m is), so
// l and every o[d] are NaN. Hence any SIMD maximum will do.
float Max(float a, float b) { return a > b ? a : b; }

Partial ChunkPartial(const AttentionHead& head, int64_t begin, int64_t end) {
  std::vector<float> scores;
  for (int64_t slot = begin; slot < end; ++slot) {
    scores.push_back(Dot4(head.q, head.k + slot * head.d, head.d) * head.scale);
  }
  Partial part{scores[0], 0.0f, std::vector<float>(head.d, 0.0f)};
  for (float s : scores) part.m = Max(part.m, s);
  for (int64_t slot = begin; slot < end; ++slot) {
    const float p = Exp(scores[slot - begin] - part.m);
    part.l = std::fma(p, 1.0f, part.l);
    for (int i = 0; i < head.d; ++i) {
      part.o[i] = std::fma(p, head.v[slot * head.d + i], part.o[i]);
    }
  }
  return part;
}

void Merge(const Partial& chunk, Partial& total) {
  const float m = Max(total.m, chunk.m);
  const float a = Exp(total.m - m);
  const float b = Exp(chunk.m - m);
  total.l = std::fma(chunk.l, b, total.l * a);
  for (size_t i = 0; i < total.o.size(); ++i) {
    total.o[i] = std::fma(chunk.o[i], b, total.o[i] * a);
  }
  total.m = m;
}

}  // namespace

void Attention(const AttentionHead& head, float* out) {
  Partial total;
  for (int64_t begin = head.first_slot; begin <= head.last_slot;) {
    const int64_t chunk_end = (begin / kAttentionChunk + 1) * kAttentionChunk;
    const int64_t end = std::min(chunk_end, head.last_slot + 1);
    const Partial chunk = ChunkPartial(head, begin, end);
    if (begin == head.first_slot) {
      total = chunk;
    } else {
      Merge(chunk, total);
    }
    begin = end;
  }
  const float inverse = 1.0f / total.l;
  for (int i = 0; i < head.d; ++i) {
    const float o = total.o[i] * inverse;
    out[i] = head.gate != nullptr ? o * Sigmoid(head.gate[i]) : o;
  }
}

}  // namespace verbatim::reference
