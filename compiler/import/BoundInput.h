// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_BOUNDINPUT_H
#define COMPILER_IMPORT_BOUNDINPUT_H

#include <cstdint>
#include <string>
#include <vector>

namespace wsec {

/// An input of the model that is a constant. No MLIR here: tools read files of
/// numpy into it.
struct BoundInput {
  std::string name;
  std::vector<int64_t> shape;
  /// Elements of a file: their number in TensorProto.DataType, and row-major
  /// bytes, little endian. Else 0, and numbers as the command line has them.
  int64_t elementType = 0;
  std::string bytes;
  std::vector<std::string> numbers;
};

} // namespace wsec

#endif // COMPILER_IMPORT_BOUNDINPUT_H
