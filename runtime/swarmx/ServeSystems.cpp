// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Errors.h"
#include "runtime/swarmx/PassLink.h"
#include "runtime/swarmx/WireWords.h"
#include "runtime/threads/Mutex.h"
#include "runtime/threads/StartThread.h"

#include <bit>
#include <deque>
#include <map>
#include <thread>

namespace wsec::runtime {

using Kind = Message::Kind;

namespace {

/// The store of a system whose process does not have it.
class RemotePort : public HostPort {
public:
  RemotePort(Link &link, const Message &start) : link(link), start(start) {
    for (size_t i = 2; i < start.numbers.size(); i += 3)
      counts[{start.numbers[i], start.numbers[i + 1]}] = start.numbers[i + 2];
  }

  uint64_t words(uint32_t stream, uint32_t channel) override {
    return counts.at({stream, channel});
  }
  WordView next(uint32_t stream, uint32_t channel, size_t maxWords) override {
    link.send(
        0, {Kind::Next,
            {start.numbers[0], start.numbers[1], stream, channel, maxWords}});
    Lock guard(lock);
    while (!answer)
      guard.wait(arrived);
    const Message message = *std::exchange(answer, std::nullopt);
    if (message.numbers[2] == 0)
      std::rethrow_exception(unpackError(message, 3));
    return unpackWords(message, 3);
  }
  void store(uint32_t stream, uint32_t channel,
             const WordView &words) override {
    Message message{Kind::Store,
                    {start.numbers[0], start.numbers[1], stream, channel}};
    packWords(words, message);
    link.send(0, std::move(message));
  }
  void answered(const Message &message) {
    Lock guard(lock);
    answer = message;
    arrived.notify_all();
  }

private:
  Link &link;
  const Message start;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> counts;
  Mutex lock;
  std::condition_variable arrived;
  std::optional<Message> answer ABSL_GUARDED_BY(lock);
};

/// The systems of this process, in one pass.
class ServedPass {
public:
  ServedPass(Link &link, const Tree &tree, const SharedChannels &shared,
             uint64_t number, unsigned active, std::counting_semaphore<> &slots,
             const std::function<RunResult(HostPort &)> &wafer)
      : number(number), link(link), tree(tree), shared(shared), slots(slots),
        wafer(wafer), elsewhere(link, tree, number),
        broadcast(tree, shared.size(), {}, &elsewhere) {
    for (unsigned idle = active; idle < tree.systems(); ++idle)
      if (!elsewhere.holds(idle))
        broadcast.leave(idle);
  }
  ~ServedPass() { join(); }

  void dispatch(const Message &message) {
    if (message.kind == Kind::Start)
      start(message);
    else if (message.kind == Kind::Words)
      ports.at(unsigned(message.numbers[1]))->answered(message);
    else if (message.kind == Kind::Count)
      count();
    else
      PassLink::dispatch(message, broadcast);
  }

  const uint64_t number;

private:
  void start(const Message &message) {
    const auto system = unsigned(message.numbers[1]);
    auto &port = ports[system] = std::make_unique<RemotePort>(link, message);
    try {
      threads.push_back(startThread("system " + std::to_string(system),
                                    [this, system, own = port.get()] {
                                      slots.acquire();
                                      Message done = run(system, *own);
                                      broadcast.leave(system);
                                      slots.release();
                                      link.send(0, std::move(done));
                                    }));
    } catch (...) {
      broadcast.leave(system);
      link.send(0, failed(system));
    }
  }
  /// With the error that is caught now.
  Message failed(unsigned system) const {
    Message done{Kind::Done, {number, system, 0}};
    packError(std::current_exception(), done);
    return done;
  }
  Message run(unsigned system, RemotePort &own) {
    Message done{Kind::Done, {number, system, 1}};
    try {
      SystemPort port(own, shared, broadcast, system, &slots);
      const RunResult result = wafer(port);
      done.numbers.insert(done.numbers.end(),
                          {std::bit_cast<uint64_t>(result.cycles),
                           result.hostWordsIn, result.hostWordsOut,
                           result.vectorInstructions, result.operations,
                           port.ownBytesIn(), port.bytesOut()});
      done.numbers.insert(done.numbers.end(), port.delivered().begin(),
                          port.delivered().end());
    } catch (...) {
      return failed(system);
    }
    return done;
  }
  /// Everybody is done.
  void count() {
    join();
    Message answer{Kind::Count, {number}};
    for (unsigned member = 0; member < tree.members(); ++member)
      answer.numbers.push_back(broadcast.edgeBytes(member));
    link.send(0, std::move(answer));
  }
  void join() {
    for (std::thread &thread : threads)
      thread.join();
    threads.clear();
  }

  Link &link;
  const Tree &tree;
  const SharedChannels &shared;
  std::counting_semaphore<> &slots;
  const std::function<RunResult(HostPort &)> &wafer;
  PassLink elsewhere;
  Broadcast broadcast;
  std::map<unsigned, std::unique_ptr<RemotePort>> ports;
  std::vector<std::thread> threads;
};

} // namespace

bool serveSystems(Link &link, const Call &call, unsigned systems,
                  unsigned threads,
                  const std::function<RunResult(HostPort &)> &wafer) {
  const Tree tree(systems);
  const SharedChannels shared(call);
  std::counting_semaphore<> slots{ptrdiff_t(threads)};
  std::unique_ptr<ServedPass> pass;
  link.send(0, {Kind::Ready, {}});
  std::deque<Message> early; // of a pass that this process has not heard of
  for (;;) {
    std::optional<std::pair<unsigned, Message>> received = link.receive();
    if (!received)
      continue;
    Message &message = received->second;
    if (message.kind == Kind::End)
      return message.numbers[0] != 0;
    if (message.numbers.empty())
      continue; // of no pass
    const uint64_t number = message.numbers[0];
    if (message.kind == Kind::Begin) {
      pass = nullptr;
      pass = std::make_unique<ServedPass>(link, tree, shared, number,
                                          unsigned(message.numbers[1]), slots,
                                          wafer);
      for (const Message &each : std::exchange(early, {}))
        if (each.numbers[0] == number)
          pass->dispatch(each);
    } else if (pass && pass->number == number) {
      pass->dispatch(message);
    } else if (!pass || number > pass->number) {
      early.push_back(std::move(message));
    }
  }
}

void refuseToServe(Link &link, std::exception_ptr why) {
  Message failed{Kind::Failed, {0}};
  packError(std::move(why), failed);
  link.send(0, std::move(failed));
  for (;;)
    if (const auto received = link.receive())
      if (received->second.kind == Kind::End)
        return;
}

} // namespace wsec::runtime
