// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/TestData.h"
#include "runtime/host/TensorProto.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <filesystem>

namespace wsec::runtime {

static NamedTensors readNumbered(const std::string &folder,
                                 const std::string &stem,
                                 const std::vector<std::string> &names) {
  NamedTensors tensors;
  for (size_t number = 0;; ++number) {
    auto path = std::filesystem::path(folder) /
                (stem + "_" + std::to_string(number) + ".pb");
    std::error_code missing;
    if (!std::filesystem::exists(path, missing))
      return tensors;
    NamedTensor read = readTensorProto(path.string());
    if (std::find(names.begin(), names.end(), read.name) == names.end()) {
      if (number >= names.size())
        throw Error(ErrorClass::BadTensor, inQuotes(path.string()) +
                                               ": the program has no " + stem +
                                               " " + std::to_string(number));
      read.name = names[number];
    }
    tensors.emplace_back(read.name, std::move(read.tensor));
  }
}

TestData readTestData(const std::string &folder,
                      const std::vector<std::string> &inputNames,
                      const std::vector<std::string> &outputNames) {
  if (std::error_code missing; !std::filesystem::is_directory(folder, missing))
    throw Error(ErrorClass::IoError, inQuotes(folder) + " is not a folder");
  TestData data{readNumbered(folder, "input", inputNames),
                readNumbered(folder, "output", outputNames)};
  if (data.inputs.empty() && data.outputs.empty())
    throw Error(ErrorClass::IoError,
                inQuotes(folder) + " has neither input_0.pb nor output_0.pb");
  return data;
}

} // namespace wsec::runtime
