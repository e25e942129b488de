// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/InlineFunctions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

using namespace wsec;
using llvm::StringRef;

void wsec::nameNodes(OnnxModel &model) {
  llvm::StringSet<> taken;
  auto &nodes = *model.proto.mutable_graph()->mutable_node();
  for (const NodeProto &node : nodes)
    taken.insert(node.name());
  llvm::StringSet<> seen;
  for (auto [index, node] : llvm::enumerate(nodes)) {
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

class FunctionInliner {
public:
  explicit FunctionInliner(OnnxModel &model) : model(model) {
    for (const FunctionProto &function : model.proto.functions())
      functions.try_emplace(
          key(function.domain(), function.name(), function.overload()),
          &function);
  }

  llvm::Error expand(const NodeProto &node, NodeList &result);

private:
  static std::string key(StringRef domain, StringRef name, StringRef overload) {
    return (normalizedDomain(domain) + "\n" + name + "\n" + overload).str();
  }
  llvm::Error checkCall(const NodeProto &call, const FunctionProto &function);
  llvm::Error inlineCall(const NodeProto &call, const FunctionProto &function,
                         NodeList &result);
  NodeProto instantiate(const NodeProto &node, const NodeProto &call,
                        const FunctionProto &function, size_t index,
                        const llvm::StringMap<std::string> &values);

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

NodeProto
FunctionInliner::instantiate(const NodeProto &node, const NodeProto &call,
                             const FunctionProto &function, size_t index,
                             const llvm::StringMap<std::string> &values) {
  NodeProto copy = node;
  copy.set_name(call.name() + "/" +
                (node.name().empty()
                     ? node.op_type() + "_" + std::to_string(index)
                     : node.name()));
  auto rename = [&](std::string &value) {
    if (!value.empty())
      value = values.lookup(value);
  };
  llvm::for_each(*copy.mutable_input(), rename);
  llvm::for_each(*copy.mutable_output(), rename);
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
  return copy;
}

llvm::Error FunctionInliner::inlineCall(const NodeProto &call,
                                        const FunctionProto &function,
                                        NodeList &result) {
  // Formal names -> names in the caller. An input that the call leaves out is
  // an empty name; an output that it leaves out is local to the body.
  llvm::StringMap<std::string> values;
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
  auto addLocal = [&](StringRef value) {
    if (!value.empty() && !values.count(value))
      values[value] = call.name() + "/" + value.str();
  };
  for (const NodeProto &node : function.node()) {
    llvm::for_each(node.input(), addLocal);
    llvm::for_each(node.output(), addLocal);
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
    *result.Add() = node;
    return llvm::Error::success();
  }
  if (llvm::Error error = checkCall(node, *function))
    return error;
  callStack.push_back(function);
  llvm::Error error = inlineCall(node, *function, result);
  callStack.pop_back();
  return error;
}

llvm::Error wsec::inlineFunctions(OnnxModel &model) {
  if (model.proto.functions().empty())
    return llvm::Error::success();
  FunctionInliner inliner(model);
  GraphProto &graph = *model.proto.mutable_graph();
  NodeList nodes;
  for (const NodeProto &node : graph.node())
    if (llvm::Error error = inliner.expand(node, nodes))
      return llvm::createStringError(model.path + ": " +
                                     llvm::toString(std::move(error)));
  graph.mutable_node()->Swap(&nodes);
  return llvm::Error::success();
}
