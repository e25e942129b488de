// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one datapath of each PE of a strip, which its main thread shares with its
// microthreads.
#ifndef RUNTIME_STRIPS_DATAPATH_H
#define RUNTIME_STRIPS_DATAPATH_H

#include <cstddef>
#include <optional>
#include <vector>

namespace wsec::runtime {

/// Keeps what microthreads were given to do and have not been seen to do: owed
/// work, in cycles, for each PE. It is served in the cycles that the main
/// thread leaves free; beyond these, the main thread and the microthreads take
/// turns, so that an instruction of the main thread takes at most twice its own
/// work. Of words that come one by one, between those of others, only those
/// count that come while it has the datapath. All is known when instructions
/// are issued: nothing depends on the order in which the host runs the threads.
class Datapath {
public:
  explicit Datapath(int lanes) : lanes(size_t(lanes)), ends{this->lanes} {}

  /// Microthread `thread` gets `work` in a lane (-1: in all). If it sends words
  /// that come back on `echo` (-1: none do), it has sent no more than the PE
  /// has heard, and the rest of its work is not there yet. `apart`: cycles
  /// between its words while the main thread works, among which those of others
  /// come; 0: they come at once. `idle`: cycles between them while it does not.
  void owe(int thread, int lane, double work, int echo = -1, double apart = 0,
           double idle = 0);
  /// What `thread` was given takes `words` of `color` in a lane (-1: in all).
  /// What sends them is at work meanwhile if it is a microthread, and has sent
  /// them when it has taken them.
  void take(int thread, int lane, int color, double words, bool microthread);
  /// It has taken all of them.
  void taken(int thread);
  /// How many times as long the words of a channel take while another thread
  /// has every second cycle of the datapath, and while two others have three of
  /// four; `part` of them are this PE's.
  struct Slowed {
    double byOne = 1, byTwo = 1, part = 0;
  };
  /// Microthread `thread` was given `words` to receive in a lane (-1: in all),
  /// from `begun` on, which are slowed down by one or two while the main thread
  /// and other microthreads work.
  void receive(int thread, int lane, double begun, double words,
               const Slowed &slowed);
  /// `thread` was given words of `color`, which one of its microthreads sends
  /// and which come back to it: it receives them as fast as that hears them.
  void receiveEcho(int thread, double begun, int color, double words);
  /// When `thread` can have taken the last of them, however fast they come.
  double received(int thread) const;
  /// What a microthread takes turns with.
  enum class Use {
    Sends,    ///< words from SRAM: those that receive
    Receives, ///< words that are there as fast as it takes them: those that
              ///< send
    Row,      ///< words of a channel, some of which are for this PE and others
              ///< for those beside it, where the same goes on: those that pass
    Passes    ///< words of other PEs
  };
  /// Microthread `thread` was given `work` in a lane (-1: in all).
  void compete(int thread, int lane, double begun, double work, Use use);
  /// When `thread` can have done that, as far as others took turns with it.
  double competed(int thread) const;
  /// The main thread was `elapsed` cycles at an instruction, `work` of them at
  /// its steps, of each lane or one number for all, and took the datapath for
  /// the part `taken` of these. Returns the cycles by which microthreads make
  /// it longer in the slowest lane.
  double share(double elapsed, const std::vector<double> &work,
               std::optional<double> calls = {});
  /// Whether microthreads have nothing to do.
  bool idle() const { return owed.empty() && flows.empty() && words.empty(); }
  /// Microthread `thread` is known to have done all it was given.
  void settle(int thread);

private:
  double apart(int thread) const;
  struct Cycles {
    double work = 0, there = 0; ///< of it
    bool operator==(const Cycles &) const = default;
  };
  struct Owed {
    int thread, echo;
    double apart, idle;
    std::vector<Cycles> cycles; ///< of each group of lanes
    double between;             ///< as `apart` says, while it is shared
  };
  struct Words {
    int thread, lane, color;
    double count;
    bool microthread;
  };

  void splitAt(size_t lane);
  size_t groupOf(int lane) const;
  void joinGroups();
  void add(Owed &its, int lane, const Cycles &more);
  void forgetOwed();
  void hear(const Words &heard);
  static void finish(Owed &its);

  struct Flow {
    int thread;
    double begun;
    double cycles; ///< that the words take while the main thread does not work
    Slowed slowed; ///< while it and others do
    double before; ///< of `worked`, or of `computed` if it is heard
    double late;   ///< of words that are heard: cycles for each of `computed`
    double others; ///< what other microthreads had to do then
  };

  double late(const Flow &flow) const;

  /// What takes turns with others of its lane.
  struct Given {
    int thread;
    Use use;
    bool ofAll; ///< lanes
    double begun;
    double cycles; ///< with those in which others had their turn
    std::vector<double> ofEach = {}; ///< these, where lanes of all differ

    double &in(int lane) {
      return ofEach.empty() ? cycles : ofEach[size_t(lane)];
    }
    void spread(size_t lanes) {
      if (ofEach.empty())
        ofEach.assign(lanes, cycles);
    }
    double last() const;
  };
  using Lane = std::vector<Given>;
  void takeTurns(Given &one, Lane &others, int lane) const;

  const size_t lanes;
  Lane ofAll;
  std::vector<Lane> ofLane; ///< once one has any
  unsigned competing = 0;   ///< threads of these, and more, a bit set
  double worked = 0;        ///< by the main thread, so far
  double computed = 0;      ///< the part in which it had the datapath
  std::vector<Flow> flows;
  /// Where groups of neighbouring lanes end that are owed the same: often the
  /// head of a column is one, and all others are the other.
  std::vector<size_t> ends;
  std::vector<Owed> owed;   ///< in the order in which threads were given work
  std::vector<Words> words; ///< that are taken until a thread is awaited
  std::vector<double> ofGroups; ///< while it is shared
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_DATAPATH_H
