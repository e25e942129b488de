// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes a value on from one row of stages to the next: a store and a load
// of an intermediate. While stages are chosen there is one of each for every
// value that may cross, to be asked for their cost like any kernel.

#ifndef WSEC_COMPILER_SELECT_HANDOVERS_H
#define WSEC_COMPILER_SELECT_HANDOVERS_H

#include "dialects/wse/Wse.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace wsec::select {

class Handovers {
public:
  explicit Handovers(wse::ProgramOp program) : program(program) {}
  ~Handovers() { remove(); }

  void add(mlir::Value value);
  /// All that `add` made.
  void remove();
  /// The store and the load that `add` made for a value; null if it has none.
  mlir::Operation *storeOf(mlir::Value value) const {
    return all.lookup(value).store;
  }
  mlir::Operation *loadOf(mlir::Value value) const {
    return all.lookup(value).load;
  }

  /// Stores `held`, which is `value` where it is at hand, and loads it before a
  /// kernel, for good.
  std::pair<wse::KernelOp, mlir::Value>
  passOn(mlir::Value value, mlir::Value held, wse::KernelOp before);

private:
  struct Handover {
    wse::IntermediateOp tensor;
    mlir::Operation *store = nullptr, *load = nullptr;
  };

  std::string freeName(llvm::StringRef name);

  wse::ProgramOp program;
  llvm::MapVector<mlir::Value, Handover> all;
  llvm::StringSet<> taken; ///< names of the program, and those given here
};

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_HANDOVERS_H
