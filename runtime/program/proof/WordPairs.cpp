// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/WordPairs.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime {

using program::Port;

void WordPairs::look(std::vector<std::vector<int64_t>> lines) {
  alike = std::move(lines);
  known.clear();
  ++looks;
}

uint32_t WordPairs::numberOf(Counts words) {
  uint64_t hash = words.size();
  for (int64_t each : words)
    hash = (hash ^ uint64_t(each)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 32;
  steps += int64_t(words.size());
  const auto [first, last] = hashed.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (counts[at->second] == words)
      return at->second;
  const uint32_t number = uint32_t(counts.size());
  hashed.emplace(hash, number);
  counts.push_back(std::move(words));
  return number;
}

uint32_t WordPairs::numberOf(Uses uses) {
  auto [at, isNew] =
      numbers.try_emplace(std::move(uses), uint32_t(numbers.size()));
  if (isNew)
    byNumber.push_back(&at->first);
  return at->second;
}

Pairing &WordPairs::between(uint32_t sends, uint32_t takes) {
  const uint64_t key = uint64_t(sends) << 32 | takes;
  const auto known = pairings.find(key);
  if (known != pairings.end())
    return known->second;
  return pairings.emplace(key, pair(uses(sends), uses(takes))).first->second;
}

/// Whether in no line the second are more than the first.
bool WordPairs::covers(uint32_t more, uint32_t fewer) {
  const Counts &a = counts[fewer], &b = counts[more];
  steps += int64_t(a.size());
  return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
}

uint32_t WordPairs::minus(uint32_t more, uint32_t fewer) {
  Counts left = counts[more];
  for (size_t line = 0; line < left.size(); ++line)
    left[line] -= counts[fewer][line];
  return numberOf(std::move(left));
}

/// D1: both sides move the same words in the same order.
///
/// In three lines a sends 4, 6 and 0 words, then b 1, 1 and 0; c takes 5, 7 and
/// 0 words: two portions, of 4, 6, 0 words and of 1, 1, 0. Did c take 3, 7 and
/// 0, the first line would have more than one portion from a, the second not:
/// such lines are not looked at together.
Pairing WordPairs::pair(const Uses &sends, const Uses &takes) {
  Pairing pairing;
  pairing.sends = &sends;
  pairing.takes = &takes;
  auto from = sends.begin(), to = takes.begin();
  uint32_t sent = 0, taken = 0; // what is left of the current uses
  bool isNewSender = true, isNewTaker = true;
  while (from != sends.end() && to != takes.end()) {
    ++steps;
    if (std::exchange(isNewSender, false))
      sent = from->words;
    if (std::exchange(isNewTaker, false))
      taken = to->words;
    const bool sentEnds = sent == taken || covers(taken, sent);
    const bool takenEnds = sent == taken || (!sentEnds && covers(sent, taken));
    if (!sentEnds && !takenEnds)
      throw NotUnderstood{"the words of statement " +
                          std::to_string(routine.ops[from->op].statement) +
                          " are more or fewer than received, in turn"};
    const uint32_t words = sentEnds ? sent : taken;
    pairing.portions.push_back({from->op, sent, words, to->op});
    const bool micro = !routine.ops[from->op].main();
    pairing.fromMicrothreads |= micro;
    const FabricOp &taker = routine.ops[to->op];
    pairing.relays |= micro && (taker.main() || !taker.out);
    if (!sentEnds)
      sent = minus(sent, taken);
    if (!takenEnds)
      taken = minus(taken, words);
    isNewSender = sentEnds;
    isNewTaker = takenEnds;
    from += sentEnds;
    to += takenEnds;
  }
  auto statement = [&](const Use &use) {
    return ": statement " + std::to_string(routine.ops[use.op].statement);
  };
  if (from != sends.end())
    throw NotUnderstood{"more words are sent than received" + statement(*from)};
  if (to != takes.end())
    throw NotUnderstood{"more words are received than sent" + statement(*to)};
  return pairing;
}

/// The lines in which there are some of the words.
const LinkLines &WordPairs::linesOf(uint32_t words) {
  auto [at, isNew] = known.try_emplace(words);
  LinkLines &lines = at->second;
  if (!isNew)
    return lines;
  for (size_t i = 0; i < alike.size(); ++i) {
    if (counts[words][i] == 0)
      continue;
    lines.resize(std::max(lines.size(), size_t(alike[i].back()) / 64 + 1));
    for (int64_t line : alike[i])
      lines[size_t(line) / 64] |= uint64_t(1) << (line % 64);
    steps += int64_t(alike[i].size());
  }
  return lines;
}

void WordPairs::record(Pairing &pairing, int64_t color, bool link,
                       Port direction) {
  if (std::exchange(pairing.look, looks) != looks)
    pairing.recorded = 0;
  unsigned way = 1u << (2 * unsigned(direction) + link);
  if (pairing.recorded & way)
    return;
  pairing.recorded |= way;
  auto wordsIn = [](const Uses &uses, size_t op) {
    return std::lower_bound(uses.begin(), uses.end(), Use{op, 0})->words;
  };
  for (const SharedPortion &portion : pairing.portions) {
    bool whole = portion.words == wordsIn(*pairing.sends, portion.sender) &&
                 portion.words == wordsIn(*pairing.takes, portion.receiver);
    LinkLines &lines = result.pairs[{portion.sender, portion.receiver, color,
                                     direction, link, whole}];
    if (link)
      addLines(linesOf(portion.words), lines), steps += int64_t(lines.size());
  }
}

/// Main threads that hear the same words of a microthread take them with ops
/// that begin and end at the same words.
void WordPairs::agree(const Pairing &some, const Pairing &others) {
  if (!some.fromMicrothreads)
    return;
  if (some.portions.size() != others.portions.size())
    throw NotUnderstood{"received in different portions"};
  for (size_t i = 0; i < some.portions.size(); ++i) {
    const SharedPortion &one = some.portions[i], &other = others.portions[i];
    if (one.sender != other.sender || one.left != other.left ||
        one.words != other.words)
      throw NotUnderstood{"received in different portions"};
    if (one.receiver != other.receiver)
      result.together.insert(std::minmax(one.receiver, other.receiver));
  }
}

std::vector<Portion> WordPairs::portionsIn(const Pairing &pairing,
                                           size_t line) const {
  std::vector<Portion> portions;
  int64_t first = 0;
  for (const SharedPortion &shared : pairing.portions) {
    if (portions.empty() || portions.back().sender != shared.sender)
      first = 0;
    const int64_t words = counts[shared.words][line];
    if (words > 0)
      portions.push_back({shared.sender, first, words, shared.receiver});
    first += words;
  }
  return portions;
}

} // namespace wsec::runtime
