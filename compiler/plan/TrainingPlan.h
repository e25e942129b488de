// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a forward pass stays for the backward pass, where, and which kernels
// make gradients. As text, which reports print and --training-plan takes:
//
//   recompute=pieces,segment=1,inputs=store,kept=1,elements=again,attention=kernel,norms=kernel,logits=512
//
// A piece of a model lies between two values that alone live on, as half a
// layer of a transformer does (compiler/differentiate/README.md).

#ifndef COMPILER_PLAN_TRAININGPLAN_H
#define COMPILER_PLAN_TRAININGPLAN_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <set>
#include <string>

namespace wsec::plan {

struct TrainingPlan {
  /// What is computed again: none; pieces, each from what it begins with, which
  /// within a segment is made again, too; or segments, each as a whole.
  std::string recompute = "pieces";
  int64_t segment = 1;          ///< pieces of one
  std::string inputs = "store"; ///< where those of segments wait, or wafer
  int64_t kept = 1;             ///< last pieces that are not computed again
  /// Whether what functions of elements make between other operators is made
  /// again, or kept with all else.
  std::string elements = "again";
  /// Whether gradients of attentions and norms are one kernel each, or what
  /// they are composed of: products, and kernels.
  std::string attention = "kernel", norms = "kernel";
  /// Logits of a loss, for each PE at a time; 0: all, else those of tiles of
  /// classes.
  int64_t logits = 0;

  std::string text() const;
  bool operator==(const TrainingPlan &other) const {
    return text() == other.text();
  }
  bool operator!=(const TrainingPlan &other) const { return !(*this == other); }
};

/// What of a plan the user asks for; the rest is chosen.
struct AskedPlan {
  TrainingPlan plan;
  std::set<std::string> keys;
  bool asks(const std::string &key) const { return keys.count(key) != 0; }
};

/// Reads the text of a plan, or of some of its keys. Returns what is wrong with
/// it, or nothing.
std::string parse(llvm::StringRef text, AskedPlan &asked);

} // namespace wsec::plan

#endif // COMPILER_PLAN_TRAININGPLAN_H
