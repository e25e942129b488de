// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is said to somebody who wrote something else than the dialect reads:
// what was expected, and how all of it is written.
#ifndef WSEC_DIALECTS_PE_PEMISTAKES_H
#define WSEC_DIALECTS_PE_PEMISTAKES_H

#include "dialects/pe/Pe.h"
#include "mlir/IR/OpImplementation.h"

namespace wsec::pe {

/// How the parts of a program are written, after "expected ...: ".
namespace form {
inline constexpr llvm::StringLiteral kMesh =
    "a mesh is written [width, height]";
inline constexpr llvm::StringLiteral kRect =
    "a rectangle of PEs is written [x0:x1, y0:y1], for columns x0 to x1 - 1 "
    "and rows y0 to y1 - 1, or with steps [x0:x1:2, y0:y1:2]";
inline constexpr llvm::StringLiteral kChannels =
    "channels are written [row -> x0:x1], for PEs x0 to x1 - 1 of that row";
inline constexpr llvm::StringLiteral kPorts =
    "ports are written as a list, such as [east] or [north, ramp]";
inline constexpr llvm::StringLiteral kMemory =
    "an operand in memory is written @buffer[offset, strides = [1]], with one "
    "stride for each extent";
inline constexpr llvm::StringLiteral kElement =
    "an element of a buffer is written @buffer[index]";
inline constexpr llvm::StringLiteral kFabric =
    "an operand on the fabric is written fabric(color) or fabric(@chain), with "
    "what it needs of "
    "fabric(color, f16, pair, depth = 2, window = first of total, index = %i)";
inline constexpr llvm::StringLiteral kWindow =
    "a window is written window = first of total: of every total words that "
    "arrive, the operand keeps as many as its inner extents say, from the "
    "first on";
inline constexpr llvm::StringLiteral kExpression =
    "expressions are sums such as %i * 4 - 1; the scale is a number, and "
    "stands behind; 'scalar' and 'compute' do the rest";
inline constexpr llvm::StringLiteral kOperand =
    "operands are @buffer[offset, strides = [1]], fabric(color) or a number "
    "such as 0.0";
inline constexpr llvm::StringLiteral kInputs =
    "functions are written 'scalar add(%px, 1)' in a class, of scalars and "
    "numbers, and 'compute add(%i * 2, 1)' in code, of expressions";
inline constexpr llvm::StringLiteral kParameter =
    "parameters are written (width = 4 from 2 to 750, words = 8)";
inline constexpr llvm::StringLiteral kNumber =
    "numbers are 4, a parameter, or computed from these, as in width * 2 - 1 "
    "or div(width, 2)";
inline constexpr llvm::StringLiteral kExtents =
    "extents follow the operands, as in 'over (8)' or 'over (%n, 16)'";
inline constexpr llvm::StringLiteral kLoop =
    "a loop is written 'for %i < count { ... }' and counts from 0";
inline constexpr llvm::StringLiteral kVector =
    "an instruction is written 'vector add destination = a, b over (8)'";
inline constexpr llvm::StringLiteral kIssue =
    "what follows the extents has an order: where %guard thread 1 then "
    "activate @a unblock @b advance on_control end no_wrap";
inline constexpr llvm::StringLiteral kControl =
    "a control wavelet is written 'control fabric(color) [advance, nop]', and "
    "may end in 'task 5 data %x thread 0 then activate @a unblock @b'";
inline constexpr llvm::StringLiteral kCall =
    "what a procedure takes is written names first, then scalars: "
    "'procedure @send(@link, %first, %thread)', 'call @send(@east, %i * 4, 0)'";
inline constexpr llvm::StringLiteral kInitial =
    "what a buffer holds first is written '= [0.5, 1.0]', a value for each "
    "element, or '= 0' for all";
inline constexpr llvm::StringLiteral kArgument =
    "an argument is written '%row from 0 to 255'";
inline constexpr llvm::StringLiteral kSwitch =
    "positions of a switch are written [from east, to [west]]; each changes, "
    "of the one before it, where wavelets come from or where they go";
} // namespace form

/// Success where an optional method of the parser found its token. Else the
/// error is that `token` is missing, and how the whole is written; if the
/// next token is on a later line, at the end of what stands before it.
mlir::ParseResult expect(mlir::AsmParser &parser, mlir::ParseResult found,
                         llvm::StringRef token, llvm::StringRef form);
mlir::ParseResult expectKeyword(mlir::AsmParser &parser,
                                llvm::StringRef keyword, llvm::StringRef form);

/// Fails, saying why, if one of `words` follows on the same line. On the next
/// line it is a statement of its own.
mlir::ParseResult refuseOnLine(mlir::AsmParser &parser,
                               llvm::ArrayRef<llvm::StringRef> words,
                               llvm::StringRef reason);

/// Fails, saying what was probably meant by a word that names no op.
mlir::ParseResult refuseWord(mlir::OpAsmParser &parser,
                             mlir::OperationState &state);

/// Whether the next token starts with one of `characters`.
bool startsWith(mlir::AsmParser &parser, llvm::StringRef characters);

/// The `names` that look most like `wanted`, as "; nearest: add, and", or all
/// of them if they are few, as "; there is: east, west".
std::string nearest(llvm::StringRef wanted,
                    llvm::SmallVector<llvm::StringRef> names);

/// The nearest symbols of kind `OpTy` in an op's body.
template <typename OpTy, typename ParentOp>
std::string nearestSymbol(llvm::StringRef wanted, ParentOp parent) {
  llvm::SmallVector<llvm::StringRef> names;
  for (auto op : parent.template getOps<OpTy>())
    names.push_back(op.getSymName());
  return nearest(wanted, std::move(names));
}

/// (C6) of pe.tensor: the parameters of a program, and what is added to them.
llvm::LogicalResult verifyGradients(ProgramOp program,
                                    const mlir::SymbolTable &symbols);

/// Adds where the other half of an error lies; null: nowhere.
llvm::LogicalResult withNote(mlir::InFlightDiagnostic error,
                             mlir::Operation *other, const llvm::Twine &note);

/// Parses one of `names`. `noun` says what it is: "a port".
mlir::ParseResult parseWord(mlir::AsmParser &parser, llvm::StringRef &word,
                            llvm::SmallVector<llvm::StringRef> names,
                            llvm::StringRef noun);

/// Parses a case of an enumeration whose highest number is `last`.
template <typename Enum>
mlir::ParseResult parseCase(mlir::AsmParser &parser, Enum &value, unsigned last,
                            llvm::StringRef noun) {
  llvm::SmallVector<llvm::StringRef> names;
  for (unsigned number = 0; number <= last; ++number)
    if (auto name = stringifyEnum(static_cast<Enum>(number)); !name.empty())
      names.push_back(name);
  llvm::StringRef word;
  if (parseWord(parser, word, std::move(names), noun))
    return mlir::failure();
  value = *symbolizeEnum<Enum>(word);
  return mlir::success();
}

} // namespace wsec::pe

#endif // WSEC_DIALECTS_PE_PEMISTAKES_H
