// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random changes to files, for fuzzers. The same seed makes the same changes
// everywhere.
#ifndef TEST_RUNTIME_FUZZ_MUTATION_H
#define TEST_RUNTIME_FUZZ_MUTATION_H

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
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

/// Changes one place among the first `size` bytes of `file`.
inline void mutateOnce(std::vector<uint8_t> &file, uint64_t size,
                       Random &random) {
  // Values at the edges of what fields can hold.
  constexpr uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
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

/// Changes one to four places among the first `size` bytes of `file`; now and
/// then cuts the file off.
inline std::vector<uint8_t> mutate(std::vector<uint8_t> file, uint64_t size,
                                   Random &random) {
  for (uint64_t i = 0, changes = 1 + random.below(4); i < changes; ++i)
    mutateOnce(file, size, random);
  if (random.below(50) == 0)
    file.resize(random.below(file.size()));
  return file;
}

/// Changes one to four places such that `isSound` holds after each change.
template <class Predicate>
std::vector<uint8_t> mutateSoundly(std::vector<uint8_t> file, uint64_t size,
                                   Random &random, Predicate isSound) {
  constexpr int attempts = 20;
  for (uint64_t i = 0, changes = 1 + random.below(4); i < changes; ++i)
    for (int attempt = 0; attempt < attempts; ++attempt) {
      std::vector<uint8_t> changed = file;
      mutateOnce(changed, size, random);
      if (changed == file || !isSound(changed))
        continue;
      file = std::move(changed);
      break;
    }
  return file;
}

/// Changes one to four things in a text: drops, doubles or moves a line, cuts
/// a piece out of one, or replaces a number or a name by one from elsewhere.
inline std::vector<uint8_t> mutateText(const std::vector<uint8_t> &file,
                                       Random &random) {
  std::string text(file.begin(), file.end());
  auto isWord = [&](size_t i) {
    return std::isalnum(uint8_t(text[i])) || text[i] == '_' || text[i] == '.';
  };
  auto lineStart = [&](size_t at) {
    size_t end = at ? text.rfind('\n', at - 1) : std::string::npos;
    return end == std::string::npos ? 0 : end + 1;
  };
  auto lineAt = [&](size_t at) {
    size_t start = lineStart(at), end = text.find('\n', start);
    return text.substr(start, end == std::string::npos ? end : end - start + 1);
  };
  auto wordAt = [&](size_t at) {
    while (at > 0 && isWord(at - 1))
      --at;
    size_t end = at;
    while (end < text.size() && isWord(end))
      ++end;
    return std::pair(at, end - at);
  };
  constexpr const char *edges[] = {
      "0",    "1", "-1", "2147483647", "-2147483648", "9223372036854775807",
      "65536"};
  for (uint64_t i = 0, changes = 1 + random.below(4);
       i < changes && !text.empty(); ++i) {
    const size_t at = random.below(text.size()),
                 from = random.below(text.size());
    const auto [word, length] = wordAt(at);
    switch (random.below(6)) {
    case 0:
      text.erase(lineStart(at), lineAt(at).size());
      break;
    case 1:
      text.insert(lineStart(at), lineAt(from));
      break;
    case 2:
      text.erase(at, random.below(8));
      break;
    case 3:
      text.replace(word, length, edges[random.below(std::size(edges))]);
      break;
    case 4: {
      const auto [other, size] = wordAt(from);
      text.replace(word, length, text.substr(other, size));
      break;
    }
    case 5:
      text[at] = "()[]{}<>=%@:,-+!?\"x"[random.below(20)];
      break;
    }
  }
  return {text.begin(), text.end()};
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

#endif // TEST_RUNTIME_FUZZ_MUTATION_H
