// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/Broadcast.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime {

Broadcast::Broadcast(const Tree &tree, unsigned channels, Source source,
                     Elsewhere *elsewhere, size_t windowWords)
    : tree(tree), source(std::move(source)), elsewhere(elsewhere),
      windowWords(windowWords), nodes(tree.nodes()), inboxes(tree.systems()),
      bytes(tree.members()) {
  for (unsigned i = 0; i < nodes.size(); ++i) {
    nodes[i].windows.resize(channels);
    for (unsigned child : tree.children(tree.systems() + i))
      nodes[i].children[child];
  }
}

bool Broadcast::isHere(unsigned member) const {
  return !elsewhere || !elsewhere->holds(member);
}

// ------------------------------------------------------- what others call

WordView Broadcast::take(unsigned system, unsigned channel,
                         std::counting_semaphore<> *slots) {
  std::exception_ptr why;
  WordView block;
  bool waits = false;
  {
    Lock guard(lock);
    Inbox &inbox = inboxes[system];
    if (!failure)
      askAbove(system, channel);
    waits = slots && !failure && !inbox.blocks.count(channel);
    if (waits)
      slots->release();
    while (!failure && !inbox.blocks.count(channel))
      guard.wait(inbox.filled);
    why = failure;
    if (!why)
      block = std::move(inbox.blocks.extract(channel).mapped());
  }
  if (waits)
    slots->acquire();
  if (why)
    std::rethrow_exception(why);
  return block;
}

void Broadcast::leave(unsigned system) {
  Lock guard(lock);
  leaveAbove(system);
}

void Broadcast::fail(std::exception_ptr why) {
  Lock guard(lock);
  failNow(std::move(why));
}

void Broadcast::requested(unsigned member, unsigned channel) {
  Lock guard(lock);
  ask(member, channel);
}

void Broadcast::arrived(unsigned member, unsigned channel, WordView block) {
  Lock guard(lock);
  receive(member, channel, std::move(block));
}

void Broadcast::left(unsigned member) {
  Lock guard(lock);
  remove(member);
}

uint64_t Broadcast::edgeBytes(unsigned member) const {
  Lock guard(lock);
  return bytes[member];
}

void Broadcast::failNow(std::exception_ptr why) {
  if (!failure)
    failure = std::move(why);
  for (Inbox &inbox : inboxes)
    inbox.filled.notify_all();
}

// ------------------------------------------------------- upwards

void Broadcast::askAbove(unsigned member, unsigned channel) {
  if (member == tree.top())
    fetch(channel);
  else if (isHere(tree.parent(member)))
    ask(member, channel);
  else
    elsewhere->request(member, channel);
}

void Broadcast::fetch(unsigned channel) {
  try {
    WordView block = source(channel);
    bytes[tree.top()] += block.words() * sizeof(float);
    receive(tree.top(), channel, std::move(block));
  } catch (...) {
    failNow(std::current_exception());
    if (elsewhere)
      elsewhere->fail(failure);
  }
}

void Broadcast::ask(unsigned member, unsigned channel) {
  const unsigned parent = tree.parent(member);
  node(parent).children.at(member).asking.insert(channel);
  serve(parent);
}

void Broadcast::leaveAbove(unsigned member) {
  if (member == tree.top())
    return;
  if (isHere(tree.parent(member)))
    remove(member);
  else
    elsewhere->leave(member);
}

void Broadcast::remove(unsigned member) {
  const unsigned parent = tree.parent(member);
  Node &its = node(parent);
  Child &child = its.children.at(member);
  if (!std::exchange(child.active, false))
    return;
  child.asking.clear();
  if (std::none_of(its.children.begin(), its.children.end(),
                   [](const auto &each) { return each.second.active; }))
    return leaveAbove(parent);
  for (unsigned channel = 0; channel < its.windows.size(); ++channel)
    forget(its, channel);
  serve(parent);
}

// ------------------------------------------------------- downwards

void Broadcast::receive(unsigned member, unsigned channel, WordView block) {
  if (tree.isSystem(member)) {
    inboxes[member].blocks[channel] = std::move(block);
    inboxes[member].filled.notify_all();
    return;
  }
  Node &its = node(member);
  its.words += block.words();
  its.windows[channel].blocks.push_back(std::move(block));
  its.windows[channel].asked = false;
  serve(member);
}

/// Handing a block over may make a child ask for more: calls nest, but only
/// the outermost one of a node goes over its children.
void Broadcast::serve(unsigned member) {
  Node &its = node(member);
  its.again = true;
  if (std::exchange(its.serving, true))
    return;
  while (std::exchange(its.again, false) && !failure)
    while (serveOne(member))
      ;
  its.serving = false;
}

bool Broadcast::serveOne(unsigned member) {
  for (auto &[child, its] : node(member).children)
    for (unsigned channel : its.asking)
      if (serveChild(member, child, channel))
        return true;
  return false;
}

/// Whether anything has happened.
bool Broadcast::serveChild(unsigned member, unsigned child, unsigned channel) {
  Node &its = node(member);
  Window &window = its.windows[channel];
  Child &asker = its.children[child];
  if (asker.next[channel] < window.first + window.blocks.size()) {
    hand(member, child, channel);
    return true;
  }
  if (window.asked || !mayFetch(its, asker))
    return false;
  window.asked = true;
  askAbove(member, channel);
  return !failure;
}

void Broadcast::hand(unsigned member, unsigned child, unsigned channel) {
  Node &its = node(member);
  Window &window = its.windows[channel];
  Child &asker = its.children[child];
  WordView block = window.blocks[asker.next[channel]++ - window.first];
  asker.asking.erase(channel);
  asker.words += block.words();
  bytes[child] += block.words() * sizeof(float);
  forget(its, channel);
  if (isHere(child))
    receive(child, channel, std::move(block));
  else
    elsewhere->send(child, channel, block);
}

/// Drops the blocks of a channel that every child has taken.
void Broadcast::forget(Node &node, unsigned channel) {
  Window &window = node.windows[channel];
  size_t taken = SIZE_MAX;
  for (auto &[member, child] : node.children)
    if (child.active)
      taken = std::min(taken, child.next[channel]);
  for (; window.first < taken && !window.blocks.empty(); ++window.first) {
    node.words -= window.blocks.front().words();
    window.blocks.pop_front();
  }
}

bool Broadcast::mayFetch(const Node &node, const Child &child) const {
  return node.words < windowWords ||
         std::all_of(
             node.children.begin(), node.children.end(),
             [&](const auto &other) {
               return !other.second.active || child.words <= other.second.words;
             });
}

} // namespace wsec::runtime
