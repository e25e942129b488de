// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host streams over the edges of the mesh: who uses which channel, and
// the words of a channel one by one. When they pass is the engines' business.
#ifndef RUNTIME_ENGINE_EDGECHANNELS_H
#define RUNTIME_ENGINE_EDGECHANNELS_H

#include "runtime/engine/HostPort.h"
#include "runtime/engine/Launches.h"
#include "runtime/engine/StoreOrder.h"
#include "runtime/engine/WaitGraph.h"
#include "runtime/observe/Observer.h"
#include "runtime/pe/Word.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// A channel of one host stream, for one launch.
struct ChannelUse {
  size_t launch;
  uint32_t stream, channel;
  uint64_t words;
  uint8_t form = 0;   ///< how elements lie in the words
  uint64_t order = 0; ///< that of its slot, plus 1; 0: it has none
};

/// All uses of the channels of one direction, by row and color, in the order of
/// the launches that list them.
using ChannelUses = std::map<std::pair<int, int>, std::vector<ChannelUse>>;
ChannelUses channelUses(const Call &call, HostPort &host,
                        program::Direction direction);
/// "stream 'x' (color 3, row 0)".
std::string describeChannel(const program::Program &program,
                            const ChannelUse &use, int color, int row);

/// What enters on one color at one row of the west edge.
class WestChannel {
public:
  /// Words of the host, which come when `order` lets them.
  WestChannel(const program::Program &program, int row, int color,
              std::vector<ChannelUse> uses, const StoreOrder &order);
  /// The launch wavelets, whose payload is the number of the launch; behind
  /// each follows what the launch carries.
  explicit WestChannel(const Call &call);

  /// Whether there is a further word, not before from().
  bool hasWord();
  /// The next word, which enters at cycle `now`; there must be one. Throws
  /// BadProgram if the host has another number of words than it announced.
  pe::Word take(HostPort &host, Observer *observer, pe::Cycle now);

  int color() const { return its; }
  /// The order of its next word, which exists: the lowest of a row goes first,
  /// equal ones in turns.
  uint64_t slot() const { return commands ? 0 : uses[use].order; }
  bool carriesCommands() const { return commands; }
  /// From cycle `when` on the streams of launches below `launches` flow.
  void open(size_t launches, int64_t when);
  /// The cycle in which the first word that is still to come is there.
  int64_t from() const { return std::max(since, ordered); }
  /// Words of the host that were taken.
  uint64_t delivered() const { return words; }

private:
  void fetch(HostPort &host);

  const program::Program &program;
  int row, its;
  int64_t since = 0;
  const StoreOrder *order = nullptr;
  int64_t ordered = 0; ///< the store sends nothing of this use before
  size_t opened = 0;   ///< launches whose streams flow
  bool commands;
  std::vector<uint32_t> launches; ///< their words
  std::vector<ChannelUse> uses;
  size_t use = 0;
  uint64_t sent = 0, words = 0; ///< of this use, or all commands; in sum
  WordView view;
  size_t next = 0; ///< of the view
};

/// The channels of one row of the west edge, which share its link: a word per
/// cycle.
class WestRow {
public:
  std::vector<WestChannel> channels;

  /// The channel whose word enters at cycle `now`: of those that have one and
  /// find `room(channel)`, the first in order. Null: none. `later` becomes the
  /// first cycle in which one that has a word may come, if that is before it.
  WestChannel *choose(int64_t now, int64_t &later,
                      const std::function<bool(WestChannel &)> &room);
  /// The word of `chosen` is about to enter at cycle `now`.
  void enters(const WestChannel &chosen, int64_t now);
  uint64_t delivered() const;
  uint64_t stalledCycles() const { return stalled; }
  bool hasData() const;

private:
  size_t first = 0; ///< the channel that is asked first
  int64_t next = 0; ///< the cycle after the last word of the host
  uint64_t stalled = 0;
};

/// Takes the data words that leave the mesh over its east edge.
class EastEdge {
public:
  virtual ~EastEdge() = default;
  /// A word of a channel, which has come at cycle `when`.
  virtual void leave(int row, int color, const pe::Word &word, double when) = 0;
};

/// Gathers what leaves over the east edge and hands it to the host.
class EastChannels : public EastEdge {
public:
  EastChannels(const Call &call, HostPort &host, LaunchLog &log,
               StoreOrder &order, Observer *observer);

  /// Throws PackingMismatch if the host expects other elements.
  void leave(int row, int color, const pe::Word &word, double when) override;
  /// Called when an intermediate tensor is complete.
  std::function<void()> onComplete;
  /// Hands over what is left.
  void finish();
  uint64_t stored() const { return words; }
  /// Adds the channels that lack words of launches below `launches`.
  void addTo(WaitGraph &graph, size_t launches) const;
  /// Channels with words that nobody asked for, in words.
  std::vector<std::string> surplus() const;

private:
  struct Channel {
    std::vector<ChannelUse> uses;
    size_t use = 0;
    uint64_t taken = 0; ///< of this use
    uint64_t tooMany = 0;
    std::vector<float> waiting;
    std::vector<uint8_t> halves; ///< of `waiting`, where elements come in pairs
  };
  void flush(Channel &channel);
  void skipComplete(Channel &channel);

  const program::Program &program;
  HostPort &host;
  LaunchLog &log;
  StoreOrder &order;
  Observer *observer;
  std::map<std::pair<int, int>, Channel> channels; ///< by row and color
  uint64_t words = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_EDGECHANNELS_H
