// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of a module: an entry for each that the options name, and, of
// a decoder whose past grows, the same at other lengths.
#include "compiler/import/BoundInputs.h"
#include "compiler/import/InputShapes.h"
#include "compiler/import/ModuleBuilder.h"
#include "dialects/onnx/CachedCalls.h"
#include "dialects/onnx/Lengths.h"
#include "dialects/onnx/Onnx.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace wsec;

/// Inputs that an initializer gives a default are constants to us.
SmallVector<const ValueInfoProto *>
ModuleBuilder::inputsWithoutDefault() const {
  llvm::StringSet<> initialized;
  for (const TensorProto &tensor : graph.initializer())
    initialized.insert(tensor.name());
  SmallVector<const ValueInfoProto *> inputs;
  for (const ValueInfoProto &input : graph.input())
    if (!initialized.contains(input.name()))
      inputs.push_back(&input);
  return inputs;
}

func::FuncOp
ModuleBuilder::createFunction(ArrayRef<const ValueInfoProto *> inputs,
                              ArrayRef<RankedTensorType> types,
                              const llvm::StringMap<DenseElementsAttr> &bound) {
  // Positions are an argument, though the body has those of one call.
  auto isPositions = [&](const ValueInfoProto *input) {
    return !cached.positions.empty() && input == cached.positions.front();
  };
  auto isArgument = [&](const ValueInfoProto *input) {
    return !bound.contains(input->name()) ||
           (call && !isSample && isPositions(input));
  };
  SmallVector<Type> open;
  for (auto [input, type] : llvm::zip(inputs, types))
    if (isArgument(input))
      open.push_back(type);
  auto function =
      func::FuncOp::create(builder, namedLocation(graph.name(), context), entry,
                           builder.getFunctionType(open, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  unsigned index = 0;
  for (auto [input, type] : llvm::zip(inputs, types)) {
    auto elements = bound.find(input->name());
    if (elements != bound.end())
      addConstant({elements->second, type}, input->name(), input->name());
    if (!isArgument(input))
      continue;
    function.setArgAttr(index, onnx::nameAttrName, hostName(input->name()));
    if (call && isPositions(input))
      function.setArgAttr(index, onnx::positionsAttrName,
                          builder.getUnitAttr());
    if (auto state = states.pasts.find(input->name());
        state != states.pasts.end())
      function.setArgAttr(index, onnx::stateAttrName,
                          builder.getStringAttr(state->second));
    if (llvm::is_contained(cached.whole, input))
      function.setArgAttr(index, onnx::wholeAttrName, builder.getUnitAttr());
    body->getArgument(index).setLoc(namedLocation(input->name(), context));
    if (elements == bound.end())
      values[input->name()] = body->getArgument(index);
    ++index;
  }
  if (call && !isSample)
    for (auto [input, type] : llvm::zip(inputs, types))
      if (input == cached.tokens)
        addCallArguments(function, type.getDimSize(0));
  return function;
}

StringAttr ModuleBuilder::hostName(StringRef name) const {
  return entries.size() + options.addedEntries() < 2
             ? StringAttr::get(context, name)
             : StringAttr::get(context, entry + "." + name);
}

void ModuleBuilder::finishMain(func::FuncOp function, ArrayRef<Value> results) {
  SmallVector<DictionaryAttr> names;
  for (const ValueInfoProto &output : graph.output()) {
    NamedAttrList about;
    about.set(onnx::nameAttrName, hostName(output.name()));
    if (auto state = states.presents.find(output.name());
        state != states.presents.end())
      about.set(onnx::stateAttrName, builder.getStringAttr(state->second));
    names.push_back(about.getDictionary(context));
  }
  finishFunction(function, results);
  function.setAllResultAttrs(names);
}

/// Its function, at the end of the module. The weights are those of all.
FailureOr<func::FuncOp>
ModuleBuilder::buildFunction(ArrayRef<const ValueInfoProto *> inputs,
                             const ImportOptions &bound) {
  values.clear();
  none = {};
  parameters = weightBytes = 0;
  FailureOr<SmallVector<RankedTensorType>> types =
      bindInputShapes(model, inputs, bound, context);
  if (failed(types))
    return failure();
  auto elements = boundElements(model, inputs, *types, options, context);
  if (failed(elements))
    return failure();
  if (call)
    bindCall(inputs, *types, *elements);
  OpBuilder::InsertionGuard guard(builder);
  func::FuncOp function = createFunction(inputs, *types, *elements);
  const SmallVector<Value> results = importGraph(graph);
  if (failed(refusals.report(context)))
    return failure();
  finishMain(function, results);
  return function;
}

LogicalResult ModuleBuilder::buildEntry(ArrayRef<const ValueInfoProto *> inputs,
                                        const EntryOptions &its) {
  entry = its.name;
  if (options.kvCapacity)
    return buildCachedEntry(inputs, its);
  ImportOptions bound = options;
  llvm::append_range(bound.dims, its.dims);
  if (options.length)
    return buildLengths(inputs, bound);
  return buildFunction(inputs, bound);
}

/// The most, and less to tell what follows the length: one that is odd where
/// the other is even, and a short one, for what is another only from some
/// length on. Not of one or two tokens if there are others: extents of so many
/// fold.
constexpr int64_t shortest = 3;
static llvm::SetVector<int64_t> comparedLengths(const LengthRange &range) {
  llvm::SetVector<int64_t> lengths;
  for (int64_t length : {range.to, range.to - 1, range.to - range.to / 3,
                         std::max(shortest, range.from)})
    lengths.insert(std::clamp(length, range.from, range.to));
  for (int64_t length = range.to; length >= range.from && lengths.size() < 3;
       --length)
    lengths.insert(length);
  return lengths;
}

LogicalResult
ModuleBuilder::buildLengths(ArrayRef<const ValueInfoProto *> inputs,
                            const ImportOptions &options) {
  const LengthRange &range = *options.length;
  const std::string name = entry;
  llvm::SetVector<int64_t> lengths = comparedLengths(range);
  const size_t compared = lengths.size();
  for (int64_t length = shortest - 1; length >= range.from; --length)
    lengths.insert(length);
  for (auto [number, length] : llvm::enumerate(lengths)) {
    const bool isSample = length != range.to;
    entry = isSample ? name + "/" + std::to_string(length) : name;
    ImportOptions bound = options;
    bound.dims.emplace_back(range.dim, length);
    FailureOr<func::FuncOp> function = buildFunction(inputs, bound);
    if (failed(function))
      return failure();
    (*function)->setAttr(
        onnx::lengthAttrName,
        builder.getDenseI64ArrayAttr({isSample ? length : range.from, length}));
    (*function)->setAttr(onnx::lengthNameAttrName,
                         builder.getStringAttr(lengthName));
    if (isSample)
      (*function)->setAttr(number < compared ? onnx::lengthOfAttrName
                                             : onnx::foldedLengthOfAttrName,
                           FlatSymbolRefAttr::get(context, name));
  }
  entry = name;
  return success();
}

/// Nothing of a call's past is padding, and its tokens follow one another.
void ModuleBuilder::bindCall(
    ArrayRef<const ValueInfoProto *> inputs, ArrayRef<RankedTensorType> types,
    llvm::StringMap<DenseElementsAttr> &elements) const {
  for (auto [each, its] : llvm::zip(inputs, types)) {
    const ValueInfoProto *input = each;
    RankedTensorType type = its;
    if (input != cached.mask && !llvm::is_contained(cached.positions, input))
      continue;
    // No call of more tokens has a row for each position: they are computed.
    if (cached.tokensSymbol().empty() && input->name() == "position_ids")
      continue;
    auto number = [&](int64_t at) -> Attribute {
      const int64_t value = input == cached.mask ? 1 : call->past + at;
      Type element = type.getElementType();
      return isa<FloatType>(element)
                 ? Attribute(FloatAttr::get(element, double(value)))
                 : IntegerAttr::get(element, value);
    };
    SmallVector<Attribute> numbers;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      numbers.push_back(number(i % type.getShape().back()));
    elements[input->name()] = DenseElementsAttr::get(type, numbers);
  }
}

/// Where states are written, and, of a model that counts its positions itself,
/// these.
void ModuleBuilder::addCallArguments(func::FuncOp function, int64_t batch) {
  auto add = [&](StringRef name, ArrayRef<int64_t> shape, StringRef attribute,
                 Attribute what) {
    auto type = RankedTensorType::get(shape, builder.getI64Type());
    const unsigned index = function.getNumArguments();
    (void)function.insertArgument(
        index, type,
        builder.getDictionaryAttr(
            {builder.getNamedAttr(onnx::nameAttrName, hostName(name)),
             builder.getNamedAttr(attribute, what)}),
        namedLocation(name, context));
  };
  if (cached.positions.empty())
    add("position_ids", {batch, call->tokens}, onnx::positionsAttrName,
        builder.getUnitAttr());
  add("position", {batch}, onnx::argumentAttrName,
      builder.getDenseI64ArrayAttr({0, call->past}));
}

/// A function for the call that fills the capacity, and private ones, for
/// infer, of calls that find less.
LogicalResult
ModuleBuilder::buildCachedEntry(ArrayRef<const ValueInfoProto *> inputs,
                                const EntryOptions &its) {
  const int64_t capacity = *options.kvCapacity;
  const std::optional<int64_t> tokens = tokensOf(cached, options, its);
  auto fail = [&](const Twine &why) {
    return emitError(UnknownLoc::get(context))
           << model.path << ": --entry " << its.name << ": " << why;
  };
  if (!tokens)
    return fail("how many tokens a call has is open; add '" +
                cached.tokensSymbol() + "=N' to it");
  if (*tokens < 1 || *tokens >= capacity)
    return fail(Twine(*tokens) +
                " tokens a call leave no room for others in "
                "--kv-capacity=" +
                Twine(capacity) + "; give it from 1 to " + Twine(capacity - 1));
  for (const auto &[name, shape] : options.shapes) {
    if (name != cached.tokens->name() || shape.size() < 2)
      continue;
    for (const auto &[symbol, extent] : its.dims)
      if (symbol == cached.tokensSymbol() && extent != shape[1])
        return fail("dimension '" + symbol + "' is " + Twine(extent) +
                    " here and " + Twine(shape[1]) + " by --shape " + name);
  }
  SmallVector<CachedCall> calls = callsThatTell(*tokens, capacity);
  if (cached.tokensSymbol().empty())
    calls.back().tokens = *tokens;
  for (auto [index, each] : llvm::enumerate(calls)) {
    call = each;
    isSample = index > 0;
    entry = isSample ? its.name + "/" + std::to_string(index) : its.name;
    FailureOr<func::FuncOp> function =
        buildFunction(inputs, boundTo(each, cached, options, its));
    if (failed(function))
      return failure();
    for (BlockArgument argument : function->getArguments())
      if (function->getArgAttr(argument.getArgNumber(), onnx::nameAttrName) ==
              hostName(cached.tokens->name()) &&
          cast<RankedTensorType>(argument.getType()).getDimSize(0) != 1 &&
          llvm::any_of(cached.positions, [](const ValueInfoProto *its) {
            return its->name() == "cache_position";
          }))
        return fail("more than one sequence a call, of which each has a "
                    "position, and cache_position is one for all; take a batch "
                    "of 1");
    (*function)->setAttr(onnx::callAttrName, builder.getDenseI64ArrayAttr(
                                                 {each.tokens, each.past}));
    if (isSample) {
      (*function).setPrivate();
      (*function)->setAttr(onnx::sampleOfAttrName,
                           FlatSymbolRefAttr::get(context, its.name));
    }
  }
  call.reset();
  isSample = false;
  return success();
}

/// Those of a decoder are by default one of a prompt's next tokens, and one of
/// a single token.
LogicalResult
ModuleBuilder::readEntries(ArrayRef<const ValueInfoProto *> inputs) {
  entries = options.entries;
  if (options.kvCapacity) {
    FailureOr<CachedInputs> found =
        findCachedInputs(model, inputs, states, options, context);
    if (failed(found))
      return failure();
    cached = std::move(*found);
    const std::string symbol = cached.tokensSymbol();
    if (entries.empty() && !tokensOf(cached, options, {"main", {}})) {
      constexpr int64_t most = 64;
      const int64_t prompt = std::min(most, *options.kvCapacity / 2);
      entries.push_back({"decode", {{symbol, 1}}});
      if (prompt > 1)
        entries.push_back({"prefill", {{symbol, prompt}}});
    }
  }
  if (entries.empty())
    entries.push_back({"main", {}});
  takeNames(inputs);
  return refusals.report(context);
}

/// What the host knows by name, entries, inputs and outputs, has names of its
/// own.
void ModuleBuilder::takeNames(ArrayRef<const ValueInfoProto *> inputs) {
  for (const EntryOptions &its : entries) {
    entry = its.name;
    for (const ValueInfoProto *input : inputs)
      taken[hostName(input->name()).getValue()] = "an input";
    for (const ValueInfoProto &output : graph.output())
      taken[hostName(output.name()).getValue()] = "an output";
  }
  for (StringRef name : {"main", "load"})
    taken.try_emplace(name, "an entry");
  for (const EntryOptions &its : entries) {
    StringRef &by = taken[its.name];
    if (!by.empty() && by != "an entry")
      refusals.add("--entry " + its.name + ": " + by +
                   " is called so, too; take another name");
    by = "an entry";
  }
  if (!options.length)
    return;
  // An identifier that nothing else is called.
  lengthName = options.length->dim;
  for (char &letter : lengthName)
    letter = llvm::isAlnum(letter) ? letter : '_';
  if (llvm::isDigit(lengthName[0]))
    lengthName.insert(0, "_");
  while (!taken.try_emplace(lengthName, "a length").second)
    lengthName += "_";
}

OwningOpRef<ModuleOp> ModuleBuilder::build(int64_t opset) {
  SmallVector<const ValueInfoProto *> inputs = inputsWithoutDefault();
  FailureOr<StatePairs> pairs = pairStates(model, inputs, options, context);
  if (failed(pairs) || failed(readPatterns()))
    return nullptr;
  states = std::move(*pairs);
  if (failed(readEntries(inputs)))
    return nullptr;
  StringRef name = llvm::sys::path::stem(model.path);
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(namedLocation(model.path, context), name);
  for (const EntryOptions &its : entries) {
    builder.setInsertionPointToEnd(module->getBody());
    if (failed(buildEntry(inputs, its)))
      return nullptr;
  }
  Operation *op = *module;
  op->setAttr(onnx::modelAttrName, builder.getStringAttr(name));
  op->setAttr(onnx::opsetAttrName, builder.getI64IntegerAttr(opset));
  stateWeights(op, parameters, weightBytes);
  return module;
}
