// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run over several processes: process 0 has the store and everything that a
// session has; the others have wafers, and nodes of the tree. Weights come
// over the tree, from process to process; what only one system gets or gives
// passes between its process and process 0.
#ifndef RUNTIME_SWARMX_PASSLINK_H
#define RUNTIME_SWARMX_PASSLINK_H

#include "runtime/engine/Engine.h"
#include "runtime/swarmx/Link.h"
#include "runtime/swarmx/SystemPort.h"
#include "runtime/threads/Mutex.h"

#include <condition_variable>
#include <exception>
#include <memory>
#include <vector>

namespace wsec::runtime {

/// Systems are split over processes in order, as many for each or one more. A
/// node is where its first system is.
unsigned processOf(unsigned member, const Tree &tree, const Link &link);

/// The members of a broadcast that other processes have, by messages.
class PassLink : public Broadcast::Elsewhere {
public:
  PassLink(Link &link, const Tree &tree, uint64_t pass)
      : link(link), tree(tree), pass(pass) {}

  bool holds(unsigned member) const override;
  void request(unsigned member, unsigned channel) override;
  void send(unsigned member, unsigned channel, const WordView &block) override;
  void leave(unsigned member) override;
  void fail(std::exception_ptr why) override;

  /// Whether a message was for the broadcast.
  static bool dispatch(const Message &message, Broadcast &broadcast);

private:
  Link &link;
  const Tree &tree;
  const uint64_t pass;
};

/// In process 0: the calls that systems of other processes make in a pass.
class RemoteCalls {
public:
  RemoteCalls(Link &link, const Tree &tree, const Call &call, uint64_t pass)
      : link(link), tree(tree), call(call), pass(pass),
        systems(tree.systems()) {}

  struct Result {
    RunResult run;
    std::vector<uint64_t> delivered; ///< words, by shared channel
    uint64_t ownBytesIn = 0, bytesOut = 0;
  };
  /// Has a system make the call with the words of `port`, and waits. Throws
  /// what it has thrown.
  Result make(unsigned system, HostPort &port);
  /// Whether a message was about such a call. By the thread that receives.
  bool dispatch(const Message &message);
  /// Ends all waiting, now and later: nothing more is received.
  void fail(std::exception_ptr why);

private:
  struct System {
    HostPort *port = nullptr;
    std::exception_ptr failure;
    std::optional<Message> done;
  };
  void next(System &system, const Message &message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  void store(System &system, const Message &message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);

  Link &link;
  const Tree &tree;
  const Call &call;
  const uint64_t pass;
  Mutex lock;
  std::condition_variable changed;
  std::vector<System> systems ABSL_GUARDED_BY(lock);
  std::exception_ptr ended ABSL_GUARDED_BY(lock);
};

/// In process 0: the other processes serve systems until it says that it was
/// all, or gives up.
class OtherProcesses {
public:
  explicit OtherProcesses(Link &link) : link(link) {}
  ~OtherProcesses() { end(false); }
  void end(bool well) {
    for (unsigned i = 1; i < link.size() && !ended; ++i)
      link.send(i, {Message::Kind::End, {well}});
    ended = true;
  }

private:
  Link &link;
  bool ended = false;
};

/// In the other processes: makes the calls that process 0 asks for, with
/// `wafer` and at most `threads` at a time, until the run ends. False: with an
/// error, which process 0 reports.
bool serveSystems(Link &link, const Call &call, unsigned systems,
                  unsigned threads,
                  const std::function<RunResult(HostPort &)> &wafer);

/// In another process that cannot: tells process 0, which then ends the run,
/// and waits for that.
void refuseToServe(Link &link, std::exception_ptr why);

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_PASSLINK_H
