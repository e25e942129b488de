// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the phases from select to schedule tell one another while a program is
// made to fit: what select keeps to, and what place, route and schedule found
// too little of. Values; nothing is read from an error's text.

#ifndef COMPILER_PLAN_PLAN_H
#define COMPILER_PLAN_PLAN_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mlir {
class InFlightDiagnostic;
} // namespace mlir

namespace wsec::plan {

/// What `select` keeps to, beside what the user asks for. As text
/// (`wse-opt --wse-select-kernels=within=stages=3,few-colors`) a list of the
/// names in Plan.cpp, numbers behind `=`.
struct Constraints {
  /// Columns x rows of the region that kernels run on; empty: as the user says,
  /// or the best by predicted cycles.
  std::string region;
  /// How many regions, each with colors of its own, share rows of the mesh
  /// where two parts of the model run side by side, where three do, and so on;
  /// the last one goes for more; 0: there are never so many parts; none: any
  /// number.
  llvm::SmallVector<int64_t, 4> abreast;
  /// Stages at most, each on a region of its own, through which samples follow
  /// one another; and rows of so many each.
  int64_t stages = 1, stageRows = 1;
  /// Bytes of code of a PE, which data leave room for; 0: not known, a guess.
  int64_t code = 0;
  /// Whether `code` is that of a program on one region, which stages share out:
  /// each has the code of its own kernels.
  bool spreadCode = false;
  /// With `spreadCode` what one region was found to take, and `code` leaves
  /// room for more than that.
  int64_t codeOfOne = 0;
  /// No products that keep weights in SRAM, nor stores with code of their own.
  bool littleScratch = false;
  /// Bytes of scratch that kernels take at most, and those that are like them,
  /// by their names in `planNames`: what takes more has a variant that
  /// takes less, or the least that there is.
  std::map<std::string, int64_t> scratch;
  /// Variants whose streams together ask for no more colors than there are,
  /// counted as if none could share one.
  bool fewColors = false;
  /// Launches may carry all numbers in which routines differ, which makes the
  /// least code.
  bool carryNumbers = false;
  /// Weights that kernels can hold stay on the wafer, and stages are chosen for
  /// that.
  bool keepWeights = false;
  /// No keep-out lies in a row of stages.
  bool clearRows = false;
  /// Several stages only where samples are predicted to follow one another
  /// faster than on one region.
  bool whereFaster = false;
};

/// Reads the text of constraints. Returns what is wrong with it, or nothing.
std::string parse(llvm::StringRef text, Constraints &constraints);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const Constraints &constraints);

/// What there was too little of.
enum class Lack {
  Sram,   ///< of a PE
  Colors, ///< for the streams of a program
  Place,  ///< for a region
  Paths,  ///< for words, whatever their color, or steps to search for them
};

/// A kernel whose scratch has no room in its launch.
struct ScratchShortage {
  std::string kernel; ///< as of `planNames`: "attention layers.0.attn 0"
  int64_t room = 0;   ///< bytes that its launch leaves to it
  int64_t takes = 0;  ///< bytes that it asks for
  int64_t least = 0;  ///< bytes that a variant of it takes at least
};

/// What a phase that failed found too little of.
struct Shortage {
  Lack of = Lack::Sram;
  int64_t code = 0; ///< bytes of it in a PE, where SRAM is short; 0: not known
  int64_t launch = 0; ///< bytes of buffers of the launch that has most of them
  std::string error;  ///< that says so, with kernel and numbers
  std::vector<ScratchShortage> scratch =
      {}; ///< of kernels, where SRAM is short
};
using Shortages = std::vector<Shortage>;

/// Adds what `error` says to those of a compilation, if there is one.
void add(Shortages *shortages, mlir::InFlightDiagnostic &error, Lack of,
         int64_t code = 0, int64_t launch = 0,
         std::vector<ScratchShortage> scratch = {});

} // namespace wsec::plan

/// How pass options read constraints.
template <>
class llvm::cl::parser<wsec::plan::Constraints>
    : public llvm::cl::basic_parser<wsec::plan::Constraints> {
public:
  using basic_parser::basic_parser;
  bool parse(Option &option, StringRef, StringRef text,
             wsec::plan::Constraints &constraints) {
    const std::string wrong = wsec::plan::parse(text, constraints);
    return !wrong.empty() && option.error(wrong);
  }
  void printOptionDiff(const Option &, const wsec::plan::Constraints &,
                       OptionValue<wsec::plan::Constraints>, size_t) const {}
};

#endif // COMPILER_PLAN_PLAN_H
