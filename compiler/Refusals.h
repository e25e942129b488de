// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a model cannot be compiled, said once: one line for each kind of
// reason, causes only, what depends on them as a count.
#ifndef COMPILER_REFUSALS_H
#define COMPILER_REFUSALS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace wsec {

/// Collects refusals and prints them, in the order in which their kinds came:
///
///   error: Einsum: three operands are not supported: 12 nodes, the first is
///   '/layers.0/attn/Einsum', and 16 nodes that need them; write it as two
///
/// A reason says what is wrong and, behind "; ", what to do about it. Reasons
/// that differ in numbers only are of one kind.
class Refusals {
public:
  /// `headline` begins each line, if it is not empty.
  explicit Refusals(const llvm::Twine &headline = "")
      : headline(headline.str()) {}

  /// A `noun`, such as "node", that `where` tells apart from others: "'a'",
  /// "'x' by node 'a'". The number of its kind is returned.
  size_t add(const llvm::Twine &reason, llvm::StringRef noun,
             const llvm::Twine &where);

  /// A line of its own.
  void add(const llvm::Twine &line);

  /// Refuses an operation, once; what needs its results is a consequence.
  void refuse(mlir::Operation *op, const llvm::Twine &reason,
              llvm::StringRef subject);
  void refuse(mlir::Operation *op, const llvm::Twine &reason) {
    refuse(op, reason, operatorName(op));
  }
  /// Refuses what the model is given.
  void refuseInput(mlir::Value input, const llvm::Twine &reason,
                   llvm::StringRef name);

  bool isRefused(mlir::Value value) const { return causes.count(value); }
  /// Counts `op` as a consequence of the first of its operands that was
  /// refused; false if none was.
  bool countConsequence(mlir::Operation *op);

  bool empty() const { return kinds.empty(); }
  /// One error for each kind; success if there are none.
  llvm::LogicalResult report(mlir::MLIRContext *context) const;

  /// How models call what an operation computes: "Det", "FastGelu of
  /// com.microsoft", "tanh".
  static std::string operatorName(mlir::Operation *op);

private:
  struct Kind {
    std::string reason; // of the first
    std::string noun;
    bool varies = false; // in numbers
    std::vector<std::string> where;
    size_t consequences = 0;
    std::set<std::string> named; // nodes that are counted
  };
  static std::string text(const Kind &kind);

  std::string headline;
  std::vector<Kind> kinds;
  std::map<std::string, size_t> known;        // by reason without its numbers
  llvm::DenseMap<mlir::Value, size_t> causes; // looked up only, never walked
};

} // namespace wsec

#endif // COMPILER_REFUSALS_H
