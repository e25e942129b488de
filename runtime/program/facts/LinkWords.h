// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many data words cross each link of the mesh, as code, routes and host
// streams say; nothing runs.
#ifndef RUNTIME_PROGRAM_FACTS_LINKWORDS_H
#define RUNTIME_PROGRAM_FACTS_LINKWORDS_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace wsec::program {
struct Program;
} // namespace wsec::program

namespace wsec::runtime {

/// Words of one color that routers pass in a launch. They come in by the one
/// port that a route receives from, and leave by each that it transmits to.
struct PassedWords {
  /// Columns [begin, end).
  struct Run {
    int begin = 0, end = 0;
    int64_t words = 0;
    bool operator==(const Run &other) const { return key() == other.key(); }
    bool operator<(const Run &other) const { return key() < other.key(); }
    std::tuple<int, int, int64_t> key() const { return {begin, end, words}; }
  };
  /// Rows [begin, end) have the same runs, of words > 0.
  struct Rows {
    int begin = 0, end = 0;
    std::vector<Run> runs;
    bool operator<(const Rows &other) const {
      return std::tie(begin, end, runs) <
             std::tie(other.begin, other.end, other.runs);
    }
  };

  int color = 0;
  std::vector<Rows> rows; ///< those with words, from north to south
  bool operator<(const PassedWords &other) const {
    return std::tie(color, rows) < std::tie(other.color, other.rows);
  }
};

struct LinkWords {
  struct Launch {
    std::string entry;
    uint32_t kernel = 0;
    std::vector<uint32_t> tables; ///< one for each color that has words
    std::string unknown; ///< if not empty, why they are not known; no tables
  };

  std::vector<PassedWords> tables; ///< each once, whoever shares it
  std::vector<Launch> launches;    ///< entry after entry, in their order
};

/// The program has passed the checker. What depends on data, arguments of a
/// call, tasks or switches is unknown.
LinkWords countLinkWords(const program::Program &program);

/// Words that leave each PE by each port (by Port, then PE) in a call of an
/// entry whose launches are all known.
std::array<std::vector<int64_t>, 5> wordsByLink(const program::Program &program,
                                                const LinkWords &words,
                                                std::string_view entry);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FACTS_LINKWORDS_H
