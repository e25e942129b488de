// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/SparsityFlags.h"
#include "tools/flags/CommandLine.h"
#include "tools/wsec/CountFlag.h"

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"

#include <algorithm>

using wsec::tools::Count;
using wsec::tools::Words;

ABSL_DECLARE_FLAG(Count, steps);

ABSL_FLAG(double, sparsity, 0,
          "S  share of the weights of attention and feed-forward blocks that "
          "are 0, and do not stream");
ABSL_FLAG(std::string, sparsity_algorithm, "static",
          "RULE  static, gmp (pruned by magnitude step by step), set or rigl "
          "(some drop, as many grow elsewhere)");
ABSL_FLAG(std::string, sparsity_method, "random",
          "METHOD  the first to be kept: random, by --seed, or topk, the "
          "largest");
ABSL_FLAG(Words, sparsity_filter, {},
          "GLOB  names of the weights or nodes instead; may be repeated");
ABSL_FLAG(double, sparsity_initial, 0, "S  of gmp, in the first step");
ABSL_FLAG(Count, sparsity_every, {100},
          "N  steps from one update of what is kept to the next");
ABSL_FLAG(Count, sparsity_stop, {0},
          "N  step from which on it stays (default: --steps)");
ABSL_FLAG(double, drop_fraction, 0.3,
          "F  of set and rigl: share that drops, at first; a cosine ends at 0");

namespace wsec::tools {

using runtime::SparsityAlgorithm;
using runtime::SparsityOptions;

static double share(const char *flag, double value) {
  if (value >= 0 && value < 1)
    return value;
  throw UsageError(absl::StrCat(
      "--", flag, " wants a share from 0 to below 1, found ", value));
}

SparsityOptions sparsityOptions(uint64_t steps) {
  SparsityOptions options;
  options.sparsity = share("sparsity", absl::GetFlag(FLAGS_sparsity));
  const std::string name = absl::GetFlag(FLAGS_sparsity_algorithm);
  const auto algorithm = runtime::findSparsityAlgorithm(name);
  if (!algorithm)
    throw UsageError("--sparsity-algorithm wants static, gmp, set or rigl, "
                     "found '" +
                     name + "'");
  options.algorithm = *algorithm;
  options.initial =
      share("sparsity-initial", absl::GetFlag(FLAGS_sparsity_initial));
  if (options.initial > options.sparsity ||
      (options.initial > 0 && *algorithm != SparsityAlgorithm::Gmp))
    throw UsageError("--sparsity-initial goes with --sparsity-algorithm=gmp, "
                     "and is at most --sparsity");
  const std::string method = absl::GetFlag(FLAGS_sparsity_method);
  if (method != "random" && method != "topk")
    throw UsageError("--sparsity-method wants random or topk, found '" +
                     method + "'");
  options.byMagnitude = method == "topk";
  options.every = uint64_t(absl::GetFlag(FLAGS_sparsity_every).value);
  const auto stop = uint64_t(absl::GetFlag(FLAGS_sparsity_stop).value);
  options.stop = std::max<uint64_t>(stop ? stop : steps, 1);
  options.dropFraction =
      share("drop-fraction", absl::GetFlag(FLAGS_drop_fraction));
  return options;
}

void readSparsity(TrainingProgram &training) {
  const SparsityOptions options =
      sparsityOptions(uint64_t(absl::GetFlag(FLAGS_steps).value));
  if (options.sparsity == 0)
    return;
  if (training.precision != "f32")
    throw UsageError("--sparsity: records of weights hold f32; leave out "
                     "--precision=" +
                     training.precision);
  if (!training.lora.empty())
    throw UsageError("--sparsity is of weights that train; leave out --lora");
  // 0 would be a program without sparse products.
  training.sparsity = std::max(options.sparsityAt(0), 1e-9);
  training.sparsityFilter = absl::GetFlag(FLAGS_sparsity_filter).values;
  training.sparsityRule =
      absl::StrCat("\n", int(options.algorithm), "\n", options.sparsity, "\n",
                   options.byMagnitude);
  // How long a run is changes nothing for masks that stay.
  if (options.algorithm != SparsityAlgorithm::Static)
    absl::StrAppend(&training.sparsityRule, "\n", options.every, "\n",
                    options.stop, "\n", options.dropFraction);
}

} // namespace wsec::tools
