// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shape of a stream's routes, as data: how its words travel, which way, and
// who takes part. Who routes, proves, traces or counts a stream reads these and
// asks for no pattern by name. Plain C++: no MLIR here.

#ifndef WSEC_DIALECTS_FABRIC_STREAMPATTERN_H
#define WSEC_DIALECTS_FABRIC_STREAMPATTERN_H

#include "dialects/fabric/Fabric.h"

#include <cstddef>
#include <iterator>
#include <tuple>

namespace wsec::fabric {

/// How the words of a stream travel.
enum class Movement : uint8_t {
  Launch,    ///< from PE (0,0) of the mesh to every PE of all regions
  In,        ///< from the west edge of the mesh, along rows with a channel
  Out,       ///< along rows with a channel, off the east edge of the mesh
  Multicast, ///< from one PE of each group to all PEs of the group
  Link,      ///< from each member of a line to the next one; two colors, by the
             ///< number of the sender, mod 2, so that no PE receives what it
             ///< sends
  Transfer,  ///< from the last column (first, if it goes west) of each row to
             ///< the PEs of another region that hold some of its tokens; one
             ///< color or more, which rows take in turn
};

/// Which PEs take part, of a row where words go east or west, else a column.
enum class Members : uint8_t {
  All,    ///< all of the region's
  Groups, ///< those of the stream's row set, each group apart; those of a link
          ///< are the first of each group
  Channels, ///< In: the columns that each west channel serves, whose injectors
            ///< they are. Multicast: from the injector up and down into the
            ///< rows of the stream's row set
  Others,   ///< the same but for the injector
  Exits,    ///< those in the last column that share an east channel, on the way
            ///< to its row
  Bands,    ///< rows of the stream's row set on their way to the exit of their
            ///< column (wsec::bandsOf), and the last of each exit or its half
};

struct StreamPattern {
  Movement movement = Movement::In;
  Port toward = Port::East; ///< ramp: to both sides, or wherever PEs lie
  Members members = Members::All;
  uint8_t number = 0; ///< of those that are equal but have colors of their own

  constexpr bool operator==(const StreamPattern &other) const {
    return movement == other.movement && toward == other.toward &&
           members == other.members && number == other.number;
  }
  constexpr bool operator!=(const StreamPattern &other) const {
    return !(*this == other);
  }
  bool operator<(const StreamPattern &other) const {
    return std::tie(movement, toward, members, number) <
           std::tie(other.movement, other.toward, other.members, other.number);
  }

  /// Colors that its streams take, a transfer at least: two where neighbours
  /// take turns.
  constexpr int colors() const { return movement == Movement::Link ? 2 : 1; }
  /// Whether it depends on the row set of the stream.
  constexpr bool takesRows() const {
    return members == Members::Groups || members == Members::Bands ||
           isFromInjectors();
  }
  /// Whether that counts columns.
  constexpr bool groupsColumns() const {
    return members == Members::Groups && isAlongRows(toward);
  }
  constexpr bool isFromInjectors() const {
    return movement == Movement::Multicast &&
           (members == Members::Channels || members == Members::Others);
  }
  /// Whether its words pass PEs beside the regions.
  constexpr bool leavesRegions() const {
    return movement != Movement::Multicast && movement != Movement::Link;
  }

#define WSEC_PATTERN(ID, NAME, MOVEMENT, TOWARD, MEMBERS, NUMBER)              \
  static const StreamPattern ID;
#include "dialects/fabric/Patterns.def"
};

#define WSEC_PATTERN(ID, NAME, MOVEMENT, TOWARD, MEMBERS, NUMBER)              \
  inline constexpr StreamPattern StreamPattern::ID{                            \
      Movement::MOVEMENT, Port::TOWARD, Members::MEMBERS, NUMBER};
#include "dialects/fabric/Patterns.def"

struct NamedPattern {
  const char *name;
  StreamPattern pattern;
};
inline constexpr NamedPattern allPatterns[] = {
#define WSEC_PATTERN(ID, NAME, MOVEMENT, TOWARD, MEMBERS, NUMBER)              \
  {NAME, StreamPattern::ID},
#include "dialects/fabric/Patterns.def"
};

/// The pattern's place in allPatterns; behind them if it has no name.
constexpr size_t numberOf(const StreamPattern &pattern) {
  size_t number = 0;
  while (number < std::size(allPatterns) &&
         allPatterns[number].pattern != pattern)
    ++number;
  return number;
}
constexpr const char *name(const StreamPattern &pattern) {
  const size_t number = numberOf(pattern);
  return number < std::size(allPatterns) ? allPatterns[number].name : "unnamed";
}
/// The pattern of that name; nothing for any other word.
std::optional<StreamPattern> patternNamed(std::string_view word);

} // namespace wsec::fabric

#endif // WSEC_DIALECTS_FABRIC_STREAMPATTERN_H
