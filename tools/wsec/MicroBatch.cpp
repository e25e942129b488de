// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/MicroBatch.h"
#include "tools/wsec/CountFlag.h"

#include "absl/strings/str_format.h"

#include <cstdio>

namespace wsec::tools {

bool AbslParseFlag(absl::string_view text, MicroBatch *batch,
                   std::string *error) {
  Count count{0};
  if (text != "auto" && !AbslParseFlag(text, &count, error)) {
    *error += ", or auto";
    return false;
  }
  batch->samples = uint64_t(count.value);
  return true;
}

std::string AbslUnparseFlag(MicroBatch batch) {
  return batch.samples ? absl::StrCat(batch.samples) : "auto";
}

uint64_t chooseMicroBatch(
    uint64_t batch, unsigned systems, bool isQuiet,
    const std::function<std::optional<double>(uint64_t)> &cyclesOf) {
  uint64_t best = 1;
  double fewest = 0;
  for (uint64_t samples = 1; batch % samples == 0 && batch / samples >= systems;
       samples *= 2) {
    const std::optional<double> cycles = cyclesOf(samples);
    const uint64_t calls = (batch / samples + systems - 1) / systems;
    const double all = cycles.value_or(0) * double(calls);
    if (!isQuiet)
      std::printf("micro-batch %s\n",
                  (cycles
                       ? absl::StrFormat("%d: %.0f cycles a step", samples, all)
                       : absl::StrFormat("%d: too little SRAM, or more than "
                                         "the model takes",
                                         samples))
                      .c_str());
    if (!cycles)
      break;
    if (samples == 1 || all < fewest) {
      best = samples;
      fewest = all;
    }
  }
  return best;
}

} // namespace wsec::tools
