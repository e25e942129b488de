// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WaveletFuzz: runs what still loads on the stepping engine.
#include "test/runtime/ExampleFile.h"
#include "test/runtime/fuzz/RunProgram.h"

namespace {

class WaveletFuzz : public wsec::test::FuzzTarget {
public:
  std::vector<wsec::test::Example> examples() override {
    return wsec::test::runExamples();
  }
  uint64_t interesting(const wsec::test::Bytes &file) override {
    return wsec::runtime::test::programEnd(file);
  }
  bool isSound(const wsec::test::Bytes &file) const override {
    return wsec::runtime::test::tablesVerify(file);
  }
  void mend(wsec::test::Bytes &file) const override {
    wsec::runtime::test::mendCodeBytes(file);
  }
  std::string run(wsec::test::Bytes file, const std::string &folder) override {
    return wsec::test::runProgram(std::move(file), folder,
                                  wsec::test::RunEngine::Wavelet);
  }
};

} // namespace

wsec::test::FuzzTarget &wsec::test::fuzzTarget() {
  static WaveletFuzz target;
  return target;
}
