// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_SWARMX_LINK_H
#define RUNTIME_SWARMX_LINK_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// What processes of one run tell each other.
struct Message {
  enum class Kind : uint64_t {
    Program,  ///< where it is, for how many systems, and what runs them
    Ready,    ///< for passes
    Begin,    ///< a pass, of the first systems
    Start,    ///< a system makes its call
    Ask,      ///< a member wants the next block of a channel
    Block,    ///< of a channel, for a member
    Leave,    ///< a member needs no more blocks
    Next,     ///< a system wants words that only it gets
    Words,    ///< those
    Store,    ///< words that leave a system
    Done,     ///< the call of a system, or its error
    Count,    ///< what the edges of a pass have carried; asked and answered
    Partials, ///< of a member, on their way up
    Weights,  ///< of a parameter that trains, as they are now
    Input,    ///< of a batch
    Batch,    ///< is to be made, with gradients or without
    Share,    ///< what a process has made of it
    Failed,   ///< the broadcast, or a process, with an error
    End,      ///< of the run, well or not
  };
  Kind kind;
  std::vector<uint64_t> numbers;
  std::vector<uint8_t> bytes = {};

  /// Whether it is of that pass, of which the first number tells.
  bool isOf(uint64_t pass) const {
    return !numbers.empty() && numbers[0] == pass;
  }
};

/// The processes of a run, 0 to size() - 1. Messages from one process to
/// another keep their order.
class Link {
public:
  virtual ~Link() = default;
  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;
  /// From any thread.
  virtual void send(unsigned to, Message message) = 0;
  /// The next message and who sent it, after some milliseconds nothing. By one
  /// thread.
  virtual std::optional<std::pair<unsigned, Message>> receive() = 0;
};

/// A process alone.
class OneProcess : public Link {
public:
  unsigned rank() const override { return 0; }
  unsigned size() const override { return 1; }
  void send(unsigned, Message) override {}
  std::optional<std::pair<unsigned, Message>> receive() override { return {}; }
};

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_LINK_H
