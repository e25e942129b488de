// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STRIPS_NEWLINES_H
#define RUNTIME_STRIPS_NEWLINES_H

#include <cstddef>
#include <memory>
#include <new>

namespace wsec::runtime {

/// Memory that begins where a line of the cache does, so that vectors of lanes
/// lie in one.
inline std::shared_ptr<float[]> newLines(size_t floats) {
  constexpr std::align_val_t line{64};
  void *words = ::operator new[](floats * sizeof(float), line);
  return {static_cast<float *>(words),
          [](float *its) { ::operator delete[](its, line); }};
}

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_NEWLINES_H
