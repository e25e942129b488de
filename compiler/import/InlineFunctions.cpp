// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/InlineFunctions.h"
#include "compiler/import/Subgraphs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

using namespace wsec;
using llvm::StringRef;

/// The nodes of a graph and of the bodies in it.
static void collectNodes(GraphProto &graph, std::vector<NodeProto *> &nodes) {
  for (NodeProto &node : *graph.mutable_node()) {
    nodes.push_back(&node);
    for (GraphProto *body : bodiesOf(node))
      collectNodes(*body, nodes);
  }
}

void wsec::nameNodes(OnnxModel &model) {
  std::vector<NodeProto *> nodes;
  collectNodes(*model.proto.mutable_graph(), nodes);
  llvm::StringSet<> taken;
  for (const NodeProto *node : nodes)
    taken.insert(node->name());
  llvm::StringSet<> seen;
  for (auto [index, place] : llvm::enumerate(nodes)) {
    NodeProto &node = *place;
    if (!node.name().empty() && seen.insert(node.name()).second)
      continue;
    StringRef stem = node.name().empty() ? node.op_type() : node.name();
    std::string name = (stem + "_" + llvm::Twine(index)).str();
    while (!taken.insert(name).second)
      name += "_";
    seen.insert(name);
    node.set_name(std::move(name));
  }
}

namespace {
using NodeList = google::protobuf::RepeatedPtrField<NodeProto>;
using ValueNames = llvm::StringMap<std::string>;

class FunctionInliner {
public:
  explicit FunctionInliner(OnnxModel &model) : model(model) {
    for (const FunctionProto &function : model.proto.functions())
      functions.try_emplace(
          key(function.domain(), function.name(), function.overload()),
          &function);
  }

  /// Replaces the calls in a graph, and in bodies of its nodes.
  llvm::Error expand(GraphProto &graph);

private:
  llvm::Error expand(const NodeProto &node, NodeList &result);
  static std::string key(StringRef domain, StringRef name, StringRef overload) {
    return (normalizedDomain(domain) + "\n" + name + "\n" + overload).str();
  }
  llvm::Error checkCall(const NodeProto &call, const FunctionProto &function);
  llvm::Error inlineCall(const NodeProto &call, const FunctionProto &function,
                         NodeList &result);
  NodeProto instantiate(const NodeProto &node, const NodeProto &call,
                        const FunctionProto &function, size_t index,
                        const ValueNames &values);
  void instantiateBody(GraphProto &body, const NodeProto &call,
                       const FunctionProto &function, const ValueNames &values);

  OnnxModel &model;
  llvm::StringMap<const FunctionProto *> functions;
  std::vector<const FunctionProto *> callStack;
  size_t expanded = 0; // nodes so far, calls among them
};
} // namespace

static llvm::Error callError(const NodeProto &call, const llvm::Twine &what) {
  return llvm::createStringError("node '" + call.name() + "' calls function '" +
                                 operatorName(call) + "', " + what);
}

llvm::Error FunctionInliner::checkCall(const NodeProto &call,
                                       const FunctionProto &function) {
  if (llvm::is_contained(callStack, &function))
    return callError(call, "which calls itself");
  if (callStack.size() == maxNestedCalls)
    return callError(call, "inside of " + llvm::Twine(maxNestedCalls) +
                               " calls, the most that are supported");
  if (expanded > maxInlinedNodes)
    return callError(call, "after functions unfolded to " +
                               llvm::Twine(maxInlinedNodes) +
                               " nodes, the most that are supported");
  if (call.input_size() > function.input_size() ||
      call.output_size() > function.output_size())
    return callError(call,
                     "with " + llvm::Twine(call.input_size()) + " inputs and " +
                         llvm::Twine(call.output_size()) + " outputs; it has " +
                         llvm::Twine(function.input_size()) + " and " +
                         llvm::Twine(function.output_size()));
  for (const OperatorSetIdProto &theirs : function.opset_import())
    for (const OperatorSetIdProto &ours : model.proto.opset_import())
      if (normalizedDomain(theirs.domain()).empty() &&
          normalizedDomain(ours.domain()).empty() &&
          theirs.version() != ours.version())
        return callError(
            call, "which is of opset " + llvm::Twine(theirs.version()) +
                      ", the model of opset " + llvm::Twine(ours.version()));
  return llvm::Error::success();
}

/// The attribute of the call, the function's default, or none (then the
/// inlined node does without it too).
static const AttributeProto *resolve(StringRef name, const NodeProto &call,
                                     const FunctionProto &function) {
  for (const auto *attributes :
       {&call.attribute(), &function.attribute_proto()})
    for (const AttributeProto &attribute : *attributes)
      if (attribute.name() == name)
        return &attribute;
  return nullptr;
}

/// A formal name becomes the caller's, any other name is local to the call.
static void rename(std::string &value, const NodeProto &call,
                   const ValueNames &values) {
  if (value.empty())
    return;
  auto formal = values.find(value);
  value = formal == values.end() ? call.name() + "/" + value : formal->second;
}

NodeProto FunctionInliner::instantiate(const NodeProto &node,
                                       const NodeProto &call,
                                       const FunctionProto &function,
                                       size_t index, const ValueNames &values) {
  NodeProto copy = node;
  copy.set_name(call.name() + "/" +
                (node.name().empty()
                     ? node.op_type() + "_" + std::to_string(index)
                     : node.name()));
  for (std::string &value : *copy.mutable_input())
    rename(value, call, values);
  for (std::string &value : *copy.mutable_output())
    rename(value, call, values);
  copy.clear_attribute();
  for (const AttributeProto &attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      *copy.add_attribute() = attribute;
    } else if (const AttributeProto *given =
                   resolve(attribute.ref_attr_name(), call, function)) {
      *copy.add_attribute() = *given;
      copy.mutable_attribute()->rbegin()->set_name(attribute.name());
    }
  }
  for (GraphProto *body : bodiesOf(copy))
    instantiateBody(*body, call, function, values);
  return copy;
}

void FunctionInliner::instantiateBody(GraphProto &body, const NodeProto &call,
                                      const FunctionProto &function,
                                      const ValueNames &values) {
  for (TensorProto &initializer : *body.mutable_initializer())
    rename(*initializer.mutable_name(), call, values);
  for (ValueInfoProto &input : *body.mutable_input())
    rename(*input.mutable_name(), call, values);
  for (ValueInfoProto &output : *body.mutable_output())
    rename(*output.mutable_name(), call, values);
  for (auto [index, node] : llvm::enumerate(*body.mutable_node()))
    node = instantiate(NodeProto(node), call, function, index, values);
}

llvm::Error FunctionInliner::inlineCall(const NodeProto &call,
                                        const FunctionProto &function,
                                        NodeList &result) {
  // Formal names -> names in the caller. An input that the call leaves out is
  // an empty name; an output that it leaves out is local to the body.
  ValueNames values;
  for (int i = 0; i < function.input_size(); ++i)
    values[function.input(i)] =
        i < call.input_size() ? call.input(i) : std::string();
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty())
      continue;
    auto [place, isNew] =
        values.try_emplace(function.output(i), call.output(i));
    if (isNew)
      continue;
    // The function hands an input through.
    NodeProto &identity = *result.Add();
    identity.set_name(call.name() + "/" + function.output(i));
    identity.set_op_type("Identity");
    identity.add_input(place->second);
    identity.add_output(call.output(i));
  }
  for (auto [index, node] : llvm::enumerate(function.node())) {
    NodeProto copy = instantiate(node, call, function, index, values);
    if (llvm::Error error = expand(copy, result))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error FunctionInliner::expand(const NodeProto &node, NodeList &result) {
  ++expanded;
  const FunctionProto *function =
      functions.lookup(key(node.domain(), node.op_type(), node.overload()));
  if (!function) {
    NodeProto &kept = *result.Add();
    kept = node;
    for (GraphProto *body : bodiesOf(kept))
      if (llvm::Error error = expand(*body))
        return error;
    return llvm::Error::success();
  }
  if (llvm::Error error = checkCall(node, *function))
    return error;
  callStack.push_back(function);
  llvm::Error error = inlineCall(node, *function, result);
  callStack.pop_back();
  return error;
}

llvm::Error FunctionInliner::expand(GraphProto &graph) {
  NodeList nodes;
  for (const NodeProto &node : graph.node())
    if (llvm::Error error = expand(node, nodes))
      return error;
  graph.mutable_node()->Swap(&nodes);
  return llvm::Error::success();
}

llvm::Error wsec::inlineFunctions(OnnxModel &model) {
  if (model.proto.functions().empty())
    return llvm::Error::success();
  FunctionInliner inliner(model);
  if (llvm::Error error = inliner.expand(*model.proto.mutable_graph()))
    return llvm::createStringError(model.path + ": " +
                                   llvm::toString(std::move(error)));
  return llvm::Error::success();
}
