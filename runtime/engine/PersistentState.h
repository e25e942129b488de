// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_ENGINE_PERSISTENTSTATE_H
#define RUNTIME_ENGINE_PERSISTENTSTATE_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace wsec::runtime {

/// Units of 16 bits, by number: which of them have been written.
class UnitSet {
public:
  explicit UnitSet(size_t units = 0) : count(units), bits((units + 63) / 64) {}

  size_t size() const { return count; }
  bool operator[](size_t unit) const {
    return bits[unit / 64] >> unit % 64 & 1;
  }
  void insert(size_t from, size_t to);
  /// The units of both, and the units of this one alone.
  UnitSet operator&(const UnitSet &other) const;
  UnitSet operator-(const UnitSet &other) const;
  bool operator==(const UnitSet &) const = default;

  /// Calls `visit(begin, end)` for the runs of units in [from, to).
  template <class Visit>
  void forEachRun(size_t from, size_t to, const Visit &visit) const {
    while ((from = next(from, to, true)) < to) {
      const size_t end = next(from, to, false);
      visit(from, end);
      from = end;
    }
  }

private:
  /// The first unit of [from, to) that is in the set or not, or `to`.
  size_t next(size_t from, size_t to, bool isIn) const;

  size_t count;
  std::vector<uint64_t> bits;
};

/// What the persistent buffers of all PEs hold between calls, and what of it
/// has been written. PEs that have written nothing are left out.
///
/// An engine may keep the values where it computes, from call to call: then
/// only who looks at them here pays for bringing them.
class PersistentState {
public:
  /// A persistent buffer of a class; `offset` is its place among them.
  struct Piece {
    int64_t address, bytes, offset;
  };
  /// The persistent buffers of one PE, one behind the other.
  struct Held {
    std::vector<uint8_t> bytes;
    UnitSet written;
    bool operator==(const Held &) const = default;
  };
  /// By PE.
  using Values = std::map<int, Held>;
  using Written = std::map<int, UnitSet>;

  /// An engine that keeps the values of a state.
  class Keeper {
  public:
    virtual ~Keeper() = default;
    /// Brings the values of all that is written.
    virtual void bring(Values &values) = 0;
    /// Gives its values back what they were before the last change.
    virtual void undo() = 0;
    /// The state is another one now, or kept no longer.
    virtual void forget() = 0;
  };

  /// Nothing is written. The program must have passed the checker.
  explicit PersistentState(const program::Program &program);
  ~PersistentState();
  /// A copy has its values itself.
  PersistentState(const PersistentState &other);
  PersistentState &operator=(const PersistentState &other);

  const std::vector<Piece> &pieces(int peClass) const {
    return layout[size_t(peClass)].pieces;
  }
  /// Bytes of all persistent buffers of a PE of the class.
  int64_t bytes(int peClass) const { return layout[size_t(peClass)].bytes; }
  /// Whether the program has any.
  bool any() const;

  const Values &pes() const {
    fetch();
    return held;
  }
  /// What a PE holds; null: nothing.
  const Held *of(int pe) const {
    fetch();
    auto found = held.find(pe);
    return found == held.end() ? nullptr : &found->second;
  }
  /// For a PE of the class to hold something.
  Held &at(int pe, int peClass);
  /// Two bytes at `offset` of a PE of the class.
  void write(int pe, int peClass, int64_t offset, const void *from);
  void clear();

  /// What a PE has written; null: nothing.
  const UnitSet *writtenOf(int pe) const {
    auto found = held.find(pe);
    return found == held.end() ? nullptr : &found->second.written;
  }
  /// What has been written, and whether it is that.
  Written written() const;
  bool isWritten(const Written &where) const;

  // ---- changes, which `undo` takes back until they are settled

  /// Values are going to be written here.
  void change();
  bool isKeptBy(const Keeper &engine) const { return keeper == &engine; }
  /// `engine` has the values from now on; so much of them is written.
  void keep(Keeper &engine, Written written);
  /// Nobody keeps them from now on.
  void release();
  void undo();
  void settle() { earlier.reset(); }

private:
  struct Layout {
    std::vector<Piece> pieces;
    int64_t bytes = 0;
  };
  /// Before a change: all values, if they change here, else what was written.
  struct Earlier {
    std::optional<Values> values;
    Written written;
    Keeper *keeper = nullptr;
    bool isStale = false;
  };

  void fetch() const {
    if (isStale)
      bring();
  }
  void bring() const;

  std::vector<Layout> layout; ///< by class
  mutable Values held;
  mutable bool isStale = false; ///< the keeper has newer values
  Keeper *keeper = nullptr;
  std::optional<Earlier> earlier;
};

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_PERSISTENTSTATE_H
