// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What selecting one operator needs to know about the others: which values are
// on the wafer already and where, and a list of all that cannot be done.

#ifndef WSEC_COMPILER_SELECT_SELECTOR_H
#define WSEC_COMPILER_SELECT_SELECTOR_H

#include "compiler/select/Distributions.h"
#include "compiler/select/KernelChoice.h"
#include "compiler/select/Sources.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace wsec::select {

/// Selects kernels for the operators of @main, in their order. Values that the
/// host can provide (HostValues) are brought onto the wafer when the first
/// kernel asks for them, in the distribution that it asks for; every other
/// value keeps the distribution of the kernel that produces it, and moves by an
/// explicit wse.redistribute, or through the store: kernels store it as an
/// intermediate, and from then on the host provides it, in any order.
class Selector {
public:
  /// All kernels run on `region` of the program.
  Selector(mlir::func::FuncOp main, wse::ProgramOp program,
           wse::RegionOp region);

  /// Fills the program. Reports everything that no kernel can do in one error.
  mlir::LogicalResult run();

  // For ElementwiseGroup.

  wse::ProgramOp program() { return target; }
  mlir::OpBuilder &builder() { return kernels; }
  const HostValues &host() const { return hostValues; }

  /// Creates a kernel; facts of later states stay open.
  template <typename KernelT, typename... Args>
  KernelT create(mlir::Operation *user, mlir::ArrayAttr nodes, Args &&...args) {
    mlir::IntegerAttr open;
    auto kernel =
        KernelT::create(kernels, user->getLoc(), std::forward<Args>(args)...,
                        nodes, region, mlir::ArrayAttr(), open, open, open,
                        open, mlir::DenseI64ArrayAttr(), mlir::ArrayAttr());
    if (mlir::Attribute absorbed = user->getAttr(onnx::absorbedAttrName))
      kernel->setAttr(onnx::absorbedAttrName, absorbed);
    return kernel;
  }

  /// Notes that `op` cannot be selected, and why.
  void refuse(mlir::Operation *op, const llvm::Twine &reason);

  /// The distribution for `shape` when nothing else decides.
  wse::TiledAttr defaultTiling(llvm::ArrayRef<int64_t> shape);

  /// `value` on the wafer in its own distribution, or in the default one if
  /// the host provides it. Null if it was refused.
  mlir::Value onWafer(mlir::Value value, mlir::Operation *user);
  /// The same without bringing anything: null for values of the host.
  mlir::Value alreadyOnWafer(mlir::Value value);
  /// `value` of the host, read as `shape`, in the given distribution.
  mlir::Value bring(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                    wse::TiledAttr tiling, mlir::Operation *user);
  /// What bring() gave for `value` in its own shape; null if it was not asked.
  mlir::Value brought(mlir::Value value, wse::TiledAttr tiling);
  /// `value` with its features in other columns, heads perhaps repeated.
  mlir::Value redistribute(mlir::Value value, wse::ColumnPlacement columns,
                           int64_t headSize, mlir::Operation *user,
                           int64_t repeat = 1);
  /// A view of an input or constant, loaded with these extents.
  mlir::Value load(const HostView &host, wse::TiledAttr tiling,
                   mlir::Operation *user);
  /// Makes sure that the host holds `value`, as a view of what it had or of an
  /// intermediate that kernels store. False if it was refused.
  bool toStore(mlir::Value value, mlir::Operation *user);
  /// Makes sure that the store holds the elements of `value`, a value of the
  /// host, in their own order.
  bool toStoreInOrder(mlir::Value value, mlir::Operation *user);
  /// As toStore, for kernels that stream it.
  wse::WeightAttr asWeight(mlir::Value value, mlir::Operation *user);

  /// Does `op` belong to the element-wise group that `root` is the last of?
  bool isInGroup(mlir::Operation *op, mlir::Operation *root) const;
  mlir::ArrayAttr nodesOf(llvm::ArrayRef<mlir::Operation *> ops);
  /// Of f32, unless `like` is a value of integers or a tensor of them.
  mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> shape,
                                    wse::TiledAttr tiling,
                                    mlir::Value like = {});
  mlir::RankedTensorType tensorType(wse::TiledAttr tiling, int64_t features,
                                    mlir::Value like = {});

private:
  void findGroups();
  llvm::LogicalResult checkNames();
  void declareInputs();
  void select(mlir::Operation *op);
  /// The kernel of `result` makes the values of the model that `op` is.
  static void nameValues(mlir::Operation *op, mlir::Value result);
  mlir::Value select(onnx::MatMulOp op);
  mlir::Value select(onnx::AttentionOp op);
  mlir::Value select(onnx::RotaryOp op);
  mlir::Value select(onnx::LayerNormOp op);
  mlir::Value select(onnx::RMSNormOp op);
  mlir::Value select(onnx::SoftmaxOp op);
  mlir::Value select(onnx::GatherOp op);
  mlir::Value select(onnx::ReduceOp op);
  mlir::Value select(onnx::SliceOp op);
  mlir::Value select(onnx::ReshapeOp op);
  mlir::Value select(onnx::TransposeOp op);
  mlir::Value select(onnx::ExpandOp op);
  mlir::Value select(onnx::ConcatOp op);
  mlir::Value select(onnx::BatchMatMulOp op);
  bool selectView(mlir::Operation *op);
  mlir::Value loadReshaped(HostView host, llvm::ArrayRef<int64_t> shape,
                           wse::TiledAttr tiling, mlir::Operation *user);
  HostView storedInParts(HostView host, mlir::Operation *user);
  mlir::Value reduceInStore(onnx::ReduceOp op);
  mlir::StringAttr intermediateName(mlir::Operation *user);
  wse::IntermediateOp declare(llvm::ArrayRef<int64_t> shape, mlir::Value like,
                              mlir::Operation *user);
  void store(mlir::Value tensor, wse::IntermediateOp into, int64_t offset,
             llvm::ArrayRef<int64_t> strides, mlir::Operation *user);
  bool storeWhole(mlir::Value value, mlir::Value tensor, mlir::Operation *user);
  mlir::Value selectElementwise(mlir::Operation *op);

  mlir::Value reduceTokens(mlir::Operation *op, mlir::Value input,
                           wse::ReduceKind kind);
  bool canStore(onnx::SliceOp op, int64_t zeros);
  mlir::Value takeToken(onnx::SliceOp op, mlir::Value input, int64_t token);
  mlir::Value reduceFeatures(onnx::ReduceOp op, mlir::Value input);
  mlir::Value buildMatmul(mlir::Operation *op, mlir::Value input,
                          wse::WeightAttr weight, wse::WeightAttr bias,
                          wse::TiledAttr tiling);
  VariantChoice spreadInput(wse::MatmulOp matmul, VariantChoice asItLies,
                            mlir::Operation *op);
  bool storeInPieces(onnx::MatMulOp op, mlir::Value input,
                     wse::WeightAttr weight, wse::WeightAttr bias);
  mlir::Value normInput(mlir::Value value, mlir::Operation *op);
  mlir::Value wholeHeads(mlir::Operation *op, mlir::Value value, int64_t heads,
                         int64_t repeat = 1);
  mlir::Value rotaryAngles(onnx::RotaryOp op, mlir::Value angles,
                           wse::TiledAttr rows);
  mlir::Value attentionBias(onnx::AttentionOp op, wse::TiledAttr query,
                            int64_t keys, bool &perKey);
  void storeOutput(mlir::OpOperand &output, llvm::StringRef name);
  llvm::StringRef outputName(unsigned index);

  mlir::func::FuncOp main;
  wse::ProgramOp target;
  mlir::FlatSymbolRefAttr region;
  Machine machine; ///< as the region's kernels see it
  HostValues hostValues;
  WantedHeads wantedHeads;
  mlir::OpBuilder kernels;
  llvm::StringSet<> taken; ///< names of tensors, once asked for
  /// Root of the element-wise group of each operator in one.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> groupRoot;
  /// Kernel results; null for what was refused.
  llvm::DenseMap<mlir::Value, mlir::Value> selected;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> onceBrought;
  llvm::DenseMap<mlir::Attribute, mlir::Value> loaded;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> moved;
  /// Outputs that are stored already, piece by piece.
  llvm::SetVector<unsigned> storedOutputs;
  llvm::MapVector<mlir::Operation *, std::string> refusals;
};

/// "'fc1' (onnx.matmul)".
std::string describeNode(mlir::Operation *op);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_SELECTOR_H
