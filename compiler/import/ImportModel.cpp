// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/ImportModel.h"
#include "compiler/import/BoundInputs.h"
#include "compiler/import/CheckGraph.h"
#include "compiler/import/ElementTypes.h"
#include "compiler/import/InlineFunctions.h"
#include "compiler/import/InputShapes.h"
#include "compiler/import/Problems.h"
#include "compiler/import/TensorData.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace wsec;

namespace {
/// Builds the module of a model that CheckGraph found sound.
class ModuleBuilder {
public:
  ModuleBuilder(const OnnxModel &model, const ImportOptions &options,
                MLIRContext *context)
      : model(model), graph(*model.graph), context(context), builder(context),
        options(options), data(model, options, context),
        tensorProblems(context, model.path + ": tensors cannot be imported"),
        nodeProblems(context, model.path + ": nodes cannot be imported") {}

  OwningOpRef<ModuleOp> build(int64_t opset);

private:
  SmallVector<OnnxValue> inputsWithoutDefault() const;
  /// With an argument for each input that is not bound.
  func::FuncOp createFunction(ArrayRef<OnnxValue> inputs,
                              ArrayRef<RankedTensorType> types,
                              const llvm::StringMap<DenseElementsAttr> &bound);
  void importInitializers();
  void importInitializer(const OnnxTensor &tensor);
  void importNode(const OnnxNode &node);
  bool importConstant(const OnnxNode &node);
  void addConstant(const TensorConstant &constant, StringRef node,
                   StringRef value);
  Attribute convertAttribute(const OnnxNode &node,
                             const OnnxAttribute &attribute);
  Value absent();
  void finishFunction(func::FuncOp function);

  void nodeProblem(const OnnxNode &node, const Twine &what) {
    nodeProblems.add("node '" + node.name + "' (" + node.operatorName() +
                     "): " + what);
  }

  const OnnxModel &model;
  const OnnxGraph &graph;
  MLIRContext *context;
  OpBuilder builder;
  const ImportOptions &options;
  TensorData data;
  Problems tensorProblems, nodeProblems;
  llvm::StringMap<Value> values;
  Value none;
  int64_t parameters = 0, weightBytes = 0;
};
} // namespace

/// Inputs that an initializer gives a default are constants to us.
SmallVector<OnnxValue> ModuleBuilder::inputsWithoutDefault() const {
  llvm::StringSet<> initialized;
  for (const OnnxTensor &tensor : graph.initializers)
    initialized.insert(tensor.name);
  SmallVector<OnnxValue> inputs;
  for (const OnnxValue &input : graph.inputs)
    if (!initialized.contains(input.name))
      inputs.push_back(input);
  return inputs;
}

func::FuncOp
ModuleBuilder::createFunction(ArrayRef<OnnxValue> inputs,
                              ArrayRef<RankedTensorType> types,
                              const llvm::StringMap<DenseElementsAttr> &bound) {
  SmallVector<Type> open;
  for (auto [input, type] : llvm::zip(inputs, types))
    if (!bound.contains(input.name))
      open.push_back(type);
  auto function =
      func::FuncOp::create(builder, namedLocation(graph.name, context), "main",
                           builder.getFunctionType(open, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  unsigned index = 0;
  for (auto [input, type] : llvm::zip(inputs, types)) {
    if (auto elements = bound.find(input.name); elements != bound.end()) {
      addConstant({elements->second, type}, input.name, input.name);
      continue;
    }
    function.setArgAttr(index, onnx::nameAttrName,
                        builder.getStringAttr(input.name));
    body->getArgument(index).setLoc(namedLocation(input.name, context));
    values[input.name] = body->getArgument(index++);
  }
  return function;
}

void ModuleBuilder::addConstant(const TensorConstant &constant, StringRef node,
                                StringRef value) {
  values[value] = onnx::ConstantOp::create(
      builder, namedLocation(node, context), constant.type, constant.value,
      /*offset=*/IntegerAttr(), /*strides=*/DenseI64ArrayAttr(),
      builder.getStringAttr(node));
}

void ModuleBuilder::importInitializer(const OnnxTensor &tensor) {
  llvm::Expected<TensorConstant> constant = data.constant(tensor);
  if (!constant) {
    tensorProblems.add("'" + tensor.name +
                       "': " + llvm::toString(constant.takeError()));
    return;
  }
  if (isa<FloatType>(constant->type.getElementType()) &&
      constant->type.getRank() > 0) {
    parameters += constant->type.getNumElements();
    weightBytes +=
        constant->type.getNumElements() * elementType(tensor.dataType).bytes;
  }
  addConstant(*constant, tensor.name, tensor.name);
}

void ModuleBuilder::importInitializers() {
  llvm::StringSet<> used;
  for (const OnnxNode &node : graph.nodes)
    for (StringRef input : node.inputs)
      used.insert(input);
  for (const OnnxValue &output : graph.outputs)
    used.insert(output.name);
  for (const OnnxTensor &tensor : graph.initializers)
    if (used.contains(tensor.name))
      importInitializer(tensor);
}

Value ModuleBuilder::absent() {
  if (!none) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(builder.getInsertionBlock());
    none = onnx::NoneOp::create(builder, UnknownLoc::get(context),
                                builder.getNoneType());
  }
  return none;
}

/// Null for what cannot be an attribute; then a problem was noted.
Attribute ModuleBuilder::convertAttribute(const OnnxNode &node,
                                          const OnnxAttribute &attribute) {
  SmallVector<Attribute> list;
  switch (attribute.type) {
  case OnnxAttribute::Float:
    return builder.getF32FloatAttr(attribute.real);
  case OnnxAttribute::Int:
    return builder.getI64IntegerAttr(attribute.integer);
  case OnnxAttribute::String:
    return builder.getStringAttr(attribute.text);
  case OnnxAttribute::Floats:
    return builder.getDenseF32ArrayAttr(attribute.floats);
  case OnnxAttribute::Ints:
    return builder.getDenseI64ArrayAttr(attribute.integers);
  case OnnxAttribute::Strings:
    for (StringRef text : attribute.strings)
      list.push_back(builder.getStringAttr(text));
    return builder.getArrayAttr(list);
  case OnnxAttribute::Tensor:
  case OnnxAttribute::Tensors:
    for (const OnnxTensor &tensor : attribute.tensors) {
      llvm::Expected<DenseElementsAttr> elements = data.elements(tensor);
      if (!elements) {
        nodeProblem(node, "attribute '" + attribute.name +
                              "': " + llvm::toString(elements.takeError()));
        return Attribute();
      }
      list.push_back(*elements);
    }
    if (attribute.type == OnnxAttribute::Tensor && list.size() == 1)
      return list.front();
    return builder.getArrayAttr(list);
  }
  nodeProblem(node, "attribute '" + attribute.name +
                        "' is of a kind that is not supported");
  return Attribute();
}

/// A Constant whose value we can hold becomes an onnx.constant.
bool ModuleBuilder::importConstant(const OnnxNode &node) {
  if (node.opType != "Constant" || !normalizedDomain(node.domain).empty() ||
      node.attributes.size() != 1 || node.outputs.size() != 1)
    return false;
  const OnnxAttribute &value = node.attributes.front();
  TensorConstant constant;
  auto hold = [&](ArrayRef<int64_t> shape, Type element, auto elements) {
    constant.type = RankedTensorType::get(shape, element);
    constant.value = DenseElementsAttr::get(constant.type, elements);
  };
  if (value.name == "value" && value.tensors.size() == 1) {
    llvm::Expected<TensorConstant> tensor = data.constant(value.tensors[0]);
    if (!tensor) {
      nodeProblem(node, llvm::toString(tensor.takeError()));
      return true;
    }
    constant = *tensor;
  } else if (value.name == "value_float") {
    hold({}, builder.getF32Type(), ArrayRef<float>(value.real));
  } else if (value.name == "value_int") {
    hold({}, builder.getI64Type(), ArrayRef<int64_t>(value.integer));
  } else if (value.name == "value_floats") {
    hold(int64_t(value.floats.size()), builder.getF32Type(),
         ArrayRef<float>(value.floats));
  } else if (value.name == "value_ints") {
    hold(int64_t(value.integers.size()), builder.getI64Type(),
         ArrayRef<int64_t>(value.integers));
  } else {
    return false;
  }
  addConstant(constant, node.name, node.outputs.front());
  return true;
}

void ModuleBuilder::importNode(const OnnxNode &node) {
  if (importConstant(node))
    return;
  SmallVector<Value> inputs;
  for (StringRef input : node.inputs)
    inputs.push_back(input.empty() ? absent() : values.lookup(input));
  NamedAttrList attributes;
  for (const OnnxAttribute &attribute : node.attributes) {
    Attribute value = convertAttribute(node, attribute);
    if (!value)
      return;
    if (attributes.set(attribute.name, value))
      return nodeProblem(node,
                         "attribute '" + attribute.name + "' is stated twice");
  }
  // Values of inputs that had problems are missing; they were noted.
  if (llvm::is_contained(inputs, Value()))
    return;
  SmallVector<Type> types(node.outputs.size(), onnx::UnknownType::get(context));
  auto op =
      onnx::NodeOp::create(builder, namedLocation(node.name, context), types,
                           node.opType, normalizedDomain(node.domain), inputs,
                           attributes.getDictionary(context), node.name);
  SmallVector<Attribute> names;
  for (auto [output, result] : llvm::zip(node.outputs, op.getOutputs())) {
    names.push_back(builder.getArrayAttr({}));
    if (output.empty())
      continue;
    values[output] = result;
    names.back() = builder.getStrArrayAttr({output});
  }
  op->setAttr(onnx::valuesAttrName, builder.getArrayAttr(names));
}

void ModuleBuilder::finishFunction(func::FuncOp function) {
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> names;
  for (const OnnxValue &output : graph.outputs) {
    results.push_back(values.lookup(output.name));
    names.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        onnx::nameAttrName, builder.getStringAttr(output.name))));
  }
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           ValueRange(results).getTypes()));
  function.setAllResultAttrs(names);
}

OwningOpRef<ModuleOp> ModuleBuilder::build(int64_t opset) {
  SmallVector<OnnxValue> inputs = inputsWithoutDefault();
  FailureOr<SmallVector<RankedTensorType>> types =
      bindInputShapes(model, inputs, options, context);
  if (failed(types))
    return nullptr;
  auto bound = boundElements(model, inputs, *types, options, context);
  if (failed(bound))
    return nullptr;
  StringRef name = llvm::sys::path::stem(model.path);
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(namedLocation(model.path, context), name);
  builder.setInsertionPointToStart(module->getBody());
  func::FuncOp function = createFunction(inputs, *types, *bound);
  importInitializers();
  // Without its tensors every node would seem at fault.
  if (failed(tensorProblems.report()))
    return nullptr;
  for (const OnnxNode &node : graph.nodes)
    importNode(node);
  if (failed(nodeProblems.report()))
    return nullptr;
  finishFunction(function);

  Operation *op = *module;
  op->setAttr(onnx::modelAttrName, builder.getStringAttr(name));
  op->setAttr(onnx::opsetAttrName, builder.getI64IntegerAttr(opset));
  op->setAttr(onnx::parametersAttrName, builder.getI64IntegerAttr(parameters));
  op->setAttr(onnx::weightBytesAttrName,
              builder.getI64IntegerAttr(weightBytes));
  return module;
}

OwningOpRef<ModuleOp> wsec::importModel(StringRef path,
                                        const ImportOptions &options,
                                        MLIRContext *context) {
  context->loadDialect<func::FuncDialect, onnx::OnnxDialect>();
  auto fail = [&](llvm::Error error) {
    emitError(UnknownLoc::get(context)) << llvm::toString(std::move(error));
    return nullptr;
  };
  llvm::Expected<OnnxModel> model = readModelFile(path);
  if (!model)
    return fail(model.takeError());
  nameNodes(*model);
  if (llvm::Error error = inlineFunctions(*model))
    return fail(std::move(error));
  nameNodes(*model); // A node may already be called as an inlined one.
  FailureOr<int64_t> opset = checkOpsets(*model, context);
  if (failed(opset) || failed(checkAndSortGraph(*model, context)))
    return nullptr;
  return ModuleBuilder(*model, options, context).build(*opset);
}
