// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Node.h"
#include "compiler/infer/Statement.h"
#include <algorithm>
#include <limits>

using namespace wsec::infer;

Refused Node::fail(const Twine &reason) {
  if (why.empty())
    why = reason.str();
  return {};
}

Refused Node::failUnknown(size_t i, const Twine &what) {
  toBeKnown = i;
  return fail(what + " is computed from the model's inputs");
}

bool Node::broadcasts(size_t i, ArrayRef<int64_t> shape) {
  if (!has(i))
    return true;
  std::optional<Shape> result = broadcastShapes(input(i).shape, shape);
  if (result && ArrayRef<int64_t>(*result) == shape)
    return true;
  return fail("input " + Twine(i) + " of shape " + printShape(input(i).shape) +
              " does not broadcast to " + printShape(shape));
}

bool Node::hasShape(size_t i, StringRef what, ArrayRef<int64_t> expected) {
  if (!has(i) || ArrayRef<int64_t>(input(i).shape) == expected)
    return true;
  return fail(what + " of shape " + printShape(input(i).shape) + ", expected " +
              printShape(expected));
}

bool Node::refuses(ArrayRef<size_t> refused, StringRef what) {
  for (size_t i : refused)
    if (has(i))
      return fail(what);
  return true;
}

bool Node::setOutputs(ArrayRef<Fact> facts) {
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = facts[std::min(i, facts.size() - 1)];
  return true;
}

bool Node::allows(ArrayRef<int64_t> shape) {
  std::optional<std::string> problem = shapeProblem(shape);
  return !problem || fail(*problem);
}

std::optional<Shape> Node::ints(size_t i, StringRef what) {
  if (statesAttr(what)) {
    if (auto one = dyn_cast<IntegerAttr>(attribute(what)))
      return Shape{one.getValue().getSExtValue()};
    return intsAttr(what);
  }
  if (!has(i))
    return fail(what + " is missing");
  std::optional<Tensor> tensor = input(i).load();
  if (!tensor)
    return failUnknown(i, what);
  Shape result;
  for (int64_t e = 0; e < tensor->size(); ++e)
    result.push_back(tensor->asInt(e));
  return result;
}

std::optional<int64_t> Node::oneInt(size_t i, StringRef what) {
  std::optional<Shape> all = ints(i, what);
  if (!all)
    return std::nullopt;
  if (all->size() != 1)
    return fail(what + " has " + Twine(all->size()) + " elements, expected 1");
  return all->front();
}

std::optional<Shape> Node::axes(size_t i, int64_t rank) {
  Shape result;
  if (has(i) || statesAttr("axes")) {
    std::optional<Shape> known = ints(i, "axes");
    if (!known)
      return std::nullopt;
    result = *known;
  }
  for (int64_t &axis : result) {
    if (axis < -rank || axis >= rank)
      return fail("axis " + Twine(axis) + " is outside rank " + Twine(rank));
    if (axis < 0)
      axis += rank;
  }
  llvm::sort(result);
  result.erase(llvm::unique(result), result.end());
  return result;
}

Attribute Node::attribute(StringRef name) const {
  assert(listsName(understood, name) && "asks for an undeclared attribute");
  return attributes.get(name);
}

bool Node::statesAttr(StringRef name) const {
  return listsName(understood, name) && hasAttr(name);
}

/// The schema of an attribute that has a default, else null.
const onnx::AttributeSchema *Node::defaultOf(StringRef name) const {
  const onnx::AttributeSchema *known = schema.find(name);
  if (!known)
    known = onnx::findSchema(schema.name, std::numeric_limits<int64_t>::max())
                ->find(name);
  return known && known->use == onnx::AttributeSchema::Default ? known
                                                               : nullptr;
}

int64_t Node::intAttr(StringRef name, int64_t otherwise) const {
  if (Attribute value = attribute(name))
    return cast<IntegerAttr>(value).getValue().getSExtValue();
  const onnx::AttributeSchema *known = defaultOf(name);
  return known ? known->integer : otherwise;
}

double Node::floatAttr(StringRef name, double otherwise) const {
  if (Attribute value = attribute(name))
    return cast<FloatAttr>(value).getValueAsDouble();
  const onnx::AttributeSchema *known = defaultOf(name);
  return known ? known->real : otherwise;
}

StringRef Node::stringAttr(StringRef name) const {
  if (Attribute value = attribute(name))
    return cast<StringAttr>(value).getValue();
  const onnx::AttributeSchema *known = defaultOf(name);
  return known ? StringRef(known->text) : StringRef();
}

std::optional<Shape> Node::intsAttr(StringRef name) const {
  Attribute value = attribute(name);
  if (!value)
    return std::nullopt;
  // Written by hand, `[0, 1]` is an array of attributes.
  if (auto array = dyn_cast<ArrayAttr>(value))
    return Shape(
        llvm::map_range(array.getAsRange<IntegerAttr>(),
                        [](IntegerAttr element) { return element.getInt(); }));
  return Shape(cast<DenseI64ArrayAttr>(value).asArrayRef());
}

std::optional<Tensor> Node::tensorAttr(StringRef name) const {
  Attribute value = attribute(name);
  return value ? tensorOf(cast<DenseElementsAttr>(value)) : std::nullopt;
}

std::optional<int64_t> Node::axisAttr(int64_t rank) {
  int64_t axis = intAttr("axis");
  if (axis < -rank || axis >= rank)
    return fail("axis " + Twine(axis) + " is outside rank " + Twine(rank));
  return axis < 0 ? axis + rank : axis;
}

std::optional<std::vector<Tensor>> Node::loadAll(const Fact &result) const {
  if (result.bytes() > maxFoldedBytes)
    return std::nullopt;
  for (const Fact *fact : inputs)
    if (fact && !fact->constant)
      return std::nullopt;
  std::vector<Tensor> tensors;
  for (const Fact *fact : inputs) {
    std::optional<Tensor> tensor =
        fact ? fact->load() : Tensor(ElementType::Bool, {0});
    if (!tensor)
      return std::nullopt;
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

bool wsec::infer::apply(InferRule rule, Node &node) {
  return rule(node) && llvm::all_of(node.outputs, [&](const Fact &fact) {
           return node.allows(fact.shape);
         });
}
