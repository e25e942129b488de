// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From ops of the pe dialect to the tables of program.fbs, one to one. Weight
// files are named here; WeightFiles.h looks at their bytes.
#ifndef COMPILER_EMIT_TRANSLATION_H
#define COMPILER_EMIT_TRANSLATION_H

#include "dialects/pe/Pe.h"
#include "runtime/program/program_generated.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace wsec::emit {

/// Translates integers to the narrower types of the schema. Reports a number
/// that does not fit once, at the op that holds it.
class Narrower {
public:
  explicit Narrower(mlir::Operation *op) : op(op) {}

  template <typename To>
  To to(int64_t value, llvm::StringRef what) {
    auto result = static_cast<To>(value);
    if (static_cast<int64_t>(result) != value && !failed) {
      op->emitOpError() << what << " " << value << " does not fit in "
                        << sizeof(To) * 8 << " bits";
      failed = true;
    }
    return result;
  }
  bool hasFailed() const { return failed; }

private:
  mlir::Operation *op;
  bool failed = false;
};

/// The scalars of a class, stream or entry that code uses, in their order,
/// and the locals of the routine or task being translated.
class ScalarTable {
public:
  llvm::LogicalResult build(mlir::Block &block,
                            std::vector<program::ScalarNode> &nodes);
  /// Term of an affine expression: a scalar, or a loop variable by its depth.
  program::Term term(mlir::Value value, int64_t scale, Narrower &narrow) const;
  std::unique_ptr<program::AffineT> affine(const pe::Affine &affine,
                                           Narrower &narrow) const;
  /// Number of a scalar.
  int64_t number(mlir::Value value) const { return numbers.lookup(value); }
  /// Number of a guard; -1 when there is none.
  int16_t guard(mlir::Value value, Narrower &narrow) const;
  /// Numbers a value that code computes. Code starts without any.
  uint16_t addLocal(mlir::Value value, Narrower &narrow);
  void forgetLocals() { locals.clear(); }

private:
  llvm::DenseMap<mlir::Value, int64_t> numbers, locals;
};

/// A new element of a vector of tables.
template <typename Table>
Table &append(std::vector<std::unique_ptr<Table>> &tables) {
  return *tables.emplace_back(std::make_unique<Table>());
}

program::Rect translateRect(pe::RectAttr rect);
/// Little endian, row major, one byte for a bool.
std::vector<uint8_t> bytesOf(mlir::DenseElementsAttr value);
/// The schema's element type; pe::isStoredType holds for `type`.
program::ElementType translateType(mlir::Type type);

/// Symbols of a program by number, in the order of the ops.
struct SymbolNumbers {
  llvm::StringMap<int64_t> tensors, streams, kernels, routines;
  /// Kernels of the routines whose launches name none.
  llvm::StringMap<int64_t> routineKernels;
};

/// Routines are numbered in the order they are first met, over all classes.
SymbolNumbers numberSymbols(pe::ProgramOp program);

llvm::LogicalResult translateClass(pe::ClassOp op, const SymbolNumbers &numbers,
                                   program::PEClassT &result);
/// The axes along which callers' tensors may be shorter; of the one that has
/// the length, to how many parts these are dealt; else null.
mlir::Attribute lengthOf(pe::ProgramOp program, llvm::StringRef tensor);
llvm::LogicalResult translateTensor(pe::TensorOp op,
                                    const SymbolNumbers &numbers,
                                    program::TensorT &result);
llvm::LogicalResult translateStream(pe::StreamOp op,
                                    const SymbolNumbers &numbers,
                                    program::HostStreamT &result);

/// Copies stand between the launches translated before and after them.
llvm::LogicalResult translateCopy(pe::CopyOp op, const SymbolNumbers &numbers,
                                  program::EntryT &result);
/// Values are those of the launch translated before them.
llvm::LogicalResult translateValue(pe::ValueOp op, program::EntryT &result);

/// Writes the routes of chains, and colors in place of them in instructions.
void expandChains(pe::ProgramOp op);

/// Gives an address to each buffer that has none, behind the code and all that
/// have one.
llvm::LogicalResult placeBuffers(pe::ProgramOp op, program::ProgramT &result);

/// The whole program but its weight files.
llvm::LogicalResult translateProgram(pe::ProgramOp op,
                                     program::ProgramT &result);

} // namespace wsec::emit

#endif // COMPILER_EMIT_TRANSLATION_H
