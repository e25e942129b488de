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
  for (const OnnxNode &node : model.graph->nodes)
    taken.insert(node.name);
  llvm::StringSet<> seen;
  for (auto [index, node] : llvm::enumerate(model.graph->nodes)) {
    if (!node.name.empty() && seen.insert(node.name).second)
      continue;
    StringRef stem = node.name.empty() ? node.opType : node.name;
    std::string name = (stem + "_" + llvm::Twine(index)).str();
    while (!taken.insert(name).second)
      name += "_";
    node.name = model.save(name);
    seen.insert(node.name);
  }
}

namespace {
class FunctionInliner {
public:
  explicit FunctionInliner(OnnxModel &model) : model(model) {
    for (const OnnxFunction &function : model.functions)
      functions.try_emplace(
          key(function.domain, function.name, function.overload), &function);
  }

  llvm::Error expand(const OnnxNode &node, std::vector<OnnxNode> &result);

private:
  static std::string key(StringRef domain, StringRef name, StringRef overload) {
    return (normalizedDomain(domain) + "\n" + name + "\n" + overload).str();
  }
  llvm::Error checkCall(const OnnxNode &call, const OnnxFunction &function);
  llvm::Error inlineCall(const OnnxNode &call, const OnnxFunction &function,
                         std::vector<OnnxNode> &result);
  OnnxNode instantiate(const OnnxNode &node, const OnnxNode &call,
                       const OnnxFunction &function, size_t index,
                       const llvm::StringMap<StringRef> &values);

  OnnxModel &model;
  llvm::StringMap<const OnnxFunction *> functions;
  std::vector<const OnnxFunction *> callStack;
  size_t expanded = 0; // nodes so far, calls among them
};
} // namespace

static llvm::Error callError(const OnnxNode &call, const llvm::Twine &what) {
  return llvm::createStringError("node '" + call.name + "' calls function '" +
                                 call.operatorName() + "', " + what);
}

llvm::Error FunctionInliner::checkCall(const OnnxNode &call,
                                       const OnnxFunction &function) {
  if (llvm::is_contained(callStack, &function))
    return callError(call, "which calls itself");
  if (callStack.size() == maxNestedCalls)
    return callError(call, "inside of " + llvm::Twine(maxNestedCalls) +
                               " calls, the most that are supported");
  if (expanded > maxInlinedNodes)
    return callError(call, "after functions unfolded to " +
                               llvm::Twine(maxInlinedNodes) +
                               " nodes, the most that are supported");
  if (call.inputs.size() > function.inputs.size() ||
      call.outputs.size() > function.outputs.size())
    return callError(
        call, "with " + llvm::Twine(call.inputs.size()) + " inputs and " +
                  llvm::Twine(call.outputs.size()) + " outputs; it has " +
                  llvm::Twine(function.inputs.size()) + " and " +
                  llvm::Twine(function.outputs.size()));
  for (const OnnxOpset &theirs : function.opsets)
    for (const OnnxOpset &ours : model.opsets)
      if (normalizedDomain(theirs.domain).empty() &&
          normalizedDomain(ours.domain).empty() &&
          theirs.version != ours.version)
        return callError(
            call, "which is of opset " + llvm::Twine(theirs.version) +
                      ", the model of opset " + llvm::Twine(ours.version));
  return llvm::Error::success();
}

/// The attribute of the call, the function's default, or none (then the
/// inlined node does without it too).
static const OnnxAttribute *resolve(StringRef name, const OnnxNode &call,
                                    const OnnxFunction &function) {
  if (const OnnxAttribute *given = call.find(name))
    return given;
  for (const OnnxAttribute &byDefault : function.defaults)
    if (byDefault.name == name)
      return &byDefault;
  return nullptr;
}

OnnxNode
FunctionInliner::instantiate(const OnnxNode &node, const OnnxNode &call,
                             const OnnxFunction &function, size_t index,
                             const llvm::StringMap<StringRef> &values) {
  OnnxNode copy = node;
  copy.name =
      node.name.empty()
          ? model.save(call.name + "/" + node.opType + "_" + llvm::Twine(index))
          : model.save(call.name + "/" + node.name);
  auto rename = [&](StringRef &value) {
    if (!value.empty())
      value = values.lookup(value);
  };
  llvm::for_each(copy.inputs, rename);
  llvm::for_each(copy.outputs, rename);
  copy.attributes.clear();
  for (const OnnxAttribute &attribute : node.attributes) {
    if (attribute.reference.empty()) {
      copy.attributes.push_back(attribute);
    } else if (const OnnxAttribute *given =
                   resolve(attribute.reference, call, function)) {
      copy.attributes.push_back(*given);
      copy.attributes.back().name = attribute.name;
    }
  }
  return copy;
}

llvm::Error FunctionInliner::inlineCall(const OnnxNode &call,
                                        const OnnxFunction &function,
                                        std::vector<OnnxNode> &result) {
  // Formal names -> names in the caller. An input that the call leaves out is
  // an empty name; an output that it leaves out is local to the body.
  llvm::StringMap<StringRef> values;
  for (auto [i, formal] : llvm::enumerate(function.inputs))
    values[formal] = i < call.inputs.size() ? call.inputs[i] : StringRef();
  for (auto [i, formal] : llvm::enumerate(function.outputs)) {
    if (i >= call.outputs.size() || call.outputs[i].empty())
      continue;
    auto [place, isNew] = values.try_emplace(formal, call.outputs[i]);
    if (isNew)
      continue;
    // The function hands an input through.
    OnnxNode identity;
    identity.name = model.save(call.name + "/" + formal);
    identity.opType = "Identity";
    identity.inputs = {place->second};
    identity.outputs = {call.outputs[i]};
    result.push_back(std::move(identity));
  }
  auto addLocal = [&](StringRef value) {
    if (!value.empty() && !values.count(value))
      values[value] = model.save(call.name + "/" + value);
  };
  for (const OnnxNode &node : function.nodes) {
    llvm::for_each(node.inputs, addLocal);
    llvm::for_each(node.outputs, addLocal);
  }
  for (auto [index, node] : llvm::enumerate(function.nodes)) {
    OnnxNode copy = instantiate(node, call, function, index, values);
    if (llvm::Error error = expand(copy, result))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error FunctionInliner::expand(const OnnxNode &node,
                                    std::vector<OnnxNode> &result) {
  ++expanded;
  const OnnxFunction *function =
      functions.lookup(key(node.domain, node.opType, node.overload));
  if (!function) {
    result.push_back(node);
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
  if (model.functions.empty())
    return llvm::Error::success();
  FunctionInliner inliner(model);
  std::vector<OnnxNode> nodes;
  for (const OnnxNode &node : model.graph->nodes)
    if (llvm::Error error = inliner.expand(node, nodes))
      return llvm::createStringError(model.path + ": " +
                                     llvm::toString(std::move(error)));
  model.graph->nodes = std::move(nodes);
  return llvm::Error::success();
}
