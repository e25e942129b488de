// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/PassLink.h"

#include "runtime/swarmx/CanonicalSum.h"
#include "runtime/swarmx/WireWords.h"

#include <bit>

namespace wsec::runtime {

using Kind = Message::Kind;

unsigned processOf(unsigned member, const Tree &tree, const Link &link) {
  const uint64_t first = tree.below(member).first;
  unsigned process = 0;
  while (first >= samplesOf(process, link.size(), tree.systems()).end)
    ++process;
  return process;
}

// ---------------------------------------------------------------- the tree

bool PassLink::holds(unsigned member) const {
  return processOf(member, tree, link) != link.rank();
}

void PassLink::request(unsigned member, unsigned channel) {
  link.send(processOf(tree.parent(member), tree, link),
            {Kind::Ask, {pass, member, channel}});
}

void PassLink::send(unsigned member, unsigned channel, const WordView &block) {
  Message message{Kind::Block, {pass, member, channel}};
  packWords(block, message);
  link.send(processOf(member, tree, link), std::move(message));
}

void PassLink::leave(unsigned member) {
  link.send(processOf(tree.parent(member), tree, link),
            {Kind::Leave, {pass, member}});
}

void PassLink::fail(std::exception_ptr why) {
  Message message{Kind::Failed, {pass}};
  packError(std::move(why), message);
  for (unsigned process = 1; process < link.size(); ++process)
    link.send(process, message);
}

bool PassLink::dispatch(const Message &message, Broadcast &broadcast) {
  const std::vector<uint64_t> &numbers = message.numbers;
  switch (message.kind) {
  case Kind::Ask:
    broadcast.requested(unsigned(numbers[1]), unsigned(numbers[2]));
    return true;
  case Kind::Block:
    broadcast.arrived(unsigned(numbers[1]), unsigned(numbers[2]),
                      unpackWords(message, 3));
    return true;
  case Kind::Leave:
    broadcast.left(unsigned(numbers[1]));
    return true;
  case Kind::Failed:
    broadcast.fail(unpackError(message, 1));
    return true;
  default:
    return false;
  }
}

// ---------------------------------------------------------------- process 0

/// All channels of the streams of a call, as stream, channel, words.
static std::vector<uint64_t> channelWords(const Call &call, HostPort &port) {
  std::vector<uint64_t> numbers;
  for (const program::Launch *launch : call.launchList())
    for (unsigned s = 0; launch->streams() && s < launch->streams()->size();
         ++s) {
      const uint32_t stream = launch->streams()->Get(s);
      const auto &channels = *call.program().streams()->Get(stream)->channels();
      for (uint32_t c = 0; c < channels.size(); ++c)
        numbers.insert(numbers.end(), {stream, c, port.words(stream, c)});
    }
  return numbers;
}

RemoteCalls::Result RemoteCalls::make(unsigned system, HostPort &port) {
  Message begin{Kind::Start, {pass, system}};
  const std::vector<uint64_t> words = channelWords(call, port);
  begin.numbers.insert(begin.numbers.end(), words.begin(), words.end());
  Lock guard(lock);
  System &its = systems[system];
  its.port = &port;
  link.send(processOf(system, tree, link), std::move(begin));
  while (!its.done && !ended)
    guard.wait(changed);
  its.port = nullptr;
  if (!its.done)
    std::rethrow_exception(ended);
  const Message &done = *its.done;
  if (its.failure)
    std::rethrow_exception(its.failure);
  if (done.numbers[2] == 0)
    std::rethrow_exception(unpackError(done, 3));
  Result result;
  auto number = done.numbers.begin() + 3;
  result.run.cycles = std::bit_cast<double>(*number++);
  result.run.hostWordsIn = *number++;
  result.run.hostWordsOut = *number++;
  result.run.vectorInstructions = *number++;
  result.run.operations = *number++;
  result.ownBytesIn = *number++;
  result.bytesOut = *number++;
  result.delivered.assign(number, done.numbers.end());
  return result;
}

void RemoteCalls::next(System &system, const Message &message) {
  const std::vector<uint64_t> &numbers = message.numbers;
  Message reply{Kind::Words, {pass, numbers[1], 1}};
  try {
    packWords(system.port->next(uint32_t(numbers[2]), uint32_t(numbers[3]),
                                size_t(numbers[4])),
              reply);
  } catch (...) {
    reply = {Kind::Words, {pass, numbers[1], 0}};
    packError(std::current_exception(), reply);
  }
  link.send(processOf(unsigned(numbers[1]), tree, link), std::move(reply));
}

void RemoteCalls::store(System &system, const Message &message) {
  try {
    system.port->store(uint32_t(message.numbers[2]),
                       uint32_t(message.numbers[3]), unpackWords(message, 4));
  } catch (...) {
    if (!system.failure)
      system.failure = std::current_exception();
  }
}

void RemoteCalls::fail(std::exception_ptr why) {
  Lock guard(lock);
  ended = why;
  changed.notify_all();
}

bool RemoteCalls::dispatch(const Message &message) {
  if (message.kind != Kind::Next && message.kind != Kind::Store &&
      message.kind != Kind::Done)
    return false;
  Lock guard(lock);
  System &system = systems[message.numbers[1]];
  if (message.kind == Kind::Next)
    next(system, message);
  else if (message.kind == Kind::Store)
    store(system, message);
  else
    system.done = message;
  changed.notify_all();
  return true;
}

} // namespace wsec::runtime
