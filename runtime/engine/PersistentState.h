// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_ENGINE_PERSISTENTSTATE_H
#define RUNTIME_ENGINE_PERSISTENTSTATE_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <map>
#include <vector>

namespace wsec::runtime {

/// What the persistent buffers of all PEs hold between calls, and what of it
/// has been written, in units of 16 bits. PEs that have written nothing are
/// left out.
class PersistentState {
public:
  /// A persistent buffer of a class; `offset` is its place among them.
  struct Piece {
    int64_t address, bytes, offset;
  };
  /// The persistent buffers of one PE, one behind the other.
  struct Held {
    std::vector<uint8_t> bytes;
    std::vector<bool> written; ///< by unit
    bool isWritten(int64_t offset) const { return written[size_t(offset / 2)]; }
    bool operator==(const Held &) const = default;
  };

  /// Nothing is written. The program must have passed the checker.
  explicit PersistentState(const program::Program &program);

  const std::vector<Piece> &pieces(int peClass) const {
    return layout[size_t(peClass)].pieces;
  }
  /// Of all persistent buffers of a PE of the class.
  int64_t bytes(int peClass) const { return layout[size_t(peClass)].bytes; }
  /// Whether the program has any.
  bool any() const;
  /// Memory it takes, about.
  size_t heldBytes() const;

  const std::map<int, Held> &pes() const { return held; }
  /// What a PE holds; null: nothing.
  const Held *of(int pe) const {
    auto found = held.find(pe);
    return found == held.end() ? nullptr : &found->second;
  }
  /// For a PE of the class to hold something.
  Held &at(int pe, int peClass);
  /// Two bytes at `offset` of a PE of the class.
  void write(int pe, int peClass, int64_t offset, const void *from);
  void clear() { held.clear(); }

  /// Whether the same has been written, whatever it is.
  bool sameWritten(const PersistentState &other) const;

private:
  struct Layout {
    std::vector<Piece> pieces;
    int64_t bytes = 0;
  };
  std::vector<Layout> layout; ///< by class
  std::map<int, Held> held;   ///< by PE
};

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_PERSISTENTSTATE_H
