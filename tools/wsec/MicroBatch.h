// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many samples a call has: the more, the fewer times weights stream, and
// the less SRAM is left.
#ifndef TOOLS_WSEC_MICROBATCH_H
#define TOOLS_WSEC_MICROBATCH_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace wsec::tools {

/// Type of a flag: a number of samples, or 0, which is to be chosen.
struct MicroBatch {
  uint64_t samples;
};
bool AbslParseFlag(absl::string_view text, MicroBatch *batch,
                   std::string *error);
std::string AbslUnparseFlag(MicroBatch batch);

/// The one of 1, 2, 4 and so on, as long as they divide `batch` and leave each
/// system a call, by which a step takes the fewest cycles: those of a call, as
/// `cyclesOf` tells, for each that a system makes. Nothing where it does not
/// fit, or the model takes no such batch, which ends the search.
uint64_t chooseMicroBatch(
    uint64_t batch, unsigned systems, bool isQuiet,
    const std::function<std::optional<double>(uint64_t)> &cyclesOf);

} // namespace wsec::tools

#endif // TOOLS_WSEC_MICROBATCH_H
