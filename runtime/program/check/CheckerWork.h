// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_CHECKERWORK_H
#define RUNTIME_PROGRAM_CHECK_CHECKERWORK_H

#include "runtime/program/check/Where.h"

namespace wsec::runtime {

/// The work that a file asks of those who check it and plan its streams. Lists
/// of a flatbuffer may be shared by many tables, and numbers in it multiplied,
/// so that a small file could ask for years.
class CheckerWork {
public:
  /// Some seconds of one core.
  static constexpr uint64_t most = uint64_t(1) << 31;

  /// `times` repetitions of `steps` steps, for `purpose`. Throws WorkLimit.
  void add(uint64_t times, uint64_t steps, const char *purpose,
           const Where &where) {
    uint64_t product;
    if (!__builtin_mul_overflow(times, steps, &product) &&
        !__builtin_add_overflow(count, product, &count) && count <= most)
      return;
    throw errorAt(ErrorClass::WorkLimit, where,
                  std::string(purpose) + " takes " + std::to_string(times) +
                      " times " + std::to_string(steps) +
                      " steps; all of a program may take at most " +
                      std::to_string(most) +
                      ": shorten its lists, or use a smaller mesh");
  }

private:
  uint64_t count = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_CHECKERWORK_H
