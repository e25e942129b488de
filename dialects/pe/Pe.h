// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pe dialect, and the small structs that build and read its ops:
//
//   Affine k = Affine(row) * 4 + 2;
//   VectorOp::create(builder, loc, Opcode::Fmac,
//                    Operand::memory("acc", 0, {0, 1}),
//                    {Operand::fabric(2), Operand::memory("x", k, {16, 1})},
//                    {columns, 16});
#ifndef WSEC_DIALECTS_PE_PE_H
#define WSEC_DIALECTS_PE_PE_H

#include "dialects/fabric/Fabric.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "dialects/pe/PeParameters.h"

namespace wsec::pe {
using fabric::Port;
using fabric::Ports;
} // namespace wsec::pe

#include "dialects/pe/PeDialect.h.inc"
#include "dialects/pe/PeEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/pe/PeAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/pe/PeTypes.h.inc"

namespace wsec::pe {

/// constant + sum(scale * value), values being scalars of the class, loop
/// variables or what code has computed before.
struct Affine {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms;

  Affine() = default;
  Affine(int64_t constant) : constant(constant) {}
  Affine(mlir::Value value) { terms.emplace_back(value, 1); }

  Affine operator*(int64_t scale) const;
  Affine operator+(const Affine &other) const;
};

/// An operand of a vector instruction.
struct Operand {
  enum class Kind { Memory, Fabric, Immediate };
  Kind kind = Kind::Immediate;

  std::string buffer; // Memory
  Affine offset;
  llvm::SmallVector<int64_t, 4> strides; // one per extent

  Affine color; // Fabric
  unsigned depth = 1;
  std::optional<std::pair<Affine, Affine>> window; // offset, total
  mlir::Type type = {};                            // of the elements; none: f32
  bool pair = false;                               // two elements in a wavelet
  std::optional<Affine> index; // in the upper half, of the first element

  float value = 0; // Immediate

  static Operand memory(llvm::StringRef buffer, Affine offset,
                        llvm::ArrayRef<int64_t> strides);
  static Operand fabric(Affine color, unsigned depth = 1);
  static Operand immediate(float value);
  /// Keeps, of `total` words, those from `offset` on.
  Operand windowed(Affine offset, Affine total) const;
};

/// How a vector instruction is issued.
struct Issue {
  mlir::Value guard = {};    // only where this scalar is not zero
  int thread = -1;           // asynchronous on this microthread
  std::string activate = {}; // task, on completion
  std::string unblock = {};
  bool advance = false;      // the destination's switch, on completion
  bool endOnControl = false; // a control wavelet ends the instruction
  bool noWrap = false;       // integer results have to fit
};

/// Which rows of a table lines are taken from.
struct RowIndex {
  std::string tensor = {}; // empty: nothing is gathered
  int64_t step = 0;
  int64_t rows = 0;
  int64_t at = -1; // of all lines; -1: each line has its own
};

/// Blocks of one tensor in a host stream; see the segment op.
struct Segment {
  std::string tensor;
  Affine lines = 1;
  int64_t lineStep = 0;
  llvm::SmallVector<Affine, 4> extents;
  llvm::SmallVector<int64_t, 4> strides;
  Affine offset;
  RowIndex index;
  bool accumulate = false;
  mlir::Type halves = {}; // f16 or bf16: two in a word
};

/// What a PE holds of a tensor of the model.
struct ValuePiece {
  llvm::SmallVector<Affine, 4> extents;
  llvm::SmallVector<int64_t, 4> strides; // of elements of the tensor
  Affine offset;
  llvm::SmallVector<int64_t, 4> places; // of elements of the buffer
  Affine place;
};

/// Number of sources an instruction takes.
unsigned sourceCount(Opcode opcode);
/// Number of operands a scalar function takes.
unsigned inputCount(ScalarKind kind);
/// Whether a value is a scalar of a class, which every PE knows at load, of a
/// stream or of an entry; arguments of the latter are.
bool isClassScalar(mlir::Value value);
/// An affine expression numbers values of its op.
llvm::LogicalResult verifyThread(mlir::Operation *op, int64_t thread);
llvm::LogicalResult verifyAffine(mlir::Operation *op, AffineAttr affine,
                                 mlir::ValueRange values);
/// Ports of a route: some to transmit on, and no way back to a neighbour.
llvm::LogicalResult verifyPorts(mlir::Operation *op, Port receive,
                                Ports transmit);
/// Whether tensors off the wafer may hold elements of this type.
bool isStoredType(mlir::Type type);
/// Whether it is a float of 16 bits: f16, bf16 or cb16.
bool isNarrowFloat(mlir::Type type);
/// Whether buffers may hold elements of this type, too.
bool isElementType(mlir::Type type);
/// Whether wavelets hold elements of the type; and the names of such types.
bool isWireType(mlir::Type type);
inline constexpr llvm::StringLiteral kWireTypes =
    "f32, f16, bf16, !pe.cb16, i32, i16, ui32 or ui16";
/// Bytes of an element as it lies in a file or in SRAM; i1 takes one.
unsigned elementBytes(mlir::Type type);

/// Collects the scalars an op's affine attributes refer to, each once, in the
/// order of first use.
class AffineEncoder {
public:
  explicit AffineEncoder(mlir::MLIRContext *context) : context(context) {}
  AffineAttr encode(const Affine &affine);
  mlir::ArrayAttr encode(llvm::ArrayRef<Affine> affines);
  mlir::Attribute encode(const Operand &operand);
  llvm::ArrayRef<mlir::Value> getValues() const { return values; }

private:
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::Value> values;
};

/// The inverse, for an op whose scalar operands are `values`.
Affine decode(AffineAttr affine, mlir::ValueRange values);
Operand decode(mlir::Attribute operand, mlir::ValueRange values);

} // namespace wsec::pe

#define GET_OP_CLASSES
#include "dialects/pe/PeOps.h.inc"

namespace wsec::pe {

/// Writes the body of a procedure wherever it is called; then there are none.
llvm::LogicalResult expandProcedures(ProgramOp program);

/// What a PE computes at load, or the host: a constant, whose value is the
/// first operand, or a function of earlier nodes.
struct ScalarNode {
  std::optional<ScalarKind> kind; // none: a constant
  std::array<int64_t, 3> operands;
  mlir::Value result;      // none: of a number in a function
  bool isArgument = false; // number `operands[0]`, of an entry or stream
};

/// The scalars of a class, stream or entry that code depends on, in their
/// order; arguments go first.
std::vector<ScalarNode> scalarNodes(mlir::Block &block);

/// Bytes of code in each PE of a class. Words of 4 bytes:
///   a used scalar 1, a routine or task 2, each argument of a routine 1,
///   a loop 3, an await 1,
///   an instruction 2, and 2 for each operand in memory or on the fabric,
///   3 for one with a window; a computation, activate, block, unblock 1, a
///   load, store, if, control, clock or set_route 2.
int64_t codeBytes(ClassOp op);
/// Words of a statement or routine alone, without what is inside.
int64_t codeWords(mlir::Operation *op);

} // namespace wsec::pe

#endif // WSEC_DIALECTS_PE_PE_H
