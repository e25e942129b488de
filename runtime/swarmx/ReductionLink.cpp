// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/ReductionLink.h"

#include "runtime/swarmx/PassLink.h"

#include <cstring>

namespace wsec::runtime {

/// Member and stream; level, index and how many values of each partial.
static Message pack(unsigned member, unsigned stream,
                    const std::vector<Partial> &partials) {
  Message message{Message::Kind::Partials, {member, stream}};
  for (const Partial &partial : partials) {
    const auto &[of, values] = partial;
    message.numbers.insert(message.numbers.end(),
                           {of.first, of.second, values.size()});
    const auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
    message.bytes.insert(message.bytes.end(), bytes,
                         bytes + values.size() * sizeof(float));
  }
  return message;
}

static std::vector<Partial> unpack(const Message &message) {
  std::vector<Partial> partials;
  size_t at = 0;
  for (size_t i = 2; i < message.numbers.size(); i += 3) {
    Partial &partial = partials.emplace_back();
    partial.of = {unsigned(message.numbers[i]), message.numbers[i + 1]};
    partial.values.resize(message.numbers[i + 2]);
    const size_t bytes = partial.values.size() * sizeof(float);
    std::memcpy(partial.values.data(), message.bytes.data() + at, bytes);
    at += bytes;
  }
  return partials;
}

ReductionLink::ReductionLink(Link &link, const Tree &tree, ReduceOrder order,
                             uint64_t samples, Reduction::Done done)
    : reduction(
          tree, order, samples, std::move(done),
          [&link, tree](unsigned member) {
            return processOf(member, tree, link) == link.rank();
          },
          [&link, tree](unsigned member, unsigned stream,
                        std::vector<Partial> partials) {
            link.send(processOf(tree.parent(member), tree, link),
                      pack(member, stream, partials));
          }) {}

bool ReductionLink::dispatch(const Message &message) {
  if (message.kind != Message::Kind::Partials)
    return false;
  reduction.send(unsigned(message.numbers[0]), unsigned(message.numbers[1]),
                 unpack(message));
  return true;
}

} // namespace wsec::runtime
