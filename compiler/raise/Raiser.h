// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From operations on tensors to nodes of ONNX, one at a time.
#ifndef COMPILER_RAISE_RAISER_H
#define COMPILER_RAISE_RAISER_H

#include "dialects/onnx/Onnx.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace wsec::raise {

/// The operators that nodes are of.
inline constexpr int64_t opset = 21;

/// Extents of a tensor, or the order of its dimensions.
using Extents = llvm::SmallVector<int64_t>;

/// A value of ONNX and its extents, which it need not state itself.
struct Term {
  mlir::Value value;
  Extents shape;
};

/// Makes nodes, and remembers what each value of the function has become.
class Raiser {
public:
  explicit Raiser(mlir::OpBuilder &builder) : builder(builder) {}

  /// Raises `op`; its results are known then. Fails with `reason`, which is
  /// empty where what it reads was refused before.
  llvm::LogicalResult raise(mlir::Operation *op);

  /// What a tensor or a scalar constant has become. Fails where that is
  /// nothing, with `reason` where this is news.
  llvm::FailureOr<Term> term(mlir::Value value);
  /// A tensor of which only the first elements may be known, or no value.
  Term filled(mlir::Value value) const;
  void define(mlir::Value value, Term term) { terms[value] = std::move(term); }

  Term node(llvm::StringRef type, llvm::ArrayRef<Term> operands, Extents shape,
            llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// A node that combines elements of operands, which are broadcast.
  Term elementwise(llvm::StringRef type, llvm::ArrayRef<Term> operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  Term constant(mlir::DenseElementsAttr elements);
  Term integers(llvm::ArrayRef<int64_t> numbers);
  llvm::FailureOr<Term> converted(Term from, mlir::Type element);
  /// Reduced dimensions stay, of extent 1.
  Term reduce(llvm::StringRef type, const Term &from,
              llvm::ArrayRef<int64_t> axes);

  // These make nothing where nothing changes.
  Term reshape(Term from, llvm::ArrayRef<int64_t> shape);
  Term transpose(Term from, llvm::ArrayRef<int64_t> order);
  Term expand(Term from, llvm::ArrayRef<int64_t> shape);
  /// What an expansion began with, of the same rank.
  Term unexpanded(const Term &from);

  /// An operation of arith or math on scalars, or on tensors of one shape.
  llvm::FailureOr<Term> scalar(mlir::Operation *op,
                               llvm::ArrayRef<Term> operands);

  llvm::LogicalResult refuse(const llvm::Twine &why) {
    reason = why.str();
    return mlir::failure();
  }

  std::string reason;
  mlir::OpBuilder &builder;
  /// Elements and bytes of constants that are no scalars, as import counts
  /// them.
  int64_t parameters = 0, weightBytes = 0;

private:
  llvm::LogicalResult raiseScalar(mlir::Operation *op);
  llvm::LogicalResult raiseTensorOp(mlir::Operation *op);
  llvm::LogicalResult raiseStructured(mlir::Operation *op);
  llvm::LogicalResult raiseConstant(mlir::Value result, mlir::Attribute value);
  Term mean(const Term &sum, const Term &count);
  Term softmax(const Term &above, const Term &below);
  std::string nodeName(llvm::StringRef type);

  llvm::DenseMap<mlir::Value, Term> terms;
  /// What a Reshape, an Expand or a reduction was made of.
  llvm::DenseMap<mlir::Value, Term> reshaped, expanded, reduced;
  struct Transposed {
    Term from;
    Extents order;
  };
  llvm::DenseMap<mlir::Value, Transposed> transposed;
  mlir::Operation *current = nullptr;
  unsigned position = 0;
  llvm::StringMap<unsigned> names; // of nodes for the current operation
};

/// Whether it makes a tensor that nothing has been written to.
bool isEmpty(mlir::Operation *op);

/// Extents of elements that two tensors are broadcast to.
Extents broadcast(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// The one number of all elements of a constant, of floats or integers.
std::optional<double> uniformNumber(mlir::Value value);

} // namespace wsec::raise

#endif // COMPILER_RAISE_RAISER_H
