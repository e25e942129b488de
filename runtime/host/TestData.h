// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_TESTDATA_H
#define RUNTIME_HOST_TESTDATA_H

#include "runtime/host/Npy.h"

#include <string>
#include <vector>

namespace wsec::runtime {

/// A folder in ONNX's layout: input_0.pb, output_0.pb and so on.
struct TestData {
  NamedTensors inputs;
  NamedTensors outputs;
};

/// Reads the folder. A tensor whose name is not among the given ones belongs to
/// the input (output) of its number. Throws BadTensor or IoError.
TestData readTestData(const std::string &folder,
                      const std::vector<std::string> &inputNames,
                      const std::vector<std::string> &outputNames);

} // namespace wsec::runtime

#endif // RUNTIME_HOST_TESTDATA_H
