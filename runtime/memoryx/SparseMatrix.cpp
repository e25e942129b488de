// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/SparseMatrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace wsec::runtime {

uint64_t SparseMatrix::randomScore(uint64_t seed, uint64_t element) {
  uint64_t x = seed + element + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Of floats without their sign: the larger, the higher; not a number is
/// highest.
static uint64_t magnitude(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits & 0x7fffffffU;
}

void SparseMatrix::writeRecord(int64_t row, int64_t group, int64_t kept,
                               float *to) const {
  const int64_t begin = group * int64_t(sparsity->group());
  const auto count =
      size_t(std::min<int64_t>(sparsity->group(), sparsity->columns() - begin));
  const int64_t stride = sparsity->strides()->Get(1);
  const int64_t first =
      sparsity->offset() + row * sparsity->strides()->Get(0) + begin * stride;
  std::vector<float> values(count);
  readDense(first, stride, count, values.data());

  struct Candidate {
    uint64_t score;
    uint32_t index;
  };
  std::vector<Candidate> candidates(count);
  const bool random = sparsity->method() == program::SparsityMethod::Random;
  const auto seed = uint64_t(sparsity->seed());
  for (uint32_t i = 0; i < count; ++i)
    candidates[i] = {random ? randomScore(seed, uint64_t(first + i * stride))
                            : magnitude(values[i]),
                     i};
  const auto end = candidates.begin() + kept;
  std::nth_element(candidates.begin(), end, candidates.end(),
                   [](const Candidate &a, const Candidate &b) {
                     return a.score != b.score ? a.score > b.score
                                               : a.index < b.index;
                   });
  std::sort(
      candidates.begin(), end,
      [](const Candidate &a, const Candidate &b) { return a.index < b.index; });

  std::vector<uint16_t> indices(size_t(2 * recordIndexWords(kept)));
  float *kepts = to + recordIndexWords(kept);
  for (size_t i = 0; i < size_t(kept); ++i) {
    indices[i] = uint16_t(candidates[i].index * sparsity->index_step());
    kepts[i] = values[candidates[i].index];
  }
  std::memcpy(to, indices.data(), 2 * indices.size());
}

void SparseMatrix::read(uint64_t first, size_t count, float *to) const {
  const int64_t rows = sparsity->rows(), groupSize = sparsity->group();
  const int64_t wholeGroups = sparsity->columns() / groupSize;
  const int64_t wholeWords = recordWords(sparsity->kept());
  const uint64_t allWhole = uint64_t(wholeGroups * rows * wholeWords);
  std::vector<float> record;
  while (count > 0) {
    const bool whole = first < allWhole;
    const int64_t kept = whole ? sparsity->kept() : sparsity->rest();
    const auto words = uint64_t(recordWords(kept));
    const uint64_t place = whole ? first : first - allWhole;
    const auto number = int64_t(place / words);
    const auto skipped = size_t(place % words);
    record.resize(size_t(words));
    writeRecord(number % rows, whole ? number / rows : wholeGroups, kept,
                record.data());
    const size_t part = std::min(count, size_t(words) - skipped);
    std::memcpy(to, record.data() + skipped, part * sizeof(float));
    first += part;
    to += part;
    count -= part;
  }
}

} // namespace wsec::runtime
