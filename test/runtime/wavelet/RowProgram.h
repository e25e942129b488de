// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of one row of PEs.
#ifndef TEST_RUNTIME_WAVELET_ROWPROGRAM_H
#define TEST_RUNTIME_WAVELET_ROWPROGRAM_H

#include "runtime/program/Errors.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/TaskProgram.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {

/// A row of PEs whose color 0 runs from the first to the last.
class Row : public TaskProgram {
public:
  explicit Row(int width, bool wire = true) : TaskProgram(width, 1) {
    if (!wire)
      return;
    route(0, 0, 1, 0, 1, program::Port::Ramp, {program::Port::East});
    if (width > 2)
      route(0, 1, width - 1, 0, 1, program::Port::West, {program::Port::East});
    route(0, width - 1, width, 0, 1, program::Port::West,
          {program::Port::Ramp});
  }
  TaskClass pe(int x) { return pes("pe" + std::to_string(x), x, x + 1, 0, 1); }
  uint32_t result(const std::string &buffer, uint32_t elements, int x,
                  uint32_t launches = 1) {
    bytes = elements * 4;
    return copy(program::Direction::Out, buffer, program::ElementType::I32,
                elements, x, x + 1, 0, 1, launches);
  }
  size_t bytes = 0;
};

/// Its I32 result.
inline std::vector<int32_t> run(Row &row, uint32_t tensor) {
  TensorHost host;
  host.room(tensor, row.bytes);
  WaveletEngine(row.finish()).run(host);
  return host.get<int32_t>(tensor);
}

/// The error that it ends with.
inline ErrorClass refusal(Row &row) {
  try {
    TensorHost host;
    WaveletEngine(row.finish()).run(host);
  } catch (const Error &error) {
    return error.errorClass();
  }
  ADD_FAILURE() << "it comes to its end";
  return ErrorClass::IoError;
}

inline Operand ints(int color) {
  Operand operand = fabric(color);
  operand.type = program::ElementType::I32;
  return operand;
}

using Ints = std::vector<int32_t>;

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_WAVELET_ROWPROGRAM_H
