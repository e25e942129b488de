// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/Tree.h"

#include <algorithm>

namespace wsec::runtime {

Tree::Tree(unsigned systems) : counts{systems}, starts{0, systems} {
  while (counts.back() > 1) {
    counts.push_back((counts.back() + fanOut - 1) / fanOut);
    starts.push_back(starts.back() + counts.back());
  }
}

unsigned Tree::level(unsigned member) const {
  unsigned level = 0;
  while (member >= starts[level + 1])
    ++level;
  return level;
}

unsigned Tree::parent(unsigned member) const {
  const unsigned its = level(member);
  return starts[its + 1] + (member - starts[its]) / fanOut;
}

std::vector<unsigned> Tree::children(unsigned member) const {
  const unsigned its = level(member);
  std::vector<unsigned> members;
  if (its == 0)
    return members;
  const unsigned first = (member - starts[its]) * fanOut;
  for (unsigned i = first; i < std::min(first + fanOut, counts[its - 1]); ++i)
    members.push_back(starts[its - 1] + i);
  return members;
}

std::pair<unsigned, unsigned> Tree::below(unsigned member) const {
  const unsigned its = level(member);
  unsigned first = member - starts[its], end = first + 1;
  for (unsigned i = 0; i < its; ++i) {
    first *= fanOut;
    end *= fanOut;
  }
  return {first, std::min(end, systems())};
}

std::string Tree::name(unsigned member) const {
  if (isSystem(member))
    return "system " + std::to_string(member);
  const unsigned its = level(member);
  return "node " + std::to_string(its) + "." +
         std::to_string(member - starts[its]);
}

} // namespace wsec::runtime
