// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes of a run as threads of one, for tests without MPI.
#ifndef TEST_RUNTIME_SWARMX_LOCALLINK_H
#define TEST_RUNTIME_SWARMX_LOCALLINK_H

#include "runtime/swarmx/Link.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace wsec::runtime::test {

/// What the processes have sent one another.
class Mailboxes {
public:
  explicit Mailboxes(unsigned processes) : boxes(processes) {}

  unsigned size() const { return unsigned(boxes.size()); }
  void put(unsigned from, unsigned to, Message message) {
    std::lock_guard guard(lock);
    boxes[to].emplace_back(from, std::move(message));
    filled.notify_all();
  }
  std::optional<std::pair<unsigned, Message>> take(unsigned at) {
    std::unique_lock guard(lock);
    filled.wait_for(guard, std::chrono::milliseconds(10),
                    [&] { return !boxes[at].empty(); });
    if (boxes[at].empty())
      return {};
    auto message = std::move(boxes[at].front());
    boxes[at].pop_front();
    return message;
  }

private:
  std::mutex lock;
  std::condition_variable filled;
  std::vector<std::deque<std::pair<unsigned, Message>>> boxes;
};

class LocalLink : public Link {
public:
  LocalLink(Mailboxes &all, unsigned process) : all(all), process(process) {}

  unsigned rank() const override { return process; }
  unsigned size() const override { return all.size(); }
  void send(unsigned to, Message message) override {
    all.put(process, to, std::move(message));
  }
  std::optional<std::pair<unsigned, Message>> receive() override {
    return all.take(process);
  }

private:
  Mailboxes &all;
  const unsigned process;
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_SWARMX_LOCALLINK_H
