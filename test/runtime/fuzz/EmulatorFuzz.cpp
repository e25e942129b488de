// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EmulatorFuzz: runs what still loads. Work and memory of a run are bounded.
#include "runtime/host/Session.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Loader.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/fuzz/FuzzTarget.h"

using namespace wsec;
using namespace wsec::runtime;
using namespace wsec::runtime::test;

namespace {

/// Programs may rightly ask for much; those are not run here.
bool isSmall(const program::Program &program) {
  constexpr int64_t mostPEs = 4096, mostBytes = 1 << 16;
  constexpr int64_t mostElements = 1 << 20;
  const program::Machine &machine = *program.machine();
  if (int64_t(machine.width()) * machine.height() > mostPEs ||
      machine.sram_bytes() > mostBytes)
    return false;
  for (const program::Tensor *tensor : *program.tensors()) {
    int64_t elements = 1;
    if (tensor->shape())
      for (int64_t extent : *tensor->shape())
        if (__builtin_mul_overflow(elements, extent, &elements))
          return false;
    if (elements > mostElements)
      return false;
  }
  return true;
}

/// Inputs of small numbers, so that they may be row numbers, too.
void bindInputs(Session &session) {
  for (const program::Tensor *tensor : *session.program().tensors()) {
    if (tensor->role() != program::TensorRole::Input)
      continue;
    HostTensor input{dataType(tensor->type()), {}, {}};
    if (tensor->shape())
      input.shape.assign(tensor->shape()->begin(), tensor->shape()->end());
    input.bytes.resize(elementCount(*tensor) * elementBytes(tensor->type()));
    session.bind(tensor->name()->str(), std::move(input));
  }
}

/// Runs a file; returns how that ended.
std::string runFile(std::vector<uint8_t> file, const std::string &folder) {
  std::shared_ptr<const LoadedProgram> loaded;
  try {
    loaded = LoadedProgram::fromBytes(std::move(file), folder);
    if (!isSmall(loaded->program()))
      return "too large to run here";
    Session session(loaded);
    bindInputs(session);
    EmulatorOptions options;
    options.threads = 1;
    options.channelWords = 1 << 12;
    options.channelBytes = 1 << 24;
    options.workLimit = 1 << 20;
    session.run(options);
    for (const std::string &name : session.outputs())
      session.output(name);
    return "ran";
  } catch (const Error &error) {
    return (loaded ? "refused to run: " : "refused to load: ") +
           std::string(errorClassName(error.errorClass()));
  }
}

class EmulatorFuzz : public wsec::test::FuzzTarget {
public:
  std::vector<wsec::test::Example> examples() override {
    std::vector<float> bundle = countUp(70);
    ProgramBuilder negation = makeNegation(70, bundle);
    ProgramBuilder everything = makeEverything(bundle);
    return {{"negation", makeFile(negation, bundle)},
            {"everything", makeFile(everything, bundle)}};
  }
  uint64_t interesting(const wsec::test::Bytes &file) override {
    return programEnd(file);
  }
  std::string run(wsec::test::Bytes file, const std::string &folder) override {
    return runFile(std::move(file), folder);
  }
};

} // namespace

wsec::test::FuzzTarget &wsec::test::fuzzTarget() {
  static EmulatorFuzz target;
  return target;
}
