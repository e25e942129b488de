// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/select/ReorderStates.h"

#include "compiler/kernels/move/Reorder.h"

#include <limits>

using namespace mlir;
using namespace wsec;

static constexpr StringLiteral entryName = "reorder";

/// Why sequences of the states cannot go on from one another; none: they can.
static std::optional<std::string>
problemOf(wse::ProgramOp program, ArrayRef<wse::StateOp> states, int64_t rows) {
  auto says = [](const Twine &what) { return what.str(); };
  if (states.empty())
    return says("the model has no states; give --states or --kv-capacity");
  if (program.lookupSymbol(entryName))
    return says("adds an entry 'reorder'; give what is called so another name");
  auto batchOf = [](wse::StateOp state) {
    return wse::TokenTiling::of(state.getHeldType()).getBatch();
  };
  wse::StateOp first = states.front();
  const int64_t batch = batchOf(first);
  for (wse::StateOp state : states) {
    const std::string name = "state '" + state.getSymName().str() + "'";
    if (batchOf(state) != batch)
      return says(name + " has " + Twine(batchOf(state)) + " sequences, and '" +
                  first.getSymName() + "' has " + Twine(batch) +
                  "; export all with the sequences in front");
    if (batch < 2)
      return says(name + " has one sequence, which can go on from no other; "
                         "take a batch of as many as there are beams");
    if (!wse::TokenTiling::of(state.getHeldType()).group(rows))
      return says(name + " has " + Twine(batch) +
                  " sequences, each of which takes a row of PEs, of which "
                  "there are " +
                  Twine(rows) + "; take a mesh of more rows");
  }
  return std::nullopt;
}

LogicalResult select::addReorder(wse::ProgramOp program, wse::RegionOp region) {
  auto states = llvm::to_vector(program.getOps<wse::StateOp>());
  if (auto problem = problemOf(program, states, region.rows()))
    return program.emitError("--reorder-states: ") << *problem;
  const int64_t batch =
      wse::TokenTiling::of(states.front().getHeldType()).getBatch();
  int64_t most = std::numeric_limits<int32_t>::max();
  for (wse::StateOp state : states)
    if (auto held = wse::TokenTiling::of(state.getHeldType()); held.isCyclic())
      most = std::min(most, held.getTokens());
  auto builder = OpBuilder::atBlockEnd(&program.getBody().front());
  auto entry = wse::EntryOp::create(builder, program.getLoc(), entryName.str());
  Block &body = entry.getBody().emplaceBlock();
  SmallVector<Attribute> names;
  SmallVector<int64_t> from, to;
  SmallVector<Value> sources, positions;
  auto add = [&](StringRef name, int64_t last, SmallVector<Value> &values) {
    for (int64_t i = 0; i < batch; ++i) {
      names.push_back(builder.getStringAttr(name + "_" + Twine(i)));
      from.push_back(0);
      to.push_back(last);
      values.push_back(
          body.addArgument(builder.getIndexType(), program.getLoc()));
    }
  };
  add("source", batch - 1, sources);
  add("position", most, positions);
  entry.setNamesAttr(builder.getArrayAttr(names));
  entry.setFrom(from);
  entry.setTo(to);
  builder.setInsertionPointToEnd(&body);
  for (wse::StateOp state : states)
    createReorder(builder, state, sources, positions);
  return success();
}
