// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random changes to files, for fuzzers. The same seed makes the same changes
// everywhere.
#ifndef TEST_RUNTIME_MUTATION_H
#define TEST_RUNTIME_MUTATION_H

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <unistd.h>
#include <vector>

extern "C" void __sanitizer_set_death_callback(void (*)())
    __attribute__((weak));

namespace wsec::test {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 1) {}
  /// xorshift.
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

/// Changes one to four places among the first `size` bytes of `file`; now and
/// then cuts the file off.
inline std::vector<uint8_t> mutate(std::vector<uint8_t> file, uint64_t size,
                                   Random &random) {
  // Values at the edges of what fields can hold.
  constexpr uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  uint64_t changes = 1 + random.below(4);
  for (uint64_t i = 0; i < changes; ++i) {
    uint64_t at = random.below(size);
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
        if (byte < size)
          file[byte] = edges[random.below(sizeof(edges))];
      break;
    case 4: // a piece from elsewhere
      for (uint64_t byte = 0, from = random.below(size); byte < 8; ++byte)
        if (at + byte < size && from + byte < size)
          file[at + byte] = file[from + byte];
      break;
    }
  }
  if (random.below(50) == 0)
    file.resize(random.below(file.size()));
  return file;
}

/// Says which mutation a crash or a hang belongs to.
class Watch {
public:
  Watch() {
    if (__sanitizer_set_death_callback)
      __sanitizer_set_death_callback(report);
    std::signal(SIGALRM, [](int) {
      report();
      _exit(1);
    });
  }
  /// Starts mutation `number`, which has `seconds` to end.
  void start(uint64_t number, unsigned seconds) {
    current = number;
    alarm(seconds);
  }
  ~Watch() { alarm(0); }

private:
  static void report() {
    std::fprintf(stderr, "mutation with seed %llu crashed or hangs\n",
                 static_cast<unsigned long long>(current));
  }
  inline static volatile uint64_t current = 0;
};

} // namespace wsec::test

#endif // TEST_RUNTIME_MUTATION_H
