// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes the nests of a strip in their order. Multiply-adds into the same
// accumulators that follow one another, line of weights after line of weights,
// are held back and become one nest whose outermost loop runs over the lines:
// a product, whose accumulators stay in registers. Each accumulator takes its
// terms in the same order, so the bits are the same.
//
//   fmac c[n][lane] += w[0][n] * x[0][lane]
//   fmac c[n][lane] += w[1][n] * x[1][lane]   =>  for k: c[n][lane] +=
//   fmac c[n][lane] += w[2][n] * x[2][lane]              w[k][n] * x[k][lane]
//
// Where the first of them is a mul, the product starts with it; where the
// accumulators were filled with a constant just before, with that. Lines whose
// factors do not lie evenly apart, such as words of another sender, are a
// further nest of the same product.
#ifndef RUNTIME_STRIPS_NESTEXECUTOR_H
#define RUNTIME_STRIPS_NESTEXECUTOR_H

#include "runtime/strips/Recording.h"

#include <memory>
#include <vector>

namespace wsec::runtime {

/// What the operands of a nest lie in.
struct NestMemory {
  Recording::BufferId dst = Recording::nothing, a = Recording::nothing,
                      b = Recording::nothing;
  /// Keep sources alive that a nest may read later; null: nobody has to.
  std::shared_ptr<const void> aOwner = {}, bOwner = {};
  bool lasts = true;     ///< sources stay as they are until later
  bool constant = false; ///< `a` is one value, of the program
};

class NestExecutor {
public:
  /// Forgets what is held back. Operations are noted as those of `actor`.
  void reset(Recording *recording, uint32_t actor);

  /// From now on operations are noted there, or nowhere. Only while nothing is
  /// held back.
  void record(Recording *into, uint32_t actor);

  /// Executes a nest, now or before the next that is no continuation of it.
  /// What it reads and writes must not change meanwhile but through here.
  void run(const Nest &nest, NestMemory memory);
  /// Executes a nest at once that reads nothing that nests write which are held
  /// back, and writes nothing that they read.
  void runApart(const Nest &nest, const NestMemory &memory);
  /// Executes what is held back.
  void flush();
  /// Notes that `word` decides what follows, as far as `mask` goes.
  void expect(const float *word, Recording::BufferId buffer, uint32_t mask) {
    if (records)
      records->expect(actor, word, buffer, mask);
  }

  Recording *recording() const { return records; }

private:
  /// A loop over terms of the accumulators of a nest.
  struct Depth {
    size_t extent = 1;
    ptrdiff_t a = 0, b = 0; ///< strides, unknown if there is one term
  };
  /// A nest without its outermost loop over terms.
  struct Terms {
    Nest rest;
    Depth depth;
  };
  static bool splitDepth(const Nest &nest, Terms &terms);
  static Nest joinDepth(const Terms &terms);

  bool continues(const Terms &terms, const NestMemory &memory,
                 Depth &joined) const;
  bool sameView(Recording::BufferId buffer, const void *owner,
                Recording::BufferId other, const void *otherOwner) const;
  /// Owners of words that are kept alive at a time. Words of a file have one;
  /// lines that the host converts have one each.
  static constexpr size_t mostOwners = 64;

  void hold(const Terms &terms, NestMemory memory);
  bool holdFill(const Nest &nest, const NestMemory &memory);
  bool startsHere(const Terms &terms) const;
  void add(const Terms &terms, NestMemory memory);
  bool closes(const Terms &terms);
  void keepOwners(NestMemory &next);
  std::vector<Recording::Part> recordedParts(size_t begin, size_t end,
                                             const Recording::Joined &its);
  void fill(const Terms &terms);

  Recording *records = nullptr;
  uint32_t actor = 0;
  bool holds = false;
  bool fills = false; ///< what is held writes one value, `filled`
  float filled = 0;
  Terms held;
  NestMemory memory; ///< of the last nest; its buffers are those of the first
  std::vector<std::shared_ptr<const void>> owners; ///< of those before
  /// The nests that were joined, for a recording.
  struct Part {
    size_t extent;
    const float *a, *b;
    Recording::BufferId aBuffer, bBuffer;
  };
  std::vector<Part> parts;
  /// Nests of the product before the one held, and where its parts begin.
  std::vector<Recording::Joined> closed;
  size_t firstPart = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_NESTEXECUTOR_H
