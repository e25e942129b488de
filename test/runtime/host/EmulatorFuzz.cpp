// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EmulatorFuzz COUNT [SEED [FILE.wafer ...]]: runs COUNT random mutations of
// each program, with seeds from SEED on: of the files, or of programs made
// here. Every one must run, or be refused with an Error; anything else is a
// bug that shows as a crash (build with -fsanitize=address,undefined) or a
// hang. Work and memory of a run are bounded.
#include "runtime/host/Session.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Loader.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/Mutation.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

using namespace wsec;
using namespace wsec::runtime;
using namespace wsec::runtime::test;
using namespace wsec::test;

namespace {

/// A program to change, and the folder that its weight files are relative to.
struct Seedling {
  std::string name, folder;
  std::vector<uint8_t> file;
};

/// How many mutations ended how.
using Tally = std::map<std::string, uint64_t>;

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

std::vector<Seedling> makeSeedlings() {
  std::vector<float> bundle = countUp(70);
  ProgramBuilder negation = makeNegation(70, bundle);
  ProgramBuilder everything = makeEverything(bundle);
  return {{"negation", "", makeFile(negation, bundle)},
          {"everything", "", makeFile(everything, bundle)}};
}

std::vector<Seedling> readSeedlings(int count, char **paths) {
  std::vector<Seedling> result;
  for (int i = 0; i < count; ++i) {
    std::ifstream in(paths[i], std::ios::binary);
    std::vector<uint8_t> file((std::istreambuf_iterator<char>(in)), {});
    if (runFile(file, std::filesystem::path(paths[i]).parent_path()) != "ran") {
      std::fprintf(stderr, "%s does not run before any mutation\n", paths[i]);
      std::exit(1);
    }
    result.push_back({paths[i], std::filesystem::path(paths[i]).parent_path(),
                      std::move(file)});
  }
  return result;
}

} // namespace

int main(int argc, char **argv) {
  uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::vector<Seedling> seedlings =
      argc > 3 ? readSeedlings(argc - 3, argv + 3) : makeSeedlings();
  Watch watch;
  for (const Seedling &seedling : seedlings) {
    Tally tally;
    for (uint64_t i = 0; i < count; ++i) {
      watch.start(seed + i, 60);
      Random random(seed + i);
      ++tally[runFile(mutate(seedling.file, programEnd(seedling.file), random),
                      seedling.folder)];
    }
    std::printf("%s: %llu mutations\n", seedling.name.c_str(),
                static_cast<unsigned long long>(count));
    for (const auto &[what, times] : tally)
      std::printf("  %6llu %s\n", static_cast<unsigned long long>(times),
                  what.c_str());
  }
  return 0;
}
