// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of one row of PEs, run on two engines.
#ifndef TEST_RUNTIME_STREAMS_ROWPROGRAM_H
#define TEST_RUNTIME_STREAMS_ROWPROGRAM_H

#include "runtime/program/Errors.h"
#include "runtime/streams/StreamsEngine.h"
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

/// The I32 result of both engines, which must be the same.
inline std::vector<int32_t> run(Row &row, uint32_t tensor) {
  const program::Program &program = row.finish();
  TensorHost streamed, stepped;
  streamed.room(tensor, row.bytes);
  stepped.room(tensor, row.bytes);
  double cycles = StreamsEngine(program).run(streamed).cycles;
  double reference = WaveletEngine(program).run(stepped).cycles;
  EXPECT_EQ(streamed.tensors, stepped.tensors);
  EXPECT_NEAR(cycles, reference, 0.05 * reference + 2);
  return streamed.get<int32_t>(tensor);
}

/// The error of both engines, which must be of one class.
inline ErrorClass refusal(Row &row) {
  const program::Program &program = row.finish();
  std::vector<ErrorClass> classes;
  auto note = [&](auto engine) {
    try {
      TensorHost host;
      engine.run(host);
    } catch (const Error &error) {
      classes.push_back(error.errorClass());
    }
  };
  note(StreamsEngine(program));
  note(WaveletEngine(program));
  if (classes.size() != 2) {
    ADD_FAILURE() << classes.size() << " of 2 engines refuse";
    return ErrorClass::IoError;
  }
  EXPECT_EQ(classes[0], classes[1]);
  return classes[0];
}

inline Operand ints(int color) {
  Operand operand = fabric(color);
  operand.type = program::ElementType::I32;
  return operand;
}

using Ints = std::vector<int32_t>;

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_STREAMS_ROWPROGRAM_H
