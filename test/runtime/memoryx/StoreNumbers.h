// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_MEMORYX_STORENUMBERS_H
#define TEST_RUNTIME_MEMORYX_STORENUMBERS_H

#include "runtime/files/ProceduralFile.h"
#include "runtime/memoryx/ParameterStore.h"
#include "runtime/program/Errors.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace wsec::runtime::test {

using Floats = std::vector<float>;

inline Floats numbers(uint64_t seed, size_t count, float range,
                      float mean = 0) {
  Floats result(count);
  ProceduralFile{seed, range, mean}.read(0, 1, count, result.data());
  return result;
}

/// The parameters and gradients of make_updates.py.
inline const std::vector<std::vector<uint64_t>> shapes = {
    {16, 24}, {37}, {2, 5, 8}, {}};

inline Floats gradient(uint64_t first, uint64_t step, size_t k, size_t count) {
  return numbers(first + 4 * step + k, count, 0.1F, 0.05F);
}

inline void addParameters(ParameterStore &store) {
  for (size_t k = 0; k < shapes.size(); ++k) {
    store.add("w" + std::to_string(k), shapes[k]);
    store.write(k, program::ElementType::F32,
                numbers(100 + k, store.elements(k), 1).data());
  }
}

/// Step `step`, from 0; gradients are multiplied by `factor`, which is divided
/// out again.
inline ParameterStore::StepResult takeStep(ParameterStore &store, uint64_t step,
                                           double rate, float factor = 1) {
  for (size_t k = 0; k < store.size(); ++k)
    for (uint64_t first : {1000, 5000}) {
      Floats its = gradient(first, step, k, store.elements(k));
      for (float &value : its)
        value *= factor;
      store.accumulate(k, its.data());
    }
  return store.endStep(rate, factor);
}

inline std::vector<Floats> allWeights(ParameterStore &store) {
  std::vector<Floats> all;
  for (size_t k = 0; k < store.size(); ++k)
    all.push_back(store.weights(k));
  return all;
}

/// A folder that goes with the test.
class Folder {
public:
  Folder()
      : path((std::filesystem::temp_directory_path() /
              ("wsec-store-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name()))
                 .string()) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }
  const std::string path;
};

/// That `what` throws an error of a class, whose message has `part` in it.
template <typename What>
void expectError(ErrorClass errorClass, const std::string &part,
                 const What &what) {
  try {
    what();
    ADD_FAILURE() << "expected: " << part;
  } catch (const Error &error) {
    EXPECT_EQ(error.errorClass(), errorClass) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << error.what() << "\nexpected: " << part;
  }
}

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_MEMORYX_STORENUMBERS_H
