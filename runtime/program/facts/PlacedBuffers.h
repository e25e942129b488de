// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Routines that are equal but for addresses are one, whose launches carry where
// its operands lie: offsets in a buffer around all of them.
#ifndef RUNTIME_PROGRAM_FACTS_PLACEDBUFFERS_H
#define RUNTIME_PROGRAM_FACTS_PLACEDBUFFERS_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// What a launch carries, as far as it is the same in all calls of the entry.
using KnownArguments = std::vector<std::optional<int64_t>>;
KnownArguments knownArguments(const program::Entry &entry,
                              const program::Launch &launch);

/// The buffers of a class, by where launches place operands in them.
class PlacedBuffers {
public:
  explicit PlacedBuffers(const program::PEClass &peClass);

  /// The number of the buffer that an operand of `buffer` at `offset` lies in,
  /// if its launch carries these numbers: of the buffers of its type that begin
  /// where they lead, the largest; `buffer` itself where there is none.
  uint32_t of(uint32_t buffer, const program::Affine *offset,
              const KnownArguments &arguments) const;

private:
  using Statements =
      flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;
  void findPlaced(const Statements *body, uint32_t arguments);
  void addPlaced(uint32_t buffer, const program::Affine *offset,
                 uint32_t arguments);

  const program::PEClass &peClass;
  std::set<uint32_t> placed; ///< those that arguments lead into
  /// The others, by address and type.
  std::map<std::pair<uint32_t, program::ElementType>, uint32_t> fixed;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FACTS_PLACEDBUFFERS_H
