// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which words some launches read that were written before them, and which they
// write.
#ifndef RUNTIME_STRIPS_FOOTPRINT_H
#define RUNTIME_STRIPS_FOOTPRINT_H

#include "runtime/strips/InstructionRun.h"

#include <memory>
#include <vector>

namespace wsec::runtime {

/// Noted by the main threads of strips, each of its own strip.
class Footprint {
public:
  explicit Footprint(const ProgramImage &image);

  void read(const Strip &strip, int lane, const MemoryPattern &pattern);
  void write(const Strip &strip, int lane, const MemoryPattern &pattern);
  /// Nothing is noted from now on.
  void close();

  /// Whether what is read is written now; and so is what they write, after
  /// `apply`.
  bool holds(const ProgramImage &image) const;
  void apply(const ProgramImage &image) const;
  /// Memory it takes, about.
  size_t bytes() const;

private:
  struct Access {
    int lane;
    MemoryPattern pattern;
  };
  struct OfStrip {
    WrittenWords written, needed; ///< while it is noted
    std::vector<Access> reads, writes;
  };
  static bool add(const Strip &strip, WrittenWords &known, int lane,
                  const MemoryPattern &pattern);
  std::vector<OfStrip> strips;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_FOOTPRINT_H
