// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ops of a routine give words to which, as found along routes.
#ifndef RUNTIME_PROGRAM_PROOF_HANDOVERS_H
#define RUNTIME_PROGRAM_PROOF_HANDOVERS_H

#include "runtime/program/proof/FabricUse.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Op `sender` gives words to op `receiver` on a color, in some PEs.
struct Handover {
  size_t sender = 0, receiver = 0;
  int64_t color = 0;
  program::Port direction = program::Port::East; ///< of a link
  bool link = false;  ///< to one PE, perhaps past others, not to several
  bool whole = false; ///< all of one are all of the other

  bool operator<(const Handover &other) const {
    return std::tie(sender, receiver, color, direction, link, whole) <
           std::tie(other.sender, other.receiver, other.color, other.direction,
                    other.link, other.whole);
  }
};

/// Lines across the direction of a link, as bits by position: columns of one
/// that leads north or south, rows of the others.
using LinkLines = std::vector<uint64_t>;

inline void addLines(const LinkLines &more, LinkLines &lines) {
  lines.resize(std::max(lines.size(), more.size()));
  for (size_t i = 0; i < more.size(); ++i)
    lines[i] |= more[i];
}

/// Words in order that one op gives to another.
struct Portion {
  size_t sender = 0;
  int64_t first = 0; ///< word of the sender's op
  int64_t words = 0;
  size_t receiver = 0;

  auto operator<=>(const Portion &) const = default;
};

/// What microthreads of PE (x, y) give to main threads, on one color; the same
/// in all PEs where these ops have the same sizes.
struct Relayed {
  int64_t x = 0, y = 0;
  std::vector<Portion> portions;
};

/// All that is paired in a routine.
struct Handovers {
  /// With the lines in which there are words; only of links.
  std::map<Handover, LinkLines> pairs;
  /// Ops of main threads that receive the same words.
  std::set<std::pair<size_t, size_t>> together;
  std::vector<Relayed> relayed;
  /// Ops that receive what enters at the west edge, by color.
  std::map<int64_t, std::set<size_t>> fromHost;
  /// The columns in which words that enter go up a ramp, as half-open ranges:
  /// by color and row.
  std::map<std::pair<int64_t, int64_t>,
           std::vector<std::pair<int64_t, int64_t>>>
      hostColumns;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_HANDOVERS_H
