// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LoaderFuzz COUNT [SEED]: loads COUNT random mutations of a valid program,
// with seeds from SEED on. Every one must load or be refused with an Error;
// anything else is a bug that shows as a crash (build with
// -fsanitize=address,undefined).
#include "runtime/memoryx/MemoryX.h"
#include "runtime/program/Errors.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/Mutation.h"

#include <cstdio>
#include <cstdlib>

using namespace wsec::runtime;
using namespace wsec::runtime::test;
using namespace wsec::test;

/// Loads the file and plans its streams, as a run does.
static bool load(std::vector<uint8_t> file) {
  try {
    auto loaded = LoadedProgram::fromBytes(std::move(file));
    TensorStore store(loaded);
    MemoryX memory(store);
    const auto *streams = loaded->program().streams();
    for (uint32_t s = 0; streams && s < streams->size(); ++s)
      for (uint32_t lane = 0; lane < streams->Get(s)->lanes()->size(); ++lane)
        memory.words(s, lane);
    return true;
  } catch (const Error &) {
    return false;
  }
}

int main(int argc, char **argv) {
  uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000003;
  std::vector<float> bundle = countUp(70);
  ProgramBuilder builder = makeEverything(bundle);
  std::vector<uint8_t> file = makeFile(builder, bundle);
  if (!load(file)) {
    std::fputs("the program is refused before any mutation\n", stderr);
    return 1;
  }
  Watch watch;
  uint64_t loaded = 0;
  for (uint64_t i = 0; i < count; ++i) {
    watch.start(seed + i, 60);
    Random random(seed + i);
    loaded += load(mutate(file, programEnd(file), random));
  }
  std::printf("%llu mutations, %llu still load\n",
              static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(loaded));
  return 0;
}
