// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strip: PEs of one class and column that do the same at the same time. Word
// w of lane l of its SRAM lies beside that of lane l + 1, so one instruction on
// all PEs of a strip is one long vector operation.
#ifndef RUNTIME_STRIPS_STRIP_H
#define RUNTIME_STRIPS_STRIP_H

#include "runtime/engine/PersistentState.h"
#include "runtime/engine/Router.h"
#include "runtime/pe/Code.h"
#include "runtime/strips/LaneScalars.h"
#include "runtime/strips/ProgramWords.h"
#include "runtime/strips/StripMemory.h"
#include "runtime/strips/WrittenWords.h"

#include <memory>
#include <vector>

namespace wsec::runtime {

/// Whether words of a color come to a PE along its column, and leave it so.
struct Along {
  bool comes = false, leaves = false;
};

class Strip {
public:
  Strip(int index, int classIndex, const ClassCode &code, int column,
        std::vector<int> rows, std::vector<int64_t> scalars,
        std::vector<bool> varying, std::vector<Along> along = {});

  const int index;
  const int classIndex;
  const ClassCode &code;
  const int column;
  const std::vector<int> rows; ///< of the lanes, from north to south
  const int lanes;
  const std::vector<int64_t> scalars; ///< of lane 0
  const std::vector<bool> varying;    ///< scalars that differ among the lanes

  Coordinate pe(int lane) const { return {column, rows[size_t(lane)]}; }
  int laneOf(Coordinate pe) const;

  /// Scalars of one lane, all of them, until the next call. For the strip's
  /// main thread only.
  const std::vector<int64_t> &laneScalars(int lane);
  /// Likewise, but of those that differ only `which`.
  const std::vector<int64_t> &laneScalars(int lane,
                                          const std::vector<uint16_t> &which) {
    if (scalarsOfLane.empty())
      return laneScalars(lane);
    varyingScalars.copyTo(scalarsOfLane, size_t(lane), which);
    return scalarsOfLane;
  }
  /// Scalars of one lane that `instruction` looks at; others may be those of
  /// another lane.
  const std::vector<int64_t> &laneScalars(int lane,
                                          const InstructionCode &instruction) {
    // Windows of all lanes may differ without that these do.
    const bool windows = instruction.a.windowed || instruction.b.windowed;
    return windows ? laneScalars(lane)
                   : laneScalars(lane, instruction.looseScalars);
  }
  /// Whether all lanes do the same in `instruction`.
  bool uniform(const InstructionCode &instruction) {
    const Alike known = alike[size_t(instruction.index)];
    return known == Alike::Unknown ? findUniform(instruction)
                                   : known == Alike::Yes;
  }
  /// Whether words that come on color `from` and leave on `to` may come from
  /// one PE of the strip and reach another, by way of PEs that are not of it.
  bool passesOn(int from, int to) const {
    auto its = [&](int color) {
      return size_t(color) < along.size() ? along[size_t(color)] : Along();
    };
    return its(from).comes && its(to).leaves;
  }
  /// Whether others may lie between its rows.
  bool isApart() const { return !along.empty(); }
  /// Lanes in which the guard of `instruction` holds.
  const std::vector<int> &activeLanes(const InstructionCode &instruction);

  StripMemory memory;
  /// What of it follows from the program, of what is written down.
  ProgramWords programWords;

  /// Forgets the contents of the SRAM.
  void reset();
  /// The place of a half of a word of one lane that is at home.
  uint8_t *half(int64_t half, int lane) {
    return reinterpret_cast<uint8_t *>(memory.home(half / 2) + lane) +
           half % 2 * 2;
  }
  /// Persistent buffers, whose words are at home before a run and behind it.
  using Pieces = std::vector<PersistentState::Piece>;
  /// What buffers hold first goes to the SRAM.
  void fill();
  /// What a state holds goes to the SRAM.
  void load(const PersistentState &state, int meshWidth);
  /// What is written of it is so for the run that follows.
  void initialise(const PersistentState &state, int meshWidth);
  void bringHome(const Pieces &pieces);
  /// The values of what is written, out of the SRAM.
  void copyTo(PersistentState::Values &values, const Pieces &pieces,
              int meshWidth);
  /// What the run has written of them, or found to be.
  void addWritten(PersistentState::Written &written, const Pieces &pieces,
                  int meshWidth);
  /// The first of `count` halves of words from `half` on that PE `lane` (-1:
  /// some PE) has not written, or `half + count`.
  int64_t firstUninitialised(int64_t half, int64_t count, int lane);
  void markInitialised(int64_t half, int64_t count, int lane);

private:
  bool findUniform(const InstructionCode &instruction);
  template <class Copy>
  void forEachWritten(const UnitSet &written,
                      const PersistentState::Piece &piece, int lane,
                      const Copy &copy);

  const std::vector<Along> along; ///< by color, if its rows lie apart
  WrittenWords written;
  enum class Alike : uint8_t { Unknown, Yes, No };
  std::vector<Alike> alike; ///< whether each instruction is uniform
  /// Active lanes, once somebody asked: by guard, behind those of no guard.
  std::vector<std::unique_ptr<std::vector<int>>> active;
  LaneScalars varyingScalars;         ///< once somebody asked
  std::vector<int64_t> scalarsOfLane; ///< of the last lane asked for
};

/// Cuts the rectangles of all classes into strips, in order of class,
/// rectangle, column and row. PEs that do the same are joined, also with others
/// between them, if it `joins`: then one might wait for itself.
std::vector<std::unique_ptr<Strip>>
makeStrips(const program::Program &program,
           const std::vector<ClassCode> &classes, const RouterTables &router,
           bool joins);

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_STRIP_H
