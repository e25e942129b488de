// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/CheckGraph.h"
#include "compiler/Refusals.h"
#include "compiler/import/Subgraphs.h"
#include "dialects/onnx/OnnxSchemas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <queue>

using namespace mlir;
using namespace wsec;

static InFlightDiagnostic fileError(const OnnxModel &model,
                                    MLIRContext *context) {
  return emitError(UnknownLoc::get(context)) << model.path << ": ";
}

/// Whether all operators of an older model are defined as in `firstOpset`.
static bool isAsFirst(const GraphProto &graph, int64_t version) {
  return llvm::all_of(graph.node(), [&](const NodeProto &node) {
    const auto *then = wsec::onnx::findSchema(node.op_type(), version);
    const auto *first = wsec::onnx::findSchema(node.op_type(), firstOpset);
    return !normalizedDomain(node.domain()).empty() ||
           (then && then == first && bodiesOf(node).empty());
  });
}

FailureOr<int64_t> wsec::checkOpsets(const OnnxModel &model,
                                     MLIRContext *context) {
  std::optional<int64_t> version;
  for (const OperatorSetIdProto &opset : model.proto.opset_import())
    if (normalizedDomain(opset.domain()).empty())
      version = opset.version();
  if (!version)
    return fileError(model, context)
           << "the model does not state its opset of the default domain; add "
              "it to opset_import";
  if (*version > 0 && *version < firstOpset &&
      isAsFirst(model.proto.graph(), *version))
    return firstOpset;
  if (*version < firstOpset || *version > lastOpset)
    return fileError(model, context)
           << "the model is of opset " << *version << "; opsets " << firstOpset
           << " to " << lastOpset
           << " are supported, onnx.version_converter converts between them";
  return *version;
}

/// Every node applies an operator and has a result, if only an unnamed one.
static void checkNodes(const GraphProto &graph, Refusals &refusals) {
  for (auto [index, node] : llvm::enumerate(graph.node())) {
    std::string which = std::to_string(index) + " '" + node.name() + "'";
    if (node.op_type().empty())
      refusals.add("no operator is stated", "node", which);
    else if (node.output().empty())
      refusals.add("no results are stated", "node",
                   which + " (" + operatorName(node) + ")");
  }
}

/// Who defines a value: a node by its index, or the graph itself.
static constexpr size_t graphItself = ~size_t(0);
using Definitions = llvm::StringMap<size_t>;

/// The definitions of a graph, and those of the graphs around it.
struct Scope {
  Definitions definitions;
  const Scope *outer = nullptr;

  bool knows(StringRef value) const {
    return definitions.count(value) || (outer && outer->knows(value));
  }
};

static Definitions findDefinitions(const GraphProto &graph,
                                   Refusals &refusals) {
  Definitions definitions;
  auto nameOf = [&](size_t definer) {
    return definer == graphItself
               ? std::string("the graph's inputs and initializers")
               : "node '" + graph.node(int(definer)).name() + "'";
  };
  auto define = [&](StringRef value, size_t definer) {
    auto [place, isNew] = definitions.try_emplace(value, definer);
    if (!isNew)
      refusals.add("values are defined twice", "value",
                   "'" + value + "' by " + nameOf(place->second) +
                       " and again by " + nameOf(definer));
  };
  llvm::StringMap<bool> inputs;
  for (const ValueInfoProto &input : graph.input()) {
    define(input.name(), graphItself);
    inputs[input.name()] = true;
  }
  for (const TensorProto &initializer : graph.initializer()) {
    // An initializer of an input's name is the input's default; once.
    auto input = inputs.find(initializer.name());
    if (input == inputs.end() || !std::exchange(input->second, false))
      define(initializer.name(), graphItself);
  }
  for (auto [index, node] : llvm::enumerate(graph.node()))
    for (StringRef output : node.output())
      if (!output.empty())
        define(output, index);
  return definitions;
}

static void checkUses(const GraphProto &graph, const Scope &scope,
                      Refusals &refusals) {
  auto use = [&](StringRef value, const Twine &by) {
    if (!value.empty() && !scope.knows(value))
      refusals.add("values are used, not defined", "value",
                   "'" + value + "' by " + by);
  };
  for (const NodeProto &node : graph.node())
    for (StringRef input : node.input())
      use(input, "node '" + node.name() + "' (" + operatorName(node) + ")");
  for (auto [index, output] : llvm::enumerate(graph.output())) {
    if (output.name().empty())
      refusals.add("outputs of the graph have no name", "output",
                   Twine(index + 1));
    use(output.name(), "the graph's outputs");
  }
}

/// Checks a graph and the bodies in it.
static void checkGraph(const GraphProto &graph, const Scope *outer,
                       Refusals &refusals) {
  checkNodes(graph, refusals);
  const Scope scope{findDefinitions(graph, refusals), outer};
  checkUses(graph, scope, refusals);
  for (const NodeProto &node : graph.node())
    for (const GraphProto *body : bodiesOf(node))
      checkGraph(*body, &scope, refusals);
}

/// A cycle among the nodes that could not be ordered: follow undefined inputs
/// from any of them until a node comes again.
static LogicalResult reportCycle(const OnnxModel &model,
                                 const GraphProto &graph,
                                 ArrayRef<unsigned> missing,
                                 const Definitions &definitions,
                                 MLIRContext *context) {
  const auto &nodes = graph.node();
  auto blockedInput = [&](size_t node) {
    for (StringRef input : usedValues(nodes[int(node)])) {
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
                             << (path.size() == 1 ? " node" : " nodes");
  for (size_t member : path)
    error.attachNote() << "node '" << nodes[int(member)].name() << "' ("
                       << operatorName(nodes[int(member)])
                       << ") uses a value of '"
                       << nodes[int(blockedInput(member))].name() << "'";
  return error;
}

/// Takes, each time, the first node in file order whose inputs are all there.
static LogicalResult sortNodes(OnnxModel &model, GraphProto &graph,
                               MLIRContext *context) {
  Refusals none;
  const Definitions definitions = findDefinitions(graph, none);
  auto &nodes = *graph.mutable_node();
  SmallVector<unsigned> missing(nodes.size(), 0);
  std::vector<SmallVector<size_t, 2>> users(nodes.size());
  for (auto [index, node] : llvm::enumerate(nodes)) {
    for (StringRef input : usedValues(node)) {
      auto place = definitions.find(input);
      if (place == definitions.end() || place->second == graphItself)
        continue;
      ++missing[index];
      users[place->second].push_back(index);
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>> ready;
  for (size_t index = 0; index < missing.size(); ++index)
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
  if (order.size() != missing.size())
    return reportCycle(model, graph, missing, definitions, context);
  std::vector<NodeProto *> unsorted(missing.size());
  nodes.ExtractSubrange(0, nodes.size(), unsorted.data());
  for (size_t index : order)
    nodes.AddAllocated(unsorted[index]);
  for (NodeProto &node : nodes)
    for (GraphProto *body : bodiesOf(node))
      if (failed(sortNodes(model, *body, context)))
        return failure();
  return success();
}

static void refuseSparse(const GraphProto &graph, Refusals &refusals) {
  for (const auto &initializer : graph.sparse_initializer())
    refusals.add("sparse initializers are not supported; store them dense",
                 "tensor", "'" + initializer.values().name() + "'");
  for (const NodeProto &node : graph.node())
    for (const GraphProto *body : bodiesOf(node))
      refuseSparse(*body, refusals);
}

LogicalResult wsec::checkAndSortGraph(OnnxModel &model, MLIRContext *context) {
  GraphProto &graph = *model.proto.mutable_graph();
  if (graph.output().empty())
    return fileError(model, context) << "the graph has no outputs";
  Refusals sparse(model.path);
  refuseSparse(graph, sparse);
  if (failed(sparse.report(context)))
    return failure();
  Refusals refusals(model.path);
  checkGraph(graph, nullptr, refusals);
  if (failed(refusals.report(context)))
    return failure();
  return sortNodes(model, graph, context);
}
