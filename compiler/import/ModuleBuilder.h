// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a model becomes a module: functions (ImportEntries.cpp) with what the
// graph has (ImportModel.cpp).
#ifndef COMPILER_IMPORT_MODULEBUILDER_H
#define COMPILER_IMPORT_MODULEBUILDER_H

#include "compiler/Refusals.h"
#include "compiler/import/CachedCalls.h"
#include "compiler/import/ModuleNames.h"
#include "compiler/import/TensorData.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/GlobPattern.h"

namespace wsec {

/// Location of a thing that has a name in the model: a node, a tensor.
inline mlir::Location namedLocation(llvm::StringRef name,
                                    mlir::MLIRContext *context) {
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name));
}

/// Builds the module of a model that CheckGraph found sound.
class ModuleBuilder {
public:
  ModuleBuilder(const OnnxModel &model, const ImportOptions &options,
                mlir::MLIRContext *context)
      : model(model), graph(model.proto.graph()), context(context),
        builder(context), options(options), data(model, options, context),
        refusals(model.path), modules(moduleNames(graph)) {}

  mlir::OwningOpRef<mlir::ModuleOp> build(int64_t opset);

private:
  llvm::SmallVector<const ValueInfoProto *> inputsWithoutDefault() const;
  mlir::LogicalResult
  readEntries(llvm::ArrayRef<const ValueInfoProto *> inputs);
  void takeNames(llvm::ArrayRef<const ValueInfoProto *> inputs);
  mlir::LogicalResult buildEntry(llvm::ArrayRef<const ValueInfoProto *> inputs,
                                 const EntryOptions &entry);
  mlir::LogicalResult
  buildCachedEntry(llvm::ArrayRef<const ValueInfoProto *> inputs,
                   const EntryOptions &entry);
  mlir::LogicalResult
  buildLengths(llvm::ArrayRef<const ValueInfoProto *> inputs,
               const ImportOptions &bound);
  mlir::FailureOr<mlir::func::FuncOp>
  buildFunction(llvm::ArrayRef<const ValueInfoProto *> inputs,
                const ImportOptions &bound);
  void bindCall(llvm::ArrayRef<const ValueInfoProto *> inputs,
                llvm::ArrayRef<mlir::RankedTensorType> types,
                llvm::StringMap<mlir::DenseElementsAttr> &elements) const;
  void addCallArguments(mlir::func::FuncOp function, int64_t batch);
  /// The name that the host knows an input or output of the entry by.
  mlir::StringAttr hostName(llvm::StringRef name) const;
  /// With an argument for each input that is not bound.
  mlir::func::FuncOp
  createFunction(llvm::ArrayRef<const ValueInfoProto *> inputs,
                 llvm::ArrayRef<mlir::RankedTensorType> types,
                 const llvm::StringMap<mlir::DenseElementsAttr> &bound);
  llvm::SmallVector<mlir::Value> importGraph(const GraphProto &graph);
  void importInitializer(const TensorProto &tensor);
  void findQuantized(const GraphProto &graph);
  int64_t weightsPerElement(mlir::RankedTensorType type,
                            llvm::StringRef name) const;
  std::string nearestParameters(const std::string &text) const;
  mlir::LogicalResult readPatterns();
  /// An initializer's own, unless its module gives it one.
  llvm::StringRef moduleName(llvm::StringRef name) const;
  bool matchesAny(llvm::ArrayRef<llvm::GlobPattern> patterns,
                  llvm::StringRef name) const;
  /// Whether an initializer keeps its name as an onnx.parameter.
  bool isParameter(mlir::RankedTensorType type, llvm::StringRef name) const;
  std::string parameterName(llvm::StringRef name) const;
  mlir::Attribute addParameter(const TensorConstant &constant,
                               llvm::StringRef name);
  void importNode(const NodeProto &node);
  void importWithBodies(const NodeProto &node);
  std::string bodyProblem(const NodeProto &node) const;
  mlir::FlatSymbolRefAttr importBody(const GraphProto &body,
                                     llvm::StringRef name,
                                     llvm::ArrayRef<llvm::StringRef> captured);
  mlir::StringAttr bodyName(llvm::StringRef name) const;
  mlir::Type declaredType(const ValueInfoProto &input) const;
  void addNode(const NodeProto &node, llvm::ArrayRef<mlir::Value> inputs,
               const mlir::NamedAttrList &attributes);
  bool importConstant(const NodeProto &node);
  void addConstant(const TensorConstant &constant, llvm::StringRef node,
                   llvm::StringRef value);
  mlir::Attribute convertAttribute(const NodeProto &node,
                                   const AttributeProto &attribute);
  mlir::Value absent();
  void finishFunction(mlir::func::FuncOp function,
                      llvm::ArrayRef<mlir::Value> results);
  void finishMain(mlir::func::FuncOp function,
                  llvm::ArrayRef<mlir::Value> results);
  void stateWeights(mlir::Operation *of, int64_t parameters, int64_t bytes);

  void nodeProblem(const NodeProto &node, const llvm::Twine &what) {
    refusals.add(what, "node",
                 "'" + node.name() + "' (" + operatorName(node) + ")");
  }

  const OnnxModel &model;
  const GraphProto &graph;
  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  const ImportOptions &options;
  TensorData data;
  Refusals refusals;
  const ModuleNames modules;
  llvm::StringMap<mlir::Value> values;
  llvm::StringMap<llvm::StringRef> taken; // names, and by what
  std::string lengthName;                 // of the dimension with a range
  llvm::StringMap<onnx::ParameterAttr> parametersByName;
  StatePairs states;
  std::vector<EntryOptions> entries;
  std::string entry; ///< that is built
  /// With --kv-capacity, what is built of it.
  CachedInputs cached;
  std::optional<CachedCall> call;
  bool isSample = false;
  llvm::SmallVector<llvm::GlobPattern> train, freeze;
  llvm::SmallVector<llvm::GlobPattern> named; // of `train`, but for *
  llvm::StringMap<int64_t> perElement;        ///< weights, of initializers
  mlir::Value none;
  int64_t parameters = 0, weightBytes = 0;
  unsigned depth = 0; // in bodies
};

} // namespace wsec

#endif // COMPILER_IMPORT_MODULEBUILDER_H
