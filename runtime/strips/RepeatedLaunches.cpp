// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/RepeatedLaunches.h"

#include "runtime/strips/MovedOperands.h"

#include <algorithm>
#include <map>

namespace wsec::runtime {

using program::Direction;

// ---------------------------------------------------------------- finding

namespace {

/// Finds repeats among launches [begin, end), then in what is left on both
/// sides.
class RepeatFinder {
public:
  RepeatFinder(const std::vector<uint32_t> &launches, size_t least)
      : launches(launches), least(least) {}

  void find(size_t begin, size_t end) {
    std::optional<RepeatedLaunches> its = best(begin, end);
    if (!its)
      return;
    find(begin, its->first);
    size_t behind = its->first + its->period * its->count;
    for (; behind < end && launches[behind] == launches[behind - its->period];
         ++behind)
      ++its->rest;
    found.push_back(*its);
    find(behind, end);
  }

  std::vector<RepeatedLaunches> found;

private:
  /// Those that cover most; of equal ones the shortest, which come first.
  std::optional<RepeatedLaunches> best(size_t begin, size_t end) const {
    std::optional<RepeatedLaunches> most;
    for (size_t period = 1; period * least <= end - begin; ++period)
      for (size_t at = begin, same = 0; at + period < end; ++at) {
        same = launches[at] == launches[at + period] ? same + 1 : 0;
        const size_t count = same / period + 1;
        if (count >= least &&
            (!most || count * period > most->count * most->period))
          most = {at + 1 - same, period, count};
      }
    return most;
  }

  const std::vector<uint32_t> &launches;
  const size_t least;
};

std::vector<uint32_t> streamsOf(const program::Launch &launch) {
  if (!launch.streams())
    return {};
  return {launch.streams()->begin(), launch.streams()->end()};
}

/// What launches have to have in common, as numbers.
std::vector<uint64_t> describe(const Call &call, HostPort &host,
                               const AddressArguments &moving,
                               const program::Launch &launch) {
  std::vector<uint64_t> its{launch.routine(), launch.follows()};
  const std::vector<int64_t> carried = call.carried(launch);
  for (size_t i = 0; i < carried.size(); ++i)
    its.push_back(moving.contains(launch.routine(), i) ? 0
                                                       : uint64_t(carried[i]));
  for (uint32_t s : streamsOf(launch)) {
    const program::HostStream &stream = *call.program().streams()->Get(s);
    its.insert(its.end(), {uint64_t(stream.direction()), stream.color(),
                           uint64_t(stream.type()), uint64_t(stream.packing()),
                           stream.channels()->size()});
    for (uint32_t i = 0; i < stream.channels()->size(); ++i)
      its.insert(its.end(), {uint64_t(stream.channels()->Get(i)->row()),
                             host.words(s, i)});
  }
  return its;
}

/// The launches that write tensors which pass through the store, in order.
class Writers {
public:
  Writers(const Call &call, const StoreOrder &order) {
    for (size_t l = 0; l < call.launches(); ++l)
      for (uint32_t s : streamsOf(call.launch(l)))
        if (call.program().streams()->Get(s)->direction() == Direction::Out)
          for (uint32_t tensor : order.byStream()[s])
            ofTensor[tensor].push_back(ptrdiff_t(l));
  }

  const std::vector<ptrdiff_t> &of(uint32_t tensor) { return ofTensor[tensor]; }

private:
  std::map<uint32_t, std::vector<ptrdiff_t>> ofTensor;
};

} // namespace

std::vector<RepeatedLaunches> findRepeats(const std::vector<uint32_t> &launches,
                                          size_t least, size_t begin,
                                          std::optional<size_t> end) {
  RepeatFinder finder(launches, least);
  finder.find(begin, end.value_or(launches.size()));
  return std::move(finder.found);
}

std::vector<uint32_t> numberLaunches(const Call &call, HostPort &host,
                                     const AddressArguments &moving) {
  std::map<std::vector<uint64_t>, uint32_t> known;
  std::vector<uint32_t> launches;
  for (size_t l = 0; l < call.launches(); ++l)
    launches.push_back(
        known
            .try_emplace(describe(call, host, moving, call.launch(l)),
                         known.size())
            .first->second);
  return launches;
}

// ---------------------------------------------------------------- matching

std::optional<std::vector<uint32_t>> matchStreams(const Call &call,
                                                  const StoreOrder &order,
                                                  size_t from, size_t to,
                                                  size_t count) {
  const uint32_t none = UINT32_MAX;
  std::vector<uint32_t> streams(order.byStream().size(), none);
  std::map<uint32_t, uint32_t> tensors;
  Writers writers(call, order);
  const ptrdiff_t distance = ptrdiff_t(to) - ptrdiff_t(from);
  auto sameWriters = [&](uint32_t tensor, uint32_t other) {
    const std::vector<ptrdiff_t> &its = writers.of(tensor),
                                 &others = writers.of(other);
    // What was written before the layer in front of them is there.
    if (!its.empty() && !others.empty() &&
        std::max(its.back(), others.back()) <
            ptrdiff_t(from) - ptrdiff_t(count))
      return true;
    return std::equal(
        its.begin(), its.end(), others.begin(), others.end(),
        [&](ptrdiff_t a, ptrdiff_t b) { return b - a == distance; });
  };
  for (size_t l = 0; l < count; ++l) {
    const std::vector<uint32_t> its = streamsOf(call.launch(from + l)),
                                others = streamsOf(call.launch(to + l));
    for (size_t i = 0; i < its.size(); ++i) {
      const uint32_t s = its[i], other = others[i];
      if (streams[s] != none && streams[s] != other)
        return {};
      streams[s] = other;
      const std::vector<uint32_t> &passing = order.byStream()[s],
                                  &theirs = order.byStream()[other];
      if (passing.size() != theirs.size())
        return {};
      for (size_t t = 0; t < passing.size(); ++t)
        if (tensors.try_emplace(passing[t], theirs[t]).first->second !=
                theirs[t] ||
            !sameWriters(passing[t], theirs[t]))
          return {};
    }
  }
  for (uint32_t s = 0; s < streams.size(); ++s)
    if (streams[s] == none)
      streams[s] = s;
  return streams;
}

std::vector<uint32_t> streamsFromBefore(const Call &call,
                                        const StoreOrder &order, size_t from,
                                        size_t count, size_t before) {
  Writers writers(call, order);
  std::vector<uint32_t> streams;
  for (size_t l = from; l < from + count; ++l)
    for (uint32_t s : streamsOf(call.launch(l)))
      if (call.program().streams()->Get(s)->direction() == Direction::In &&
          std::any_of(order.byStream()[s].begin(), order.byStream()[s].end(),
                      [&](uint32_t tensor) {
                        const auto &its = writers.of(tensor);
                        return !its.empty() && its.front() < ptrdiff_t(before);
                      }))
        streams.push_back(s);
  return streams;
}

} // namespace wsec::runtime
