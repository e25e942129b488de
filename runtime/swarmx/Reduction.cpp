// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/Reduction.h"

#include <utility>

namespace wsec::runtime {

static void addTo(std::optional<Partial> &sum, Partial partial) {
  if (!sum) {
    sum = std::move(partial);
    return;
  }
  for (size_t i = 0; i < sum->values.size(); ++i)
    sum->values[i] += partial.values[i];
}

SystemSum::SystemSum(ReduceOrder order, uint64_t samples)
    : order(order), sums(samples) {}

void SystemSum::add(uint64_t sample, std::vector<float> values) {
  if (order == ReduceOrder::Canonical)
    sums.addSample(sample, std::move(values));
  else
    addTo(running, {{0, sample}, std::move(values)});
}

std::vector<Partial> SystemSum::take() {
  if (order == ReduceOrder::Canonical)
    return sums.take();
  std::vector<Partial> partials;
  if (auto sum = std::exchange(running, {}))
    partials.push_back(*std::move(sum));
  return partials;
}

Reduction::Reduction(const Tree &tree, ReduceOrder order, uint64_t samples,
                     Done done, std::function<bool(unsigned)> isHere,
                     Upwards upwards)
    : tree(tree), order(order), samples(samples), done(std::move(done)),
      isHere(std::move(isHere)), upwards(std::move(upwards)),
      bytes(tree.members()) {}

std::vector<Partial> Reduction::merge(Waiting &waiting) const {
  if (order == ReduceOrder::Canonical) {
    CanonicalSum sums(samples);
    for (auto &[child, partials] : waiting.children)
      for (Partial &partial : partials)
        sums.add(std::move(partial));
    return sums.take();
  }
  std::optional<Partial> sum;
  for (auto &[child, partials] : waiting.children)
    for (Partial &partial : partials)
      addTo(sum, std::move(partial));
  std::vector<Partial> partials;
  if (sum)
    partials.push_back(*std::move(sum));
  return partials;
}

void Reduction::send(unsigned member, unsigned stream,
                     std::vector<Partial> partials) {
  for (;;) {
    {
      Lock guard(lock);
      if (here(member))
        for (const Partial &partial : partials)
          bytes[member] += partial.values.size() * sizeof(float);
    }
    if (member == tree.top())
      return done(stream, std::move(partials.front().values));
    const unsigned parent = tree.parent(member);
    if (!here(parent))
      return upwards(member, stream, std::move(partials));
    Waiting all;
    {
      Lock guard(lock);
      Waiting &its = waiting[{parent, stream}];
      its.children[member] = std::move(partials);
      if (its.children.size() < tree.children(parent).size())
        return;
      all = std::move(waiting.extract({parent, stream}).mapped());
    }
    partials = merge(all);
    member = parent;
  }
}

uint64_t Reduction::edgeBytes(unsigned member) const {
  Lock guard(lock);
  return bytes[member];
}

} // namespace wsec::runtime
