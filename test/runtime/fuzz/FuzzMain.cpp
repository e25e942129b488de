// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs around a FuzzTarget; see there.
#include "test/runtime/fuzz/FuzzTarget.h"
#include "test/runtime/fuzz/Mutation.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

using namespace wsec::test;

void wsec::test::foundBug(const std::string &what) {
  std::fprintf(stderr, "bug: %s\n", what.c_str());
  std::abort();
}

static Bytes mutateFor(FuzzTarget &target, const Bytes &bytes, Random &random) {
  if (bytes.empty())
    return bytes;
  if (target.text())
    return mutateText(bytes, random);
  const uint64_t size = target.interesting(bytes);
  if (random.below(2) == 0 || !target.isSound(bytes))
    return mutate(bytes, size, random);
  Bytes changed = mutateSoundly(bytes, size, random, [&](const Bytes &input) {
    return target.isSound(input);
  });
  target.mend(changed);
  return changed;
}

#ifdef WSEC_FUZZ

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Examples come first, for what a fuzzer needs most is something valid.
  static const bool tried = [] {
    for (const Example &example : fuzzTarget().examples())
      fuzzTarget().run(example.bytes, example.folder);
    return true;
  }();
  static_cast<void>(tried);
  fuzzTarget().run(Bytes(data, data + size), "");
  return 0;
}

/// Half of the mutations know what the bytes are.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  Random random(seed);
  static const std::vector<Example> examples = fuzzTarget().examples();
  // An input that libFuzzer made from nothing is replaced by an example.
  if (size < 8 && !examples.empty()) {
    const Bytes &bytes = examples[random.below(examples.size())].bytes;
    if (bytes.size() <= most) {
      std::memcpy(data, bytes.data(), bytes.size());
      return bytes.size();
    }
  }
  if (size == 0 || random.below(2) == 0)
    return LLVMFuzzerMutate(data, size, most);
  Bytes changed = mutateFor(fuzzTarget(), Bytes(data, data + size), random);
  size_t length = std::min(changed.size(), most);
  std::memcpy(data, changed.data(), length);
  return length;
}

#else

static std::vector<Example> readExamples(int count, char **paths) {
  std::vector<Example> result;
  for (int i = 0; i < count; ++i) {
    std::ifstream in(paths[i], std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "cannot read %s\n", paths[i]);
      std::exit(1);
    }
    std::filesystem::path path(paths[i]);
    result.push_back({path.filename(),
                      Bytes((std::istreambuf_iterator<char>(in)), {}),
                      path.parent_path()});
  }
  return result;
}

int main(int argc, char **argv) {
  if (argc < 2 || std::strtoull(argv[1], nullptr, 10) == 0) {
    std::fprintf(stderr, "usage: %s COUNT [SEED [FILE ...]]\n", argv[0]);
    return 2;
  }
  const uint64_t count = std::strtoull(argv[1], nullptr, 10);
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  FuzzTarget &target = fuzzTarget();
  Watch watch;
  for (const Example &example :
       argc > 3 ? readExamples(argc - 3, argv + 3) : target.examples()) {
    watch.start(0, 60);
    std::printf("%s: %s\n", example.name.c_str(),
                target.run(example.bytes, example.folder).c_str());
    std::map<std::string, uint64_t> tally;
    for (uint64_t i = 0; i < count; ++i) {
      watch.start(seed + i, 60);
      Random random(seed + i);
      ++tally[target.run(mutateFor(target, example.bytes, random),
                         example.folder)];
    }
    std::printf("%s: %llu mutations\n", example.name.c_str(),
                static_cast<unsigned long long>(count));
    for (const auto &[what, times] : tally)
      std::printf("  %6llu %s\n", static_cast<unsigned long long>(times),
                  what.c_str());
  }
  return 0;
}

#endif
