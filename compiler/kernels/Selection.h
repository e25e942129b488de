// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel asks of the selection to build itself for an operator: its
// operands on the wafer in a distribution, or in the store as weights.

#ifndef WSEC_COMPILER_KERNELS_SELECTION_H
#define WSEC_COMPILER_KERNELS_SELECTION_H

#include "compiler/kernels/Distributions.h"
#include "compiler/kernels/Sources.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

namespace wsec {

/// Creates a kernel; facts of later states stay open.
template <typename KernelT, typename... Args>
KernelT createKernel(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::ArrayAttr nodes, mlir::FlatSymbolRefAttr region,
                     Args &&...args) {
  mlir::IntegerAttr open;
  return KernelT::create(builder, loc, std::forward<Args>(args)..., nodes,
                         region, mlir::ArrayAttr(), open, open, open, open,
                         mlir::DenseI64ArrayAttr(), mlir::ArrayAttr());
}

class Selection;

/// A load of all of `source`, for no node of the model.
mlir::Operation *createLoad(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::FlatSymbolRefAttr region, mlir::Type type,
                            mlir::Attribute source);
/// What a state holds, zeros where a position is 0, and all of it overwritten,
/// for the nodes of `user`.
mlir::Value createRecall(Selection &selection, mlir::Operation *user,
                         wse::StateOp state, mlir::ValueRange positions);
void createUpdate(Selection &selection, mlir::Operation *user,
                  wse::StateOp state, mlir::Value value);
/// A store of `tensor` as all of `output`, for no node of the model.
mlir::Operation *createStore(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::FlatSymbolRefAttr region, mlir::Value tensor,
                             mlir::StringAttr output, mlir::Type type);

/// The selection of one program, whose kernels all run on one region. Where a
/// value is asked for, null says that it was refused; `user` is the operator
/// that needs it.
class Selection {
public:
  virtual ~Selection() = default;

  /// The region, as its kernels see it.
  virtual const Machine &machine() const = 0;
  /// At the end of the program.
  virtual mlir::OpBuilder &builder() = 0;
  virtual mlir::FlatSymbolRefAttr region() const = 0;
  /// What the host provides.
  virtual const HostValues &host() const = 0;
  /// Who wants whole heads in columns.
  virtual const WantedHeads &heads() const = 0;

  /// Notes that `op` cannot be selected, and why.
  virtual void refuse(mlir::Operation *op, const llvm::Twine &reason) = 0;
  /// Creates the kernel of some operators of the model.
  template <typename KernelT, typename... Args>
  KernelT create(mlir::Operation *user, mlir::ArrayAttr nodes, Args &&...args) {
    auto kernel = createKernel<KernelT>(builder(), user->getLoc(), nodes,
                                        region(), std::forward<Args>(args)...);
    if (mlir::Attribute absorbed = user->getAttr(onnx::absorbedAttrName))
      kernel->setAttr(onnx::absorbedAttrName, absorbed);
    return kernel;
  }
  /// Creates the kernel of one operator of the model.
  template <typename KernelT, typename... Args>
  KernelT createFor(mlir::Operation *op, Args &&...args) {
    return create<KernelT>(op, nodesOf(op), std::forward<Args>(args)...);
  }
  /// Creates an `elementwise` kernel; `compute` gives an element of its result
  /// from one of each input, and one of each vector.
  mlir::Value elementwise(
      mlir::Operation *user, mlir::Type result, mlir::ValueRange inputs,
      llvm::ArrayRef<mlir::Attribute> vectors,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>
          compute);
  /// Has `kernel` run in the cheapest of its offers, and brings its first
  /// operand into the distribution that this takes.
  virtual void takeCheapestOffer(mlir::Operation *kernel,
                                 mlir::Operation *user) = 0;

  /// Bytes of scratch that do not fit a PE, and cycles, of the cheapest of its
  /// offers for its operands as they lie.
  virtual std::pair<int64_t, double> cheapest(mlir::Operation *kernel) = 0;

  //===------------------------------------------------------------------===//
  // Names and types
  //===------------------------------------------------------------------===//

  mlir::ArrayAttr nodesOf(llvm::ArrayRef<mlir::Operation *> ops);
  /// The distribution for `shape` when nothing else decides.
  wse::TokenTiling defaultTiling(llvm::ArrayRef<int64_t> shape) const;
  /// What tensors of floats hold that the operators of the model make: f32, or
  /// what --precision asks for.
  virtual mlir::Type floats() const = 0;
  /// A tensor of `floats`, unless `like` is a value of integers, or a tensor on
  /// the wafer: then of its elements.
  mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> shape,
                                    wse::TokenTiling tiling,
                                    mlir::Value like = {}) const;
  mlir::RankedTensorType tensorType(wse::TokenTiling tiling, int64_t features,
                                    mlir::Value like = {}) const;
  /// What the wafer has of a weight that is loaded.
  mlir::RankedTensorType tensorType(wse::WeightAttr weight,
                                    wse::TokenTiling tiling);

  //===------------------------------------------------------------------===//
  // Values on the wafer
  //===------------------------------------------------------------------===//

  /// `value` on the wafer in its own distribution, or in the default one if
  /// the host provides it.
  virtual mlir::Value onWafer(mlir::Value value, mlir::Operation *user) = 0;
  /// `value` on the wafer, where every column holds features of its own.
  mlir::Value onWaferByFeatures(mlir::Value value, mlir::Operation *user);
  /// `value` where it is on the wafer already: null for values of the host.
  virtual mlir::Value alreadyOnWafer(mlir::Value value) const = 0;
  /// `value` of the host, read as `shape`, in the given distribution.
  /// What the model computes of it (masks, positions) stays in f32, and with
  /// `exact` what it holds, too.
  virtual mlir::Value bring(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                            wse::TokenTiling tiling, mlir::Operation *user,
                            bool exact = false) = 0;
  /// `value` with its features in other columns, heads perhaps repeated.
  virtual mlir::Value redistribute(mlir::Value value,
                                   wse::ColumnPlacement columns,
                                   int64_t headSize, mlir::Operation *user,
                                   int64_t repeat = 1) = 0;
  /// `value` where its tokens and heads meet those of a state, with `repeat`
  /// heads for each of these.
  virtual mlir::Value toState(mlir::Value value, wse::StateOp state,
                              int64_t repeat, mlir::Operation *user) = 0;
  /// A view of what the host holds, loaded with these extents, or as another
  /// `shape`.
  virtual mlir::Value load(wse::WeightAttr weight, wse::TokenTiling tiling,
                           mlir::Operation *user) = 0;
  /// A load of its own of such a view, which this user alone keeps there.
  virtual mlir::Value loadAlone(wse::WeightAttr weight, wse::TokenTiling tiling,
                                mlir::Operation *user) = 0;
  virtual mlir::Value loadReshaped(wse::WeightAttr weight,
                                   llvm::ArrayRef<int64_t> shape,
                                   wse::TokenTiling tiling,
                                   mlir::Operation *user) = 0;

  //===------------------------------------------------------------------===//
  // What goes from call to call
  //===------------------------------------------------------------------===//

  /// The state that `update` writes, declared on first use, for the heads that
  /// attend to it.
  virtual wse::StateOp stateOf(onnx::UpdateOp update) = 0;
  /// The arguments of the entry that `positions`, one of the function, is: one
  /// for each batch element.
  virtual mlir::ValueRange argumentsOf(mlir::Value positions) const = 0;

  //===------------------------------------------------------------------===//
  // Values in the store
  //===------------------------------------------------------------------===//

  /// Makes sure that the host holds `value`, as a view of what it had or of an
  /// intermediate that kernels store. False if it was refused.
  virtual bool toStore(mlir::Value value, mlir::Operation *user) = 0;
  /// Makes sure that the store holds the elements of `value`, a value of the
  /// host, in their own order.
  virtual bool toStoreInOrder(mlir::Value value, mlir::Operation *user) = 0;
  /// As toStore, for kernels that stream it.
  wse::WeightAttr asWeight(mlir::Value value, mlir::Operation *user);
  /// A view of what the host holds, as kernels stream it.
  wse::WeightAttr weight(const values::TracedView &traced);
  /// A load of `source`, without strides of all of it in order.
  mlir::Value createLoad(mlir::Type type, mlir::Attribute source,
                         int64_t offset, llvm::ArrayRef<int64_t> strides,
                         mlir::Operation *user);
  /// How a load names it: inputs and intermediates as a whole, with a view of
  /// the load's own.
  virtual mlir::Attribute source(wse::WeightAttr weight) const = 0;

  /// A new intermediate with elements of a type on the wafer, or as those of
  /// `like`.
  virtual wse::IntermediateOp declare(llvm::ArrayRef<int64_t> shape,
                                      mlir::Type element,
                                      mlir::Operation *user) = 0;
  wse::IntermediateOp declare(llvm::ArrayRef<int64_t> shape, mlir::Value like,
                              mlir::Operation *user) {
    return declare(shape, elementOnWafer(like), user);
  }
  /// Stores `tensor` into (part of) an intermediate. What is stored in f32 is
  /// loaded in f32.
  void store(mlir::Value tensor, wse::IntermediateOp into, int64_t offset,
             llvm::ArrayRef<int64_t> strides, mlir::Operation *user);
  /// Stores `tensor` as the elements from `offset` on of an output of `type`,
  /// or of an intermediate, without strides as features.
  void storeAs(mlir::StringAttr output, mlir::Value tensor, mlir::Type type,
               int64_t offset, llvm::ArrayRef<int64_t> strides,
               mlir::Operation *user);
  /// From now on the host provides `value` as that intermediate.
  virtual void provide(mlir::Value value, wse::IntermediateOp from) = 0;
  /// All of that for the whole of `value`, which `tensor` holds. False if that
  /// is null.
  bool storeWhole(mlir::Value value, mlir::Value tensor, mlir::Operation *user);

  /// Bytes of a PE that a result which only leaves the wafer may take beside
  /// the input of its kernel.
  virtual int64_t roomForOutput(mlir::Value input) const = 0;
  /// Whether a program that did not fit is to do without kernels that others
  /// replace with code that they share.
  virtual bool hasLittleScratch() const = 0;
  /// Stores `tensor` as the features from `offset` on of an output of @main.
  virtual void storePiece(mlir::Value tensor, mlir::OpOperand &output,
                          int64_t offset, mlir::Operation *user) = 0;
  /// The name of an output of @main, all of which the caller stores.
  virtual mlir::StringAttr takeOutput(mlir::OpOperand &output) = 0;

  /// The parameter that a constant is a view of, declared on first use.
  virtual mlir::FlatSymbolRefAttr parameterOf(onnx::ConstantOp constant) = 0;
  /// A parameter of elements that the model does not have, declared on first
  /// use.
  virtual mlir::FlatSymbolRefAttr parameterOf(mlir::DenseElementsAttr elements,
                                              llvm::StringRef name) = 0;

protected:
  /// Does an element of what the host holds need all bits of an f32?
  bool isStoredExactly(wse::WeightAttr weight) const {
    return storedExactly.contains(weight.getName());
  }

private:
  // Looked up only, never walked.
  llvm::DenseSet<mlir::Attribute> storedExactly;
};

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_SELECTION_H
