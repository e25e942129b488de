// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What statements of routines say in numbers, and what they say beside: those
// that are equal but for numbers may become one.

#ifndef COMPILER_KERNELS_CODE_ROUTINETEXT_H
#define COMPILER_KERNELS_CODE_ROUTINETEXT_H

#include "compiler/kernels/code/ProgramBuilder.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace wsec {

/// What launches may carry: each has what those before it have, too.
enum class Carried { StateAddresses, Addresses, Numbers };

/// An expression of a statement: of an operand in SRAM the offset in `buffer`.
struct Slot {
  pe::Affine value;
  std::string buffer = {};
  bool isColor = false;
};

/// Visits the expressions of a statement in the order of its text, and keeps
/// what `visit` makes of them.
void visitSlots(mlir::Operation *op, llvm::function_ref<void(Slot &)> visit);

/// Whether others may stand in its place that differ in more than numbers.
bool mayVary(mlir::Operation *op);

/// Whether an expression is over a value that does not change while a routine
/// runs, so that other statements may have others: a scalar of the class.
using IsFixed = bool (*)(mlir::Value);

/// A statement of a routine.
struct Statement {
  mlir::Operation *op = nullptr;
  llvm::SmallVector<Slot, 6> slots;

  explicit Statement(mlir::Operation *op) : op(op) {
    visitSlots(op, [&](Slot &slot) { slots.push_back(slot); });
  }

  /// What it says beside numbers, of those that have one shape.
  std::vector<const void *> variant(IsFixed isFixed) const;
};

/// All of them, those inside of one before it.
std::vector<Statement> statementsOf(mlir::Operation *op);

/// A buffer of a class: where it lies, and what may lie in its place.
struct BufferPlace {
  int64_t address = 0, bytes = 0;
  mlir::Type type;
  enum Kind { Passing, Resident, State } kind = Passing;

  int64_t end() const { return address + bytes; }
};

/// The numbers of an expression in several statements: of offsets those in a
/// buffer around all of theirs.
struct Numbers {
  std::vector<int64_t> values;
  int64_t begin = 0, end = 0;
  mlir::Type type = {}; ///< null: all have one buffer, or none
};

/// The buffers of a class by name.
class Places {
public:
  Places(wse::ProgramOp source, ClassBuilder &its);

  const BufferPlace &of(llvm::StringRef buffer) const {
    return places.find(buffer)->second;
  }
  /// Nothing where no buffer can be around theirs.
  std::optional<Numbers> numbers(llvm::ArrayRef<const Slot *> slots) const;
  /// A buffer around that of `first` and those of others.
  std::string around(llvm::StringRef first, const Numbers &numbers);
  /// Leaves of a statement what may not differ.
  void makeShape(mlir::Operation *op, Carried carried, IsFixed isFixed) const;

  pe::ClassOp peClass() const { return its.peClass; }

private:
  bool canHold(BufferPlace::Kind kind, int64_t begin, int64_t end) const;

  ClassBuilder &its;
  llvm::StringMap<BufferPlace> places;   // looked up only
  std::map<int64_t, int64_t> persistent; // ends by beginnings
};

} // namespace wsec

#endif // COMPILER_KERNELS_CODE_ROUTINETEXT_H
