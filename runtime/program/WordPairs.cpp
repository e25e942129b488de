// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/WordPairs.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime {

using program::Port;

uint32_t WordPairs::numberOf(Uses uses) {
  auto [at, isNew] =
      numbers.try_emplace(std::move(uses), uint32_t(numbers.size()));
  if (isNew)
    byNumber.push_back(&at->first);
  return at->second;
}

Pairing &WordPairs::between(uint32_t sends, uint32_t takes) {
  auto [at, isNew] = pairings.try_emplace(uint64_t(sends) << 32 | takes);
  if (isNew)
    at->second = pair(uses(sends), uses(takes));
  return at->second;
}

/// D1: both sides move the same words in the same order.
Pairing WordPairs::pair(const Uses &sends, const Uses &takes) {
  Pairing pairing;
  pairing.sends = &sends;
  pairing.takes = &takes;
  size_t s = 0, t = 0;
  int64_t sent = 0, taken = 0; // of the current uses
  while (s < sends.size() && t < takes.size()) {
    int64_t words = std::min(sends[s].words - sent, takes[t].words - taken);
    pairing.portions.push_back({sends[s].op, sent, words, takes[t].op});
    bool micro = !routine.ops[sends[s].op].main();
    pairing.fromMicrothreads |= micro;
    const FabricOp &taker = routine.ops[takes[t].op];
    pairing.relays |= micro && (taker.main() || !taker.out);
    sent += words;
    taken += words;
    if (sent == sends[s].words) {
      ++s;
      sent = 0;
    }
    if (taken == takes[t].words) {
      ++t;
      taken = 0;
    }
    ++steps;
  }
  if (s < sends.size())
    throw ofColor(color, "more words are sent than received");
  if (t < takes.size())
    throw ofColor(color, "more words are received than sent");
  return pairing;
}

void WordPairs::record(Pairing &pairing, bool link, Port direction) {
  unsigned way = 1u << (2 * unsigned(direction) + link);
  if (pairing.recorded & way)
    return;
  pairing.recorded |= way;
  auto wordsIn = [](const Uses &uses, size_t op) {
    return std::lower_bound(uses.begin(), uses.end(), Use{op, 0})->words;
  };
  for (const Portion &portion : pairing.portions) {
    bool whole = portion.words == wordsIn(*pairing.sends, portion.sender) &&
                 portion.words == wordsIn(*pairing.takes, portion.receiver);
    result.pairs.insert(
        {portion.sender, portion.receiver, direction, link, whole});
  }
}

/// Main threads that hear the same words of a microthread take them with ops
/// that begin and end at the same words.
void WordPairs::agree(const Pairing &some, const Pairing &others) {
  if (!some.fromMicrothreads)
    return;
  if (some.portions.size() != others.portions.size())
    throw ofColor(color, "received in different portions");
  for (size_t i = 0; i < some.portions.size(); ++i) {
    const Portion &one = some.portions[i], &other = others.portions[i];
    if (one.sender != other.sender || one.first != other.first ||
        one.words != other.words)
      throw ofColor(color, "received in different portions");
    if (one.receiver != other.receiver)
      result.together.insert(std::minmax(one.receiver, other.receiver));
  }
}

} // namespace wsec::runtime
