// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LoaderFuzz COUNT [SEED]: loads COUNT random mutations of a valid program.
// Every one must load or be refused with an Error; anything else is a bug that
// shows as a crash (build with -fsanitize=address,undefined).
#include "runtime/memoryx/MemoryX.h"
#include "runtime/program/Errors.h"
#include "test/runtime/ExampleFile.h"

#include <cstdio>
#include <cstdlib>

using namespace wsec::runtime;
using namespace wsec::runtime::test;

namespace {

/// xorshift: the same mutations everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  uint64_t below(uint64_t limit) { return next() % limit; }

private:
  uint64_t state;
};

/// Values that sit at the edges of what fields can hold.
constexpr uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff};

std::vector<uint8_t> mutate(std::vector<uint8_t> file, uint64_t program,
                            Random &random) {
  uint64_t changes = 1 + random.below(4);
  for (uint64_t i = 0; i < changes; ++i) {
    uint64_t at = random.below(program);
    switch (random.below(5)) {
    case 0:
      file[at] ^= uint8_t(1 << random.below(8));
      break;
    case 1:
      file[at] = uint8_t(random.next());
      break;
    case 2:
      file[at] = edges[random.below(sizeof(edges))];
      break;
    case 3: // a whole aligned field
      for (uint64_t byte = at & ~3ull; byte < (at & ~3ull) + 4; ++byte)
        if (byte < program)
          file[byte] = edges[random.below(sizeof(edges))];
      break;
    case 4: // a piece from elsewhere
      for (uint64_t byte = 0, from = random.below(program); byte < 8; ++byte)
        if (at + byte < program && from + byte < program)
          file[at + byte] = file[from + byte];
      break;
    }
  }
  if (random.below(50) == 0)
    file.resize(random.below(file.size()));
  return file;
}

/// Loads the file and plans its streams, as a run does.
bool load(std::vector<uint8_t> file) {
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

} // namespace

int main(int argc, char **argv) {
  uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::vector<float> bundle = countUp(70);
  ProgramBuilder builder = makeEverything(bundle);
  std::vector<uint8_t> file = makeFile(builder, bundle);
  uint64_t program = containerHeaderBytes;
  std::memcpy(&program, file.data() + 8, sizeof(program));
  program += containerHeaderBytes;
  if (!load(file)) {
    std::fputs("the program is refused before any mutation\n", stderr);
    return 1;
  }
  uint64_t loaded = 0;
  for (uint64_t i = 0; i < count; ++i) {
    Random random(seed * 1000003 + i);
    loaded += load(mutate(file, program, random));
  }
  std::printf("%llu mutations, %llu still load\n",
              static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(loaded));
  return 0;
}
