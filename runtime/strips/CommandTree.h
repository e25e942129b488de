// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How launch wavelets reach the strips. All PEs hear all of them, in order;
// one that is at work leaves them in its queue, and once that and the routers
// before it are full, they reach nobody behind these routers.
#ifndef RUNTIME_STRIPS_COMMANDTREE_H
#define RUNTIME_STRIPS_COMMANDTREE_H

#include "runtime/engine/Router.h"
#include "runtime/strips/Scheduler.h"
#include "runtime/strips/Strip.h"

#include <optional>
#include <vector>

namespace wsec::runtime {

/// The routers that launch wavelets pass, as a tree from the west edge. Those
/// of PEs of a strip that follow one another, or the same router, are one node:
/// what one of them waits for all do.
struct CommandTree {
  CommandTree() = default;
  /// `stripOf`: of each PE, row by row, or -1.
  CommandTree(const program::Program &program, const RouterTables &router,
              const std::vector<std::unique_ptr<Strip>> &strips,
              const std::vector<int> &stripOf);

  struct Node {
    int above = -1;    ///< the node that passes words on to it; it comes before
    int strip = -1;    ///< whose PEs take the words, if they do
    double cycles = 0; ///< from the node above
    double last = 0;   ///< from its first router to its last PE
    size_t room = 0;   ///< for words, between the node above and it
    std::vector<int> below;
  };
  std::vector<Node> nodes;
  std::vector<std::vector<int>> ofStrip; ///< its nodes
  std::vector<size_t> room;              ///< for words, in a PE of the strip
};

/// The launch wavelets of a run, and what they carry: words 0, 1, .... When a
/// word passes a node follows from when words before it were taken:
///
///     passes(node, w) = max of  passes(above, w) + cycles
///                               passes(node, w - 1) + 1
///                               taken(strip, w - room of the PE) + 1
///                               passes(below, w - room before it) + hops
///
/// Times do not depend on who asks first.
class Commands {
public:
  Commands(const CommandTree &tree, Scheduler &scheduler, size_t words);

  struct Time {
    double when = 0;
    bool first = false; ///< no PE has held it up: it is as early as it can be
  };
  /// When a word is there for all PEs of a strip. None if others have not taken
  /// those before it yet; `reader` is woken when more is known.
  std::optional<Time> arrival(int strip, size_t word, Actor &reader);
  /// A strip takes its next word.
  void take(int strip, double when);
  /// When the last words were taken that others may wait for. While nothing
  /// runs.
  std::vector<double> lastTaken() const;
  /// From now on what `take` is told is written down, by strip; what was is
  /// returned.
  std::vector<std::vector<double>> noteTaken(bool notes);
  /// Goes on `words` later, and so many cycles. While nothing runs, and all
  /// strips have taken the same words.
  void skip(size_t words, double cycles);
  /// Lets words pass though nobody knows when those before them are taken. A
  /// strip is as late as the last of its PEs, so it may wait for what one of
  /// them would have brought about. Whether a strip waited.
  bool release();

private:
  /// The last times of a sequence.
  struct Times {
    size_t count = 0;
    std::vector<Time> kept;
    const Time &at(size_t index) const { return kept[index % kept.size()]; }
    void add(const Time &time) { kept[count++ % kept.size()] = time; }
    void keep(size_t most);
    void skip(size_t words, double cycles);
  };
  bool advance(size_t node);
  void advanceFrom(std::vector<int> changed);
  void advanceAll();

  const CommandTree &tree;
  Scheduler &scheduler;
  const size_t words;
  SpinLock lock;
  bool released = false;
  std::vector<Times> passed; ///< by node
  std::vector<Times> taken;  ///< by strip
  std::vector<Actor *> waiting;
  std::vector<std::vector<double>> noted; ///< none: nothing is
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_COMMANDTREE_H
