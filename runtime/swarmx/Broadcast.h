// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_SWARMX_BROADCAST_H
#define RUNTIME_SWARMX_BROADCAST_H

#include "runtime/engine/HostPort.h"
#include "runtime/swarmx/Tree.h"
#include "runtime/threads/Mutex.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <semaphore>
#include <set>
#include <vector>

namespace wsec::runtime {

/// What one pass of the weights brings from the store to all systems: endless
/// sequences of words, one for each of `channels`, cut into blocks. A system
/// asks for the next block of a channel; a node asks its parent for what no
/// child has asked before, and keeps a block until every child has taken it.
/// So the store is asked for each block once, and each edge carries it once,
/// however many systems there are and however far apart they are.
///
/// A node keeps about `windowWords` words: a child that is further ahead waits
/// for its siblings. The child of a node that has taken the fewest words never
/// waits for them, even beyond the window; so somebody can always go on, in
/// whatever order systems ask.
class Broadcast {
public:
  /// The next block of a channel; never empty.
  using Source = std::function<WordView(unsigned channel)>;
  /// Members that other processes hold.
  class Elsewhere {
  public:
    virtual ~Elsewhere() = default;
    virtual bool holds(unsigned member) const = 0;
    /// `member` is here, its parent elsewhere.
    virtual void request(unsigned member, unsigned channel) = 0;
    /// `member` is elsewhere, its parent here.
    virtual void send(unsigned member, unsigned channel,
                      const WordView &block) = 0;
    virtual void leave(unsigned member) = 0;
    /// Nothing more comes from the store, which is here.
    virtual void fail(std::exception_ptr why) = 0;
  };

  /// `source` is called where the store is, under a lock. `elsewhere` null: all
  /// members are here.
  Broadcast(const Tree &tree, unsigned channels, Source source,
            Elsewhere *elsewhere = nullptr,
            size_t windowWords = size_t(1) << 22);

  /// The next block for a system, which waits. It gives `slots` back while it
  /// does, so that others run.
  WordView take(unsigned system, unsigned channel,
                std::counting_semaphore<> *slots = nullptr);
  /// A system needs no more blocks. Nobody waits for it.
  void leave(unsigned system);
  /// Ends all waiting, now and later, with this exception.
  void fail(std::exception_ptr why);

  // What `elsewhere` was asked for, or has sent.
  void requested(unsigned member, unsigned channel);
  void arrived(unsigned member, unsigned channel, WordView block);
  void left(unsigned member);

  /// Bytes that the edge above a member has carried, if its parent is here;
  /// above the top one: what has left the store.
  uint64_t edgeBytes(unsigned member) const;

private:
  struct Child {
    bool active = true;
    uint64_t words = 0;              ///< taken
    std::map<unsigned, size_t> next; ///< block, by channel
    std::set<unsigned> asking;       ///< channels
  };
  struct Window {
    std::deque<WordView> blocks;
    size_t first = 0; ///< number of the first block
    bool asked = false;
  };
  struct Node {
    std::map<unsigned, Child> children;
    std::vector<Window> windows; ///< by channel
    size_t words = 0;            ///< kept
    bool serving = false, again = false;
  };
  struct Inbox {
    std::map<unsigned, WordView> blocks; ///< by channel
    std::condition_variable filled;
  };

  Node &node(unsigned member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock) {
    return nodes[member - tree.systems()];
  }
  bool isHere(unsigned member) const;
  void askAbove(unsigned member, unsigned channel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  void fetch(unsigned channel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  void ask(unsigned member, unsigned channel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  void receive(unsigned member, unsigned channel, WordView block)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  void leaveAbove(unsigned member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  void remove(unsigned member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  void serve(unsigned member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  bool serveOne(unsigned member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  bool serveChild(unsigned member, unsigned child, unsigned channel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  void hand(unsigned member, unsigned child, unsigned channel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  static void forget(Node &node, unsigned channel);
  bool mayFetch(const Node &node, const Child &child) const;
  void failNow(std::exception_ptr why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);

  const Tree tree;
  const Source source;
  Elsewhere *const elsewhere;
  const size_t windowWords;
  mutable Mutex lock;
  std::vector<Node> nodes ABSL_GUARDED_BY(lock);
  std::vector<Inbox> inboxes ABSL_GUARDED_BY(lock);  ///< by system
  std::vector<uint64_t> bytes ABSL_GUARDED_BY(lock); ///< by edge
  std::exception_ptr failure ABSL_GUARDED_BY(lock);
};

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_BROADCAST_H
