// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/ImportModel.h"
#include "compiler/import/Adapters.h"
#include "compiler/import/CheckGraph.h"
#include "compiler/import/ElementTypes.h"
#include "compiler/import/InlineFunctions.h"
#include "compiler/import/ModuleBuilder.h"
#include "compiler/import/RandomTensors.h"
#include "compiler/import/Subgraphs.h"
#include "dialects/onnx/Bodies.h"
#include "dialects/onnx/NamedParameters.h"
#include "dialects/onnx/Onnx.h"
#include "runtime/program/NearestNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace wsec {

void ModuleBuilder::addConstant(const TensorConstant &constant, StringRef node,
                                StringRef value) {
  values[value] = onnx::ConstantOp::create(
      builder, namedLocation(node, context), constant.type, constant.value,
      /*offset=*/IntegerAttr(), /*strides=*/DenseI64ArrayAttr(),
      builder.getStringAttr(node));
}

/// Those of the model with names like `text`.
std::string ModuleBuilder::nearestParameters(const std::string &text) const {
  std::vector<std::string> names;
  for (const TensorProto &tensor : graph.initializer())
    names.push_back(moduleName(tensor.name()).str());
  return runtime::nearestNames(text, names);
}

LogicalResult ModuleBuilder::readPatterns() {
  auto read = [&](ArrayRef<std::string> texts, StringRef option,
                  SmallVector<llvm::GlobPattern> &patterns) -> LogicalResult {
    for (const std::string &text : texts) {
      llvm::Expected<llvm::GlobPattern> pattern =
          llvm::GlobPattern::create(text);
      if (!pattern)
        return emitError(UnknownLoc::get(context))
               << option << "=" << text << " is no pattern of names: "
               << llvm::toString(pattern.takeError());
      if (text != "*" &&
          llvm::none_of(graph.initializer(), [&](const TensorProto &its) {
            return matchesAny(*pattern, its.name());
          }))
        return emitError(UnknownLoc::get(context))
               << option << "=" << text << " names no parameter"
               << nearestParameters(text);
      const bool isName =
          StringRef(text).find_first_of("*?[{\\") == StringRef::npos;
      if (option == "--train" && isName)
        named.push_back(*pattern);
      patterns.push_back(std::move(*pattern));
    }
    return success();
  };
  return success(succeeded(read(options.train, "--train", train)) &&
                 succeeded(read(options.freeze, "--freeze", freeze)));
}

StringRef ModuleBuilder::moduleName(StringRef name) const {
  auto its = modules.find(name.str());
  return its == modules.end() ? name : StringRef(its->second);
}

bool ModuleBuilder::matchesAny(ArrayRef<llvm::GlobPattern> patterns,
                               StringRef name) const {
  return llvm::any_of(patterns, [&](const llvm::GlobPattern &pattern) {
    return pattern.match(name) || pattern.match(moduleName(name));
  });
}

/// Most numbers without a dimension are no parameters: those that are named.
bool ModuleBuilder::isParameter(RankedTensorType type, StringRef name) const {
  Type element = type.getElementType();
  return depth == 0 && type.getNumElements() > 0 &&
         (type.getRank() > 0 || matchesAny(named, name)) &&
         (element.isF32() || element.isF16() || element.isBF16());
}

/// Its own, unless an entry, an input or an output is called so; then one that
/// nothing of the model has, so that no pattern means another.
std::string ModuleBuilder::parameterName(StringRef name) const {
  std::string free = name.str();
  auto isInitializer = [&](const TensorProto &its) {
    return its.name() == free;
  };
  for (unsigned number = 1;
       taken.contains(free) ||
       (number > 1 && llvm::any_of(graph.initializer(), isInitializer));
       ++number)
    free = (name + "_" + Twine(number)).str();
  return free;
}

/// The same one in all entries. A number without a dimension is a view of a
/// parameter of one element.
Attribute ModuleBuilder::addParameter(const TensorConstant &constant,
                                      StringRef name) {
  onnx::ParameterAttr &known = parametersByName[name];
  if (known)
    return known;
  const bool trains = matchesAny(train, name) && !matchesAny(freeze, name);
  RankedTensorType type = constant.type;
  Attribute value = constant.value;
  if (type.getRank() == 0) {
    type = RankedTensorType::get({1}, type.getElementType());
    if (auto dense = dyn_cast<DenseElementsAttr>(value))
      value = dense.reshape(type);
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(builder.getInsertionBlock()->getParentOp());
  const std::string symbol = parameterName(name);
  taken.try_emplace(symbol, "a parameter");
  auto parameter = onnx::ParameterOp::create(
      builder, namedLocation(name, context), symbol, value, type,
      trains ? onnx::ParameterUse::Trainable : onnx::ParameterUse::Frozen);
  if (trains && matchesAny(named, name))
    parameter->setAttr(onnx::namedAttrName, builder.getUnitAttr());
  if (StringRef module = moduleName(name); module != name)
    parameter->setAttr(onnx::moduleAttrName, builder.getStringAttr(module));
  known = onnx::ParameterAttr::get(context, FlatSymbolRefAttr::get(parameter),
                                   type);
  return known;
}

/// Which bytes of the model are several weights each, and which integers are
/// dequantised.
void ModuleBuilder::findQuantized(const GraphProto &graph) {
  for (const NodeProto &node : graph.node()) {
    const StringRef name = node.op_type();
    if (name == "DequantizeLinear" && node.input_size() > 0)
      perElement.try_emplace(node.input(0), 1);
    const int operand = name == "MatMulNBits" ? 1 : 0;
    if ((name != "MatMulNBits" && name != "GatherBlockQuantized") ||
        node.input_size() <= operand)
      continue;
    int64_t bits = 4;
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.name() == "bits" && attribute.i() > 0 && attribute.i() < 9)
        bits = attribute.i();
    perElement[node.input(operand)] = 8 / bits;
  }
}

/// How many weights an element of an initializer is: of a float one, of
/// integers those of at most 8 bits, where they are no zero points of one row.
int64_t ModuleBuilder::weightsPerElement(RankedTensorType type,
                                         StringRef name) const {
  Type element = type.getElementType();
  if (type.getRank() == 0)
    return 0;
  if (isa<FloatType>(element))
    return 1;
  const unsigned bits = element.getIntOrFloatBitWidth();
  const auto known = perElement.find(name);
  if (known != perElement.end())
    return bits == 8 ? known->second : 1;
  return type.getRank() > 1 && bits > 1 && bits <= 8;
}

void ModuleBuilder::importInitializer(const TensorProto &tensor) {
  llvm::Expected<TensorConstant> constant = data.constant(tensor);
  if (!constant) {
    refusals.add(llvm::toString(constant.takeError()), "tensor",
                 "'" + tensor.name() + "'");
    return;
  }
  if (const int64_t each = weightsPerElement(constant->type, tensor.name())) {
    parameters += constant->type.getNumElements() * each;
    weightBytes += storedBytes(constant->type.getElementType(),
                               constant->type.getNumElements());
  }
  if (isParameter(constant->type, tensor.name()))
    constant->value = addParameter(*constant, tensor.name());
  addConstant(*constant, tensor.name(), tensor.name());
}

/// The graph's outputs; null for one that had problems.
SmallVector<Value> ModuleBuilder::importGraph(const GraphProto &graph) {
  llvm::StringSet<> used;
  for (const NodeProto &node : graph.node())
    for (StringRef value : usedValues(node))
      used.insert(value);
  for (const ValueInfoProto &output : graph.output())
    used.insert(output.name());
  findQuantized(graph);
  for (const TensorProto &tensor : graph.initializer())
    if (used.contains(tensor.name()))
      importInitializer(tensor);
  for (const NodeProto &node : graph.node())
    importNode(node);
  SmallVector<Value> results;
  for (const ValueInfoProto &output : graph.output())
    results.push_back(values.lookup(output.name()));
  return results;
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

template <typename T>
static ArrayRef<T> listOf(const google::protobuf::RepeatedField<T> &values) {
  return ArrayRef<T>(values.data(), size_t(values.size()));
}

/// Null for what cannot be an attribute; then a problem was noted.
Attribute ModuleBuilder::convertAttribute(const NodeProto &node,
                                          const AttributeProto &attribute) {
  SmallVector<Attribute> list;
  auto elements = [&](const TensorProto &tensor) -> Attribute {
    llvm::Expected<DenseElementsAttr> dense = data.elements(tensor);
    if (dense)
      return *dense;
    nodeProblem(node, "attribute '" + attribute.name() +
                          "': " + llvm::toString(dense.takeError()));
    return Attribute();
  };
  switch (attribute.type()) {
  case AttributeProto::FLOAT:
    return builder.getF32FloatAttr(attribute.f());
  case AttributeProto::INT:
    return builder.getI64IntegerAttr(attribute.i());
  case AttributeProto::STRING:
    return builder.getStringAttr(attribute.s());
  case AttributeProto::FLOATS:
    return builder.getDenseF32ArrayAttr(listOf(attribute.floats()));
  case AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(listOf(attribute.ints()));
  case AttributeProto::STRINGS:
    for (StringRef text : attribute.strings())
      list.push_back(builder.getStringAttr(text));
    return builder.getArrayAttr(list);
  case AttributeProto::GRAPH:
  case AttributeProto::GRAPHS:
    // That there is one is enough to refuse the node, with all others.
    return builder.getUnitAttr();
  case AttributeProto::TENSOR:
    return elements(attribute.t());
  case AttributeProto::TENSORS:
    for (const TensorProto &tensor : attribute.tensors()) {
      list.push_back(elements(tensor));
      if (!list.back())
        return Attribute();
    }
    return builder.getArrayAttr(list);
  default:
    break;
  }
  nodeProblem(node, "attribute '" + attribute.name() +
                        "' is of a kind that is not supported");
  return Attribute();
}

/// A Constant whose value we can hold becomes an onnx.constant.
bool ModuleBuilder::importConstant(const NodeProto &node) {
  if (node.op_type() != "Constant" ||
      !normalizedDomain(node.domain()).empty() || node.attribute_size() != 1 ||
      node.output_size() != 1)
    return false;
  const AttributeProto &value = node.attribute(0);
  StringRef name = value.name();
  TensorConstant constant;
  auto hold = [&](ArrayRef<int64_t> shape, Type element, auto elements) {
    constant.type = RankedTensorType::get(shape, element);
    constant.value = DenseElementsAttr::get(constant.type, elements);
  };
  if (name == "value" && value.has_t()) {
    llvm::Expected<TensorConstant> tensor = data.constant(value.t());
    if (!tensor) {
      nodeProblem(node, llvm::toString(tensor.takeError()));
      return true;
    }
    constant = *tensor;
  } else if (name == "value_float") {
    hold({}, builder.getF32Type(), ArrayRef<float>(value.f()));
  } else if (name == "value_int") {
    hold({}, builder.getI64Type(), ArrayRef<int64_t>(value.i()));
  } else if (name == "value_floats") {
    hold(value.floats_size(), builder.getF32Type(), listOf(value.floats()));
  } else if (name == "value_ints") {
    hold(value.ints_size(), builder.getI64Type(), listOf(value.ints()));
  } else {
    return false;
  }
  addConstant(constant, node.name(), node.output(0));
  return true;
}

void ModuleBuilder::importNode(const NodeProto &node) {
  if (importConstant(node))
    return;
  if (hasBodies(node))
    return importWithBodies(node);
  SmallVector<Value> inputs;
  for (StringRef input : node.input())
    inputs.push_back(input.empty() ? absent() : values.lookup(input));
  NamedAttrList attributes;
  for (const AttributeProto &attribute : node.attribute()) {
    Attribute value = convertAttribute(node, attribute);
    if (!value)
      return;
    if (attributes.set(attribute.name(), value))
      return nodeProblem(node, "attribute '" + attribute.name() +
                                   "' is stated twice");
  }
  // Values of inputs that had problems are missing; they were noted.
  if (llvm::is_contained(inputs, Value()))
    return;
  addNode(node, inputs, attributes);
}

void ModuleBuilder::addNode(const NodeProto &node, ArrayRef<Value> inputs,
                            const NamedAttrList &attributes) {
  SmallVector<Type> types(node.output_size(), onnx::UnknownType::get(context));
  auto op = onnx::NodeOp::create(
      builder, namedLocation(node.name(), context), types, node.op_type(),
      normalizedDomain(node.domain()), inputs,
      attributes.getDictionary(context), node.name());
  SmallVector<Attribute> names;
  for (auto [output, result] : llvm::zip(node.output(), op.getOutputs())) {
    names.push_back(builder.getArrayAttr({}));
    if (output.empty())
      continue;
    values[output] = result;
    names.back() = builder.getStrArrayAttr({StringRef(output)});
  }
  op->setAttr(onnx::valuesAttrName, builder.getArrayAttr(names));
}

/// The subgraphs of a node, in their order.
static ArrayRef<StringLiteral> bodyNames(const NodeProto &node) {
  static constexpr StringLiteral branches[] = {"then_branch", "else_branch"};
  static constexpr StringLiteral changes[] = {"score_mod", "prob_mod"};
  static constexpr StringLiteral body[] = {"body"};
  return node.op_type() == "If"              ? ArrayRef(branches)
         : node.op_type() == "FlexAttention" ? ArrayRef(changes)
                                             : ArrayRef(body);
}

/// Attributes beside subgraphs.
static bool isBesideBodies(const NodeProto &node,
                           const AttributeProto &attribute) {
  static constexpr StringLiteral ofScan[] = {
      "num_scan_inputs", "scan_input_axes", "scan_input_directions",
      "scan_output_axes", "scan_output_directions"};
  static constexpr StringLiteral ofAttention[] = {"scale", "softmax_precision"};
  if (attribute.has_g())
    return false;
  return (node.op_type() == "Scan" &&
          llvm::is_contained(ofScan, attribute.name())) ||
         (node.op_type() == "FlexAttention" &&
          llvm::is_contained(ofAttention, attribute.name()));
}

/// Why a node with subgraphs is none, or nothing. How many values a loop
/// carries, inference compares with its body.
std::string ModuleBuilder::bodyProblem(const NodeProto &node) const {
  if (depth == maxNestedSubgraphs)
    return "inside of " + std::to_string(maxNestedSubgraphs) +
           " others, the most that are supported";
  const bool isIf = node.op_type() == "If";
  if (isIf && (node.input_size() != 1 || node.input(0).empty()))
    return "expected one operand, its condition";
  llvm::StringSet<> names;
  size_t found = 0;
  for (const AttributeProto &attribute : node.attribute()) {
    const std::string &name = attribute.name();
    if (isBesideBodies(node, attribute))
      continue;
    if (!attribute.has_g() || !llvm::is_contained(bodyNames(node), name))
      return "attribute '" + name + "' is no " +
             llvm::join(bodyNames(node), " or ");
    if (!names.insert(name).second)
      return "attribute '" + name + "' is stated twice";
    ++found;
    const GraphProto &body = attribute.g();
    if (isIf && body.input_size())
      return name + " has inputs, which only other subgraphs have";
    if (isIf && body.output_size() != node.output_size())
      return name + " has " + std::to_string(body.output_size()) +
             " results, the node " + std::to_string(node.output_size());
    for (const TensorProto &tensor : body.initializer())
      for (const ValueInfoProto &input : body.input())
        if (input.name() == tensor.name())
          return "input '" + input.name() +
                 "' has a default, which only inputs of the model have";
  }
  if (found == bodyNames(node).size() || node.op_type() == "FlexAttention")
    return "";
  return isIf ? "a branch is missing" : "its body is missing";
}

/// A node whose attributes are functions of its operands, but of an If, and of
/// what its bodies use besides. Which branch is taken, and how often a loop is
/// gone through, inference finds out.
void ModuleBuilder::importWithBodies(const NodeProto &node) {
  if (std::string problem = bodyProblem(node); !problem.empty())
    return nodeProblem(node, problem);
  const std::vector<StringRef> captured = capturedValues(node);
  SmallVector<Value> inputs;
  for (StringRef input : node.input())
    inputs.push_back(input.empty() ? absent() : values.lookup(input));
  constexpr size_t ofLoop = 2; // Trips and condition; both may be left out.
  while (node.op_type() == "Loop" && inputs.size() < ofLoop)
    inputs.push_back(absent());
  for (StringRef value : captured)
    inputs.push_back(values.lookup(value));
  if (llvm::is_contained(inputs, Value()))
    return;
  NamedAttrList attributes;
  for (const AttributeProto &attribute : node.attribute()) {
    Attribute value =
        attribute.has_g()
            ? importBody(attribute.g(),
                         bodyName(node.name() + "/" + attribute.name()),
                         captured)
            : convertAttribute(node, attribute);
    if (!value)
      return;
    if (attributes.set(attribute.name(), value))
      return nodeProblem(node, "attribute '" + attribute.name() +
                                   "' is stated twice");
  }
  if (node.op_type() != "If")
    attributes.set(onnx::capturedAttrName,
                   builder.getI64IntegerAttr(captured.size()));
  addNode(node, inputs, attributes);
}

/// What a body states of an input, if that is one element: so many dimensions
/// has the number of a trip.
Type ModuleBuilder::declaredType(const ValueInfoProto &input) const {
  const auto &tensor = input.type().tensor_type();
  Type element = convertElementType(tensor.elem_type(), context);
  SmallVector<int64_t> shape;
  for (const auto &dim : tensor.shape().dim())
    shape.push_back(dim.dim_value());
  if (!element || !tensor.has_shape() ||
      llvm::any_of(shape, [](int64_t extent) { return extent != 1; }))
    return onnx::UnknownType::get(context);
  return RankedTensorType::get(shape, element);
}

/// Samples of an entry have bodies of their own.
StringAttr ModuleBuilder::bodyName(StringRef name) const {
  return isSample ? StringAttr::get(context, entry + "/" + name)
                  : hostName(name);
}

/// A private function of the body's own inputs and of what it uses besides.
FlatSymbolRefAttr ModuleBuilder::importBody(const GraphProto &body,
                                            StringRef name,
                                            ArrayRef<StringRef> captured) {
  OpBuilder::InsertionGuard guard(builder);
  auto module =
      builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  SmallVector<Type> types;
  SmallVector<StringRef> names;
  for (const ValueInfoProto &input : body.input()) {
    types.push_back(declaredType(input));
    names.push_back(input.name());
  }
  for (StringRef value : captured) {
    types.push_back(values.lookup(value).getType());
    names.push_back(value);
  }
  builder.setInsertionPointToEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, namedLocation(body.name(), context), name,
                           builder.getFunctionType(types, {}));
  function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  llvm::StringMap<Value> outer = std::exchange(values, {});
  const Value outerNone = std::exchange(none, {});
  const int64_t outerParameters = std::exchange(parameters, 0);
  const int64_t outerBytes = std::exchange(weightBytes, 0);
  for (auto [value, argument] : llvm::zip(names, function.getArguments()))
    values[value] = argument;
  ++depth;
  SmallVector<Value> results = importGraph(body);
  --depth;
  if (!llvm::is_contained(results, Value()))
    finishFunction(function, results);
  stateWeights(function, parameters, weightBytes);
  values = std::move(outer);
  none = outerNone;
  parameters = outerParameters;
  weightBytes = outerBytes;
  return FlatSymbolRefAttr::get(context, name);
}

void ModuleBuilder::stateWeights(Operation *of, int64_t parameters,
                                 int64_t bytes) {
  of->setAttr(onnx::parametersAttrName, builder.getI64IntegerAttr(parameters));
  of->setAttr(onnx::weightBytesAttrName, builder.getI64IntegerAttr(bytes));
}

void ModuleBuilder::finishFunction(func::FuncOp function,
                                   ArrayRef<Value> results) {
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           ValueRange(results).getTypes()));
}

OwningOpRef<ModuleOp> importModel(StringRef path, const ImportOptions &options,
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
  if (options.adapters)
    if (llvm::Error error = addAdapters(*model, *options.adapters))
      return fail(std::move(error));
  nameNodes(*model); // A node may already be called as an inlined one.
  ImportOptions given = options;
  if (llvm::Error error = giveRandomTensors(*model, given.bindings))
    return fail(std::move(error));
  FailureOr<int64_t> opset = checkOpsets(*model, context);
  if (failed(opset) || failed(checkAndSortGraph(*model, context)))
    return nullptr;
  return ModuleBuilder(*model, given, context).build(*opset);
}

} // namespace wsec
