// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/CheckGraph.h"
#include "compiler/import/Problems.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <queue>

using namespace mlir;
using namespace wsec;

static InFlightDiagnostic fileError(const OnnxModel &model,
                                    MLIRContext *context) {
  return emitError(UnknownLoc::get(context)) << model.path << ": ";
}

FailureOr<int64_t> wsec::checkOpsets(const OnnxModel &model,
                                     MLIRContext *context) {
  std::optional<int64_t> version;
  for (const OnnxOpset &opset : model.opsets)
    if (normalizedDomain(opset.domain).empty())
      version = opset.version;
  if (!version)
    return fileError(model, context)
           << "the model does not state its opset of the default domain";
  if (*version < firstOpset || *version > lastOpset)
    return fileError(model, context)
           << "the model is of opset " << *version << "; opsets " << firstOpset
           << " to " << lastOpset
           << " are supported, onnx.version_converter converts between them";

  Problems problems(context, model.path + ": operators of unknown domains");
  for (const OnnxNode &node : model.graph->nodes) {
    StringRef domain = normalizedDomain(node.domain);
    if (!domain.empty() && domain != "com.microsoft")
      problems.add("node '" + node.name + "' is a " + node.operatorName());
  }
  if (failed(problems.report()))
    return failure();
  return *version;
}

/// Every node applies an operator and has a result, if only an unnamed one.
static LogicalResult checkNodes(const OnnxModel &model, MLIRContext *context) {
  Problems problems(context, model.path + ": nodes are incomplete");
  for (auto [index, node] : llvm::enumerate(model.graph->nodes)) {
    std::string which =
        "node " + std::to_string(index) + " '" + node.name.str() + "'";
    if (node.opType.empty())
      problems.add(which + " has no operator");
    else if (node.outputs.empty())
      problems.add(which + " (" + node.operatorName() + ") has no outputs");
  }
  return problems.report();
}

/// Who defines a value: a node by its index, or the graph itself.
static constexpr size_t graphItself = ~size_t(0);
using Definitions = llvm::StringMap<size_t>;

static LogicalResult findDefinitions(const OnnxModel &model,
                                     Definitions &definitions,
                                     MLIRContext *context) {
  const OnnxGraph &graph = *model.graph;
  Problems problems(context, model.path + ": values are defined twice");
  auto nameOf = [&](size_t definer) {
    return definer == graphItself
               ? std::string("the graph's inputs and initializers")
               : "node '" + graph.nodes[definer].name.str() + "'";
  };
  auto define = [&](StringRef value, size_t definer) {
    auto [place, isNew] = definitions.try_emplace(value, definer);
    if (!isNew)
      problems.add("'" + value + "' by " + nameOf(place->second) +
                   " and again by " + nameOf(definer));
  };
  llvm::StringMap<bool> inputs;
  for (const OnnxValue &input : graph.inputs) {
    define(input.name, graphItself);
    inputs[input.name] = true;
  }
  for (const OnnxTensor &initializer : graph.initializers) {
    // An initializer of an input's name is the input's default; once.
    auto input = inputs.find(initializer.name);
    if (input == inputs.end() || !std::exchange(input->second, false))
      define(initializer.name, graphItself);
  }
  for (auto [index, node] : llvm::enumerate(graph.nodes))
    for (StringRef output : node.outputs)
      if (!output.empty())
        define(output, index);
  return problems.report();
}

static LogicalResult checkUses(const OnnxModel &model,
                               const Definitions &definitions,
                               MLIRContext *context) {
  Problems problems(context, model.path + ": values are used, not defined");
  for (const OnnxNode &node : model.graph->nodes)
    for (StringRef input : node.inputs)
      if (!input.empty() && !definitions.count(input))
        problems.add("'" + input + "' by node '" + node.name + "' (" +
                     node.operatorName() + ")");
  for (const OnnxValue &output : model.graph->outputs)
    if (!definitions.count(output.name))
      problems.add("'" + output.name + "' by the graph's outputs");
  return problems.report();
}

static LogicalResult checkNoSubgraphs(const OnnxModel &model,
                                      MLIRContext *context) {
  Problems problems(context, model.path +
                                 ": control flow is not supported; export the "
                                 "model with its branches and loops resolved");
  for (const OnnxNode &node : model.graph->nodes)
    for (const OnnxAttribute &attribute : node.attributes)
      if (attribute.type == OnnxAttribute::Graph ||
          attribute.type == OnnxAttribute::Graphs) {
        problems.add("node '" + node.name + "' (" + node.operatorName() +
                     ") holds a subgraph");
        break;
      }
  return problems.report();
}

/// A cycle among the nodes that could not be ordered: follow undefined inputs
/// from any of them until a node comes again.
static LogicalResult reportCycle(const OnnxModel &model,
                                 ArrayRef<unsigned> missing,
                                 const Definitions &definitions,
                                 MLIRContext *context) {
  const std::vector<OnnxNode> &nodes = model.graph->nodes;
  auto blockedInput = [&](size_t node) {
    for (StringRef input : nodes[node].inputs) {
      auto place = definitions.find(input);
      if (place != definitions.end() && place->second != graphItself &&
          missing[place->second])
        return place->second;
    }
    return node;
  };
  size_t node = llvm::find_if(missing, [](unsigned n) { return n > 0; }) -
                missing.begin();
  llvm::SmallVector<size_t> path;
  while (!llvm::is_contained(path, node)) {
    path.push_back(node);
    node = blockedInput(node);
  }
  path.erase(path.begin(), llvm::find(path, node));
  InFlightDiagnostic error = fileError(model, context)
                             << "the graph has a cycle of " << path.size()
                             << " nodes";
  for (size_t member : path)
    error.attachNote() << "node '" << nodes[member].name << "' ("
                       << nodes[member].operatorName() << ") uses a value of '"
                       << nodes[blockedInput(member)].name << "'";
  return error;
}

/// Takes, each time, the first node in file order whose inputs are all there.
static LogicalResult sortNodes(OnnxModel &model, const Definitions &definitions,
                               MLIRContext *context) {
  std::vector<OnnxNode> &nodes = model.graph->nodes;
  SmallVector<unsigned> missing(nodes.size(), 0);
  std::vector<SmallVector<size_t, 2>> users(nodes.size());
  for (auto [index, node] : llvm::enumerate(nodes)) {
    for (StringRef input : node.inputs) {
      auto place = definitions.find(input);
      if (place == definitions.end() || place->second == graphItself)
        continue;
      ++missing[index];
      users[place->second].push_back(index);
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>> ready;
  for (size_t index = 0; index < nodes.size(); ++index)
    if (missing[index] == 0)
      ready.push(index);
  SmallVector<size_t> order;
  while (!ready.empty()) {
    size_t index = ready.top();
    ready.pop();
    order.push_back(index);
    for (size_t user : users[index])
      if (--missing[user] == 0)
        ready.push(user);
  }
  if (order.size() != nodes.size())
    return reportCycle(model, missing, definitions, context);
  std::vector<OnnxNode> sorted;
  sorted.reserve(nodes.size());
  for (size_t index : order)
    sorted.push_back(std::move(nodes[index]));
  nodes = std::move(sorted);
  return success();
}

LogicalResult wsec::checkAndSortGraph(OnnxModel &model, MLIRContext *context) {
  if (model.graph->nodes.empty())
    return fileError(model, context) << "the graph has no nodes";
  if (model.graph->outputs.empty())
    return fileError(model, context) << "the graph has no outputs";
  if (model.graph->hasSparseInitializers)
    return fileError(model, context) << "sparse initializers are not supported";
  Definitions definitions;
  if (failed(checkNodes(model, context)) ||
      failed(checkNoSubgraphs(model, context)) ||
      failed(findDefinitions(model, definitions, context)) ||
      failed(checkUses(model, definitions, context)))
    return failure();
  return sortNodes(model, definitions, context);
}
