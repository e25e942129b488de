// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What selecting one operator needs to know about the others: which values are
// on the wafer already and where, and a list of all that cannot be done.

#ifndef WSEC_COMPILER_SELECT_SELECTOR_H
#define WSEC_COMPILER_SELECT_SELECTOR_H

#include "compiler/Refusals.h"
#include "compiler/kernels/Selection.h"
#include "compiler/select/KernelChoice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

namespace wsec::select {

/// What the entries of a program share: names, and what these stand for.
struct ProgramSymbols {
  /// `program` has its region and keep-outs, `module` the functions that become
  /// its entries.
  ProgramSymbols(mlir::ModuleOp module, wse::ProgramOp program);

  llvm::StringSet<> taken;
  /// How many elements inputs and intermediates have. Looked up only.
  llvm::DenseMap<mlir::StringAttr, int64_t> elements;
  /// By what holds the elements in the model. Looked up only.
  llvm::DenseMap<mlir::Attribute, mlir::FlatSymbolRefAttr> parameters;
  llvm::StringMap<wse::StateOp>
      states; ///< by name in the model; looked up only
  /// What keys and values consist of, i8 where they have scales; null: of the
  /// floats of activations.
  mlir::Type keysAndValues;
  mlir::Operation *lastDeclared; ///< inputs, states, parameters stand behind it
  mlir::Operation *firstOfMoreBits = nullptr; ///< and those of few before this
};

/// Whether an argument of a function is an input of the program, and no state
/// and no argument of the entry.
bool isHostInput(mlir::BlockArgument argument);

/// Selects kernels for the operators of a function, an entry of the program, in
/// their order: asks the library
/// which one computes an operator, and has it build itself. Values that the
/// host can provide (HostValues) are brought onto the wafer when the first
/// kernel asks for them, in the distribution that it asks for; every other
/// value keeps the distribution of the kernel that produces it, and moves by an
/// explicit wse.redistribute, or through the store: kernels store it as an
/// intermediate, and from then on the host provides it, in any order.
class Selector final : public Selection {
public:
  /// All kernels run on `region` of the program; activations are of
  /// `precision`. With `weightsStay` what kernels can hold is held later.
  Selector(mlir::func::FuncOp main, wse::ProgramOp program,
           wse::RegionOp region, mlir::Type precision, ScratchLimits limits,
           bool weightsStay, ProgramSymbols &symbols);

  /// Fills the program. Reports everything that no kernel can do in one error.
  mlir::LogicalResult run();

  const Machine &machine() const final { return regionMachine; }
  mlir::OpBuilder &builder() final { return kernels; }
  mlir::Type floats() const final {
    return exactly ? mlir::Float32Type::get(precision.getContext()) : precision;
  }
  mlir::FlatSymbolRefAttr region() const final { return regionName; }
  const HostValues &host() const final { return hostValues; }
  const WantedHeads &heads() const final { return wantedHeads; }
  void refuse(mlir::Operation *op, const llvm::Twine &reason) final;
  void takeCheapestOffer(mlir::Operation *kernel, mlir::Operation *user) final;
  std::pair<int64_t, double> cheapest(mlir::Operation *kernel) final;

  mlir::Value onWafer(mlir::Value value, mlir::Operation *user) final;
  mlir::Value alreadyOnWafer(mlir::Value value) const final;
  mlir::Value bring(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                    wse::TokenTiling tiling, mlir::Operation *user,
                    bool exact = false) final;
  mlir::Value redistribute(mlir::Value value, wse::ColumnPlacement columns,
                           int64_t headSize, mlir::Operation *user,
                           int64_t repeat = 1) final;
  mlir::Value toState(mlir::Value value, wse::StateOp state, int64_t repeat,
                      mlir::Operation *user) final;
  mlir::Value load(wse::WeightAttr weight, wse::TokenTiling tiling,
                   mlir::Operation *user) final;
  mlir::Value loadAlone(wse::WeightAttr weight, wse::TokenTiling tiling,
                        mlir::Operation *user) final;
  mlir::Value loadReshaped(wse::WeightAttr weight,
                           llvm::ArrayRef<int64_t> shape,
                           wse::TokenTiling tiling,
                           mlir::Operation *user) final;

  wse::StateOp stateOf(onnx::UpdateOp update) final;
  mlir::ValueRange argumentsOf(mlir::Value positions) const final {
    return arguments.find(positions)->second;
  }

  bool toStore(mlir::Value value, mlir::Operation *user) final;
  bool toStoreInOrder(mlir::Value value, mlir::Operation *user) final;
  using Selection::declare;
  wse::IntermediateOp declare(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                              mlir::Operation *user) final;
  mlir::Attribute source(wse::WeightAttr weight) const final;
  void provide(mlir::Value value, wse::IntermediateOp from) final;
  mlir::FlatSymbolRefAttr parameterOf(onnx::ConstantOp constant) final;
  mlir::FlatSymbolRefAttr parameterOf(mlir::DenseElementsAttr elements,
                                      llvm::StringRef name) final;
  int64_t roomForOutput(mlir::Value input) const final;
  bool hasLittleScratch() const final { return limits.littleScratch; }
  void storePiece(mlir::Value tensor, mlir::OpOperand &output, int64_t offset,
                  mlir::Operation *user) final;
  mlir::StringAttr takeOutput(mlir::OpOperand &output) final;

  // For ElementwiseGroup.

  /// What bring() gave for `value` in its own shape; null if it was not asked.
  mlir::Value brought(mlir::Value value, wse::TokenTiling tiling);
  /// Does `op` belong to the element-wise group that `root` is the last of?
  bool isInGroup(mlir::Operation *op, mlir::Operation *root) const;

private:
  void findGroups();
  llvm::LogicalResult checkNames();
  void openEntry();
  mlir::OpBuilder declarations() const;
  void declareInputs();
  void describeLengths();
  bool isState(mlir::OpOperand &output);
  mlir::BlockArgument wholeStateOf(mlir::OpOperand &output);
  wse::StateOp stateOf(mlir::BlockArgument whole);
  void recall(mlir::BlockArgument state, mlir::Operation *user);
  bool isRead(mlir::BlockArgument state);
  void leaveState(mlir::OpOperand &output);
  mlir::FlatSymbolRefAttr declareParameter(onnx::ParameterOp parameter);
  wse::ParameterOp declareParameter(mlir::StringAttr name,
                                    mlir::Attribute elements, mlir::Type type,
                                    mlir::Location loc);
  void forgetWhereKept(mlir::Operation *op);
  void select(mlir::Operation *op);
  mlir::Value build(mlir::Operation *op);
  /// The kernel of `result` makes the values of the model that `op` is.
  static void nameValues(mlir::Operation *op, mlir::Value result);
  mlir::Value buildShape(mlir::Operation *op);
  bool selectView(mlir::Operation *op);
  mlir::Value buildElementwise(mlir::Operation *op);
  wse::WeightAttr storedInParts(wse::WeightAttr weight, mlir::Operation *user);
  wse::StateOp declareState(mlir::BlockArgument past,
                            mlir::RankedTensorType type);
  wse::StateOp createState(llvm::StringRef name, mlir::RankedTensorType type,
                           mlir::Location loc);
  mlir::StringAttr freshName(llvm::StringRef name);
  mlir::StringAttr intermediateName(mlir::Operation *user);
  Machine besideStates() const;
  double redistributeCycles(mlir::Value value, wse::TokenTiling tiling);
  mlir::Type redistributed(mlir::Value value, wse::ColumnPlacement columns,
                           int64_t headSize, int64_t repeat = 1);
  void storeOutput(mlir::OpOperand &output);
  void storeGradient(onnx::GradientOp op);
  llvm::StringRef outputName(unsigned index);
  mlir::StringAttr outputName(mlir::OpOperand &output);

  mlir::func::FuncOp main;
  wse::ProgramOp target;
  mlir::FlatSymbolRefAttr regionName;
  Machine regionMachine; ///< as the region's kernels see it
  HostValues hostValues;
  WantedHeads wantedHeads;
  mlir::OpBuilder kernels;
  mlir::Type precision; ///< of activations
  ScratchLimits limits;
  bool weightsStay;
  Offers offers;        ///< on the region
  bool exactly = false; ///< what is brought now is of f32
  /// Root of the element-wise group of each operator in one.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> groupRoot;
  /// Kernel results; null for what was refused.
  llvm::DenseMap<mlir::Value, mlir::Value> selected;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> onceBrought;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, mlir::Value> loaded;
  llvm::SmallPtrSet<mlir::Operation *, 4> readAgain; ///< what the store keeps
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> moved;
  /// Outputs that are stored already, piece by piece, and states that are
  /// written. Looked up only.
  llvm::SmallPtrSet<mlir::OpOperand *, 4> storedOutputs;
  llvm::DenseMap<mlir::Operation *, mlir::StringAttr> gradientNames;
  ProgramSymbols &symbols;
  wse::EntryOp entry; ///< null: kernels stand in the program
  /// Integers of the call. Looked up only.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> arguments;
  /// What only brings states into the order that the model returns.
  llvm::SmallPtrSet<mlir::Operation *, 4> statesLeaving;
  Refusals refusals;
};

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_SELECTOR_H
