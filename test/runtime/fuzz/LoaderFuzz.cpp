// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LoaderFuzz: loads .wafer files and plans their streams, as a run does.
#include "runtime/memoryx/MemoryX.h"
#include "runtime/program/Errors.h"
#include "test/runtime/RemoteExample.h"
#include "test/runtime/fuzz/ProgramTarget.h"

using namespace wsec;
using namespace wsec::runtime;
using namespace wsec::runtime::test;

namespace {

class LoaderFuzz : public wsec::test::ProgramTarget {
public:
  std::vector<wsec::test::Example> examples() override {
    std::vector<float> bundle = countUp(70);
    ProgramBuilder builder = makeEverything(bundle);
    ProgramBuilder remote = makeRemoteCalls();
    return {{"everything", makeFile(builder, bundle)},
            {"remote calls", makeFile(remote)}};
  }
  std::string run(wsec::test::Bytes file, const std::string &folder) override {
    try {
      auto loaded = LoadedProgram::fromBytes(std::move(file), folder);
      TensorStore store(loaded);
      MemoryX memory(store);
      const auto *streams = loaded->program().streams();
      for (uint32_t s = 0; streams && s < streams->size(); ++s)
        for (uint32_t l = 0; l < streams->Get(s)->channels()->size(); ++l)
          memory.words(s, l);
      return "loaded";
    } catch (const Error &error) {
      return "refused: " + std::string(errorClassName(error.errorClass()));
    }
  }
};

} // namespace

wsec::test::FuzzTarget &wsec::test::fuzzTarget() {
  static LoaderFuzz target;
  return target;
}
