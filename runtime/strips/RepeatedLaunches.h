// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of a call that follow one another as others did before, with other
// words of the host: the layers of a model.
#ifndef RUNTIME_STRIPS_REPEATEDLAUNCHES_H
#define RUNTIME_STRIPS_REPEATEDLAUNCHES_H

#include "runtime/engine/HostPort.h"
#include "runtime/engine/StoreOrder.h"
#include "runtime/program/Call.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace wsec::runtime {

class AddressArguments;

/// Launches [first, first + period * count + rest): each is like the one
/// `period` before it.
struct RepeatedLaunches {
  size_t first, period, count;
  size_t rest = 0; ///< less than `period`

  bool operator==(const RepeatedLaunches &) const = default;
};

/// Finds, of numbers [begin, end) that stand for launches, those that are
/// repeated at least `least` times, in order; where there are several ways, the
/// one that covers most.
std::vector<RepeatedLaunches> findRepeats(const std::vector<uint32_t> &launches,
                                          size_t least, size_t begin = 0,
                                          std::optional<size_t> end = {});

/// Equal numbers for launches of a call that start the same routine with the
/// same arguments, but for those that move operands, and whose streams take the
/// same ways with as many words.
std::vector<uint32_t> numberLaunches(const Call &call, HostPort &host,
                                     const AddressArguments &moving);

/// For each stream of the `count` launches from `from` on the one that has its
/// place in those from `to` on; itself for others. None if a stream has two, or
/// if tensors that pass through the store are not written where theirs are.
std::optional<std::vector<uint32_t>> matchStreams(const Call &call,
                                                  const StoreOrder &order,
                                                  size_t from, size_t to,
                                                  size_t count);

/// The In streams of `count` launches from `from` on that read tensors which
/// launches below `before` write.
std::vector<uint32_t> streamsFromBefore(const Call &call,
                                        const StoreOrder &order, size_t from,
                                        size_t count, size_t before);

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_REPEATEDLAUNCHES_H
