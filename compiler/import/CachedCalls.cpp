// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/CachedCalls.h"
#include "compiler/Refusals.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace wsec;

using Dimension = TensorShapeProto::Dimension;

static const Dimension &dimensionOf(const ValueInfoProto &input, int axis) {
  return input.type().tensor_type().shape().dim(axis);
}

static int rankOf(const ValueInfoProto &input) {
  return input.type().tensor_type().shape().dim_size();
}

/// The axis of a past's tokens, in front of the features of a head.
static int tokensAxis(const ValueInfoProto &past) { return rankOf(past) - 2; }

static std::string symbolOf(const Dimension &dimension) {
  return dimension.dim_value() > 0 ? "" : dimension.dim_param();
}

std::string CachedInputs::tokensSymbol() const {
  return symbolOf(dimensionOf(*tokens, 1));
}

static bool isOpen(const ValueInfoProto &input, int axis) {
  return !symbolOf(dimensionOf(input, axis)).empty();
}

/// What a convolution or a recurrence leaves does not grow where others do.
static void sortPasts(ArrayRef<const ValueInfoProto *> pasts,
                      CachedInputs &found) {
  const bool anyGrows = llvm::any_of(pasts, [](const ValueInfoProto *past) {
    return rankOf(*past) > 2 && isOpen(*past, tokensAxis(*past));
  });
  for (const ValueInfoProto *past : pasts) {
    const bool isFixed =
        llvm::none_of(llvm::seq(1, std::max(1, rankOf(*past))),
                      [&](int axis) { return isOpen(*past, axis); });
    (anyGrows && isFixed ? found.whole : found.pasts).push_back(past);
  }
}

static const ValueInfoProto *namedAs(ArrayRef<const ValueInfoProto *> inputs,
                                     ArrayRef<StringRef> names,
                                     const ImportOptions &options) {
  for (const ValueInfoProto *input : inputs)
    if (llvm::is_contained(names, input->name()) &&
        llvm::none_of(options.bindings, [&](const BoundInput &bound) {
          return bound.name == input->name();
        }))
      return input;
  return nullptr;
}

FailureOr<CachedInputs>
wsec::findCachedInputs(const OnnxModel &model,
                       ArrayRef<const ValueInfoProto *> inputs,
                       const StatePairs &states, const ImportOptions &options,
                       MLIRContext *context) {
  Refusals refusals(model.path);
  CachedInputs found;
  auto refuse = [&](const Twine &what, const ValueInfoProto &input) {
    refusals.add(what, "input", "'" + input.name() + "'");
  };
  found.tokens = namedAs(inputs, {"input_ids", "inputs_embeds"}, options);
  if (!found.tokens || rankOf(*found.tokens) < 2) {
    refusals.add("--kv-capacity: no input input_ids or inputs_embeds of shape "
                 "[batch, tokens, ..] says how many tokens a call has; export "
                 "it by one of these names");
    if (failed(refusals.report(context)))
      return failure();
  }
  found.mask = namedAs(inputs, {"attention_mask"}, options);
  for (StringRef name : {"position_ids", "cache_position"})
    if (const ValueInfoProto *input = namedAs(inputs, name, options))
      found.positions.push_back(input);
  SmallVector<const ValueInfoProto *> pasts;
  for (const ValueInfoProto *input : inputs)
    if (states.pasts.count(input->name()))
      pasts.push_back(input);
  sortPasts(pasts, found);
  for (const ValueInfoProto *input : found.pasts) {
    if (rankOf(*input) < 3)
      refuse("--kv-capacity: a past of rank " + Twine(rankOf(*input)) +
                 ", expected [batch, heads, tokens, size] or [batch, tokens, "
                 "features]",
             *input);
    else if (const Dimension &its = dimensionOf(*input, tokensAxis(*input));
             symbolOf(its).empty() && its.dim_value() != *options.kvCapacity)
      refuse("--kv-capacity=" + Twine(*options.kvCapacity) + ": dimension " +
                 Twine(tokensAxis(*input)) + ", the tokens of the past, is " +
                 Twine(its.dim_value()) +
                 "; take that as the capacity of a static cache, export the "
                 "model with dynamic axes, of which this is one, or, where no "
                 "past grows, take --states in place of --kv-capacity",
             *input);
  }
  if (found.mask && (rankOf(*found.mask) != 2 ||
                     symbolOf(dimensionOf(*found.mask, 1)).empty()))
    refuse("--kv-capacity: expected attention_mask as [batch, tokens of past "
           "and call], the latter with a name; export it with dynamic axes",
           *found.mask);
  for (const ValueInfoProto *its : found.positions)
    if (const int rank = its->name() == "position_ids" ? 2 : 1;
        rankOf(*its) != rank)
      refuse("--kv-capacity: " + Twine(its->name()) + " of rank " +
                 Twine(rankOf(*its)) + ", expected [" +
                 (rank == 2 ? "batch, " : "") + "tokens of the call]",
             *its);
  if (found.pasts.empty())
    refusals.add("--kv-capacity: the model has no past that is a state; name "
                 "its inputs and outputs with --state PAST=PRESENT");
  if (failed(refusals.report(context)))
    return failure();
  return found;
}

static std::optional<int64_t>
extentBy(ArrayRef<std::pair<std::string, int64_t>> dims, StringRef symbol) {
  for (const auto &[name, extent] : dims)
    if (name == symbol)
      return extent;
  return std::nullopt;
}

std::optional<int64_t> wsec::tokensOf(const CachedInputs &inputs,
                                      const ImportOptions &options,
                                      const EntryOptions &entry) {
  const std::string symbol = inputs.tokensSymbol();
  if (symbol.empty() && dimensionOf(*inputs.tokens, 1).dim_value() > 0)
    return dimensionOf(*inputs.tokens, 1).dim_value();
  for (const auto &[name, shape] : options.shapes)
    if (name == inputs.tokens->name() && shape.size() > 1)
      return shape[1];
  if (auto extent = extentBy(entry.dims, symbol))
    return extent;
  return extentBy(options.dims, symbol);
}

ImportOptions wsec::boundTo(const CachedCall &call, const CachedInputs &inputs,
                            const ImportOptions &options,
                            const EntryOptions &entry) {
  ImportOptions bound = options;
  llvm::append_range(bound.dims, entry.dims);
  auto set = [&](const Dimension &dimension, int64_t extent, bool overrides) {
    const std::string symbol = symbolOf(dimension);
    if (symbol.empty())
      return;
    if (overrides)
      llvm::erase_if(bound.dims,
                     [&](const auto &dim) { return dim.first == symbol; });
    if (!extentBy(bound.dims, symbol))
      bound.dims.emplace_back(symbol, extent);
  };
  int64_t sequences = 1;
  llvm::erase_if(bound.shapes, [&](const auto &shape) {
    const bool isOfTokens = shape.first == inputs.tokens->name();
    if (isOfTokens && !shape.second.empty())
      sequences = shape.second.front();
    return isOfTokens;
  });
  set(dimensionOf(*inputs.tokens, 1), call.tokens, true);
  set(dimensionOf(*inputs.tokens, 0), sequences, sequences > 1);
  // As many sequences as have tokens, whatever the export calls them.
  const Dimension &every = dimensionOf(*inputs.tokens, 0);
  const int64_t batch =
      extentBy(bound.dims, symbolOf(every)).value_or(every.dim_value());
  for (const ValueInfoProto *past : inputs.pasts) {
    set(dimensionOf(*past, tokensAxis(*past)), call.past, true);
    set(dimensionOf(*past, 0), batch, false);
  }
  for (const ValueInfoProto *past : inputs.whole)
    if (rankOf(*past) > 0)
      set(dimensionOf(*past, 0), batch, false);
  if (inputs.mask) {
    set(dimensionOf(*inputs.mask, 1), call.total(), true);
    set(dimensionOf(*inputs.mask, 0), batch, false);
  }
  for (const ValueInfoProto *its : inputs.positions) {
    set(dimensionOf(*its, rankOf(*its) - 1), call.tokens, true);
    set(dimensionOf(*its, 0), batch, false);
  }
  return bound;
}

SmallVector<CachedCall> wsec::callsThatTell(int64_t tokens, int64_t capacity) {
  const int64_t most = capacity - tokens;
  SmallVector<CachedCall> calls;
  for (int64_t past :
       {most, most - 1, most / 2, int64_t(2), int64_t(1), int64_t(0)})
    if (past >= 0 && past <= most &&
        llvm::none_of(
            calls, [&](const CachedCall &call) { return call.past == past; }))
      calls.push_back({tokens, past});
  calls.push_back({capacity, 0});
  return calls;
}
