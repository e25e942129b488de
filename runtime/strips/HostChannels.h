// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The edge of the wafer: channels that bring the host's words in at the west
// and take words out at the east.
#ifndef RUNTIME_STRIPS_HOSTCHANNELS_H
#define RUNTIME_STRIPS_HOSTCHANNELS_H

#include "runtime/engine/EdgeChannels.h"
#include "runtime/engine/StoreOrder.h"
#include "runtime/strips/World.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace wsec::runtime {

class InputRow;

/// Slot and launch of a use, which goes before greater ones.
using Priority = std::pair<uint64_t, size_t>;

/// Words of a row, between the cycles in which the first one enters and the
/// last one has entered.
struct Entered {
  double begin, end, perCycle;
  Priority priority;
};

/// Feeds the streams of one color that enter at one row, one after the other,
/// a word each cycle, or as its row says.
class InputChannel : public Actor {
public:
  InputChannel(World &world, HostPort &host, const StoreOrder &order,
               InputRow &row, int color);
  void run() override;
  bool done() const { return next == uses.size(); }
  std::string describe() const;
  /// Lets it go on without those that have not asked for words, if there are
  /// some.
  bool release();
  /// Whether it has brought all that it may.
  bool rests() const { return done() || (deliveredOfUse == 0 && isHeld()); }
  /// By how much it could have begun later since the last call, without being
  /// later with anything; negative: not at all.
  double takeMargin() { return std::exchange(margin, INFINITY); }
  /// When it can bring the next word.
  double clock() const { return now; }
  /// Goes on behind the uses of launches below `launch`, `cycles` later. Only
  /// while it rests.
  void skip(size_t launch, double cycles);

  std::vector<ChannelUse> uses;
  uint64_t delivered = 0;

private:
  friend class InputRow;

  World &world;
  HostPort &host;
  const StoreOrder &order;
  InputRow &row;
  int color;
  /// How the columns take the words that all of them have asked for.
  struct Pace {
    size_t words = 0;     ///< 0: some have not asked
    double start = 0;     ///< when the last begins to take them
    double perWord = 1;   ///< cycles
    double ahead = 1e300; ///< words that come before `start`
  };
  /// `ofAll` false: of those that have asked. They are told from the others
  /// while nothing runs, or it would depend on who runs first.
  Pace pace(bool ofAll);
  /// Fetches the next words, unless some are there; false: it has to wait.
  bool fetch();
  bool isHeld() const { return uses[next].launch >= world.untilLaunch; }
  /// Lets some of the words that are there enter, from `first` on.
  void enter(size_t words, double first, double cyclesPerWord);
  void skipComplete();

  Links links;
  size_t next = 0;
  uint64_t deliveredOfUse = 0;
  bool waits = false;
  std::optional<Pace> released; ///< of those that had asked then
  /// Words to enter, at the times that the channel itself decides.
  Chunk fetched;
  size_t left = 0;    ///< of them, the last ones
  double perWord = 1; ///< cycles
  double now;
  double margin = INFINITY;
  /// Words that have entered beside other channels, the last of them.
  std::vector<Entered> entered;
};

/// The channels of a row. Their words share a link, which takes one each cycle:
/// that of the lowest slot, and of those without slots in turns. So words enter
/// between those of lower slots, and hold up those of higher ones, which are
/// later from then on. A channel waits until it is known what lower ones bring,
/// or until nothing else can run, so cycles do not depend on who runs first.
class InputRow {
public:
  explicit InputRow(int index) : index(index) {}

  const int index;
  std::vector<InputChannel *> channels;
  ActorGroup group; ///< they take turns on one thread of the host

  /// Brings what can be brought.
  void run();
  /// While nothing runs: lets a channel go that waits for lower ones, if there
  /// is one.
  bool release();

private:
  static Priority priorityOf(const InputChannel &channel) {
    const ChannelUse &use = channel.uses[channel.next];
    return {use.order, use.launch};
  }
  void enter(InputChannel &chosen);

  InputChannel *waits = nullptr;
  bool released = false;
};

/// Hands the words that leave at one row to the host.
class OutputChannel : public Actor {
public:
  OutputChannel(World &world, HostPort &host, StoreOrder &order, int color,
                int row);
  void run() override;
  bool done() const { return next == uses.size(); }
  bool rests() const {
    return done() ||
           (storedOfUse == 0 && uses[next].launch >= world.untilLaunch);
  }
  /// Goes on behind the uses of launches below `launch`.
  void skip(size_t launch);
  /// Adds what the channel lacks.
  void addTo(WaitGraph &graph) const;

  std::vector<ChannelUse> uses;
  uint64_t stored = 0;
  /// Run again when a tensor is complete in the store.
  std::vector<Actor *> waiting;

private:
  World &world;
  HostPort &host;
  StoreOrder &order;
  int color, row;
  StripQueue &queue;
  size_t next = 0;
  uint64_t storedOfUse = 0;
};

struct HostChannels {
  std::unique_ptr<StoreOrder> order;
  std::vector<std::unique_ptr<InputRow>> rows;
  std::vector<std::unique_ptr<InputChannel>> inputs;
  std::vector<std::unique_ptr<OutputChannel>> outputs;
};

/// The channels that the launches of the program use.
HostChannels makeHostChannels(World &world, HostPort &host);

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_HOSTCHANNELS_H
