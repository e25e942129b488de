// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, head by head. Queries stay where they are. Keys and values of a
// batch element are gathered north to the root of its group, which multicasts
// them south; every PE of the group takes all of them into a buffer, some
// features at a time. Where a row holds whole batch elements, nothing moves.
//
// A round brings a token of every row at least, or of every row of a band.
// Where scores of so many do not fit, keys and values go to the store and
// stream from there, which takes more cycles.

#include "compiler/kernels/Heads.h"
#include "compiler/kernels/attention/AttentionTerms.h"

#include <limits>

using namespace mlir;

namespace wsec {
namespace {

class Attention final
    : public AttentionKernel<onnx::AttentionOp, wse::AttentionOp> {
  Value buildFor(onnx::AttentionOp op, Selection &selection) const final;

  KernelCost costIn(wse::AttentionOp op, const AttentionShape &shape,
                    const Machine &machine) const final;

  SmallVector<Relay> relays() const final {
    SmallVector<Relay> relays = attentionRelays();
    relays.push_back({StreamPattern::Channel, StreamPattern::Column});
    return relays;
  }
  SmallVector<HostFlow> flowsOf(wse::AttentionOp op,
                                const Machine &machine) const final {
    AttentionShape shape(op, machine);
    if (!shape.streamed)
      return {};
    return {CostModel(machine).columnFlow(shape.key.features, 2 * shape.keys)};
  }
  // Scores, and largest, sum, new largest and correction of each token; what is
  // multicast; what the terms of the mask need.
  int64_t wordsOf(const AttentionShape &shape) const final {
    int64_t words = shape.wordsOfScores() + 4 * shape.channels +
                    shape.weightedCount() + shape.roundedCount();
    words += shape.gatheredCount() + shape.movedCount();
    if (shape.early())
      words += wsec::wordsOf(shape.element,
                             shape.mostKeys() * shape.slice(shape.valueSize));
    return words + AttentionTerms::scratchWords(shape);
  }

  // All keys of a head have their mask in one column; and where heads of some
  // tensors have one feature, those of the others are not spread either.
  bool needsWholeHeads(Operation *op) const final {
    auto attention = cast<wse::AttentionOp>(op);
    return llvm::any_of(attention.getMasks(), AttentionShape::isByHead) ||
           hasSinglesBeside(attention);
  }

  LogicalResult lowerOp(wse::AttentionOp op, RoutineBuilder &b) const final;
};

/// A mask per key is one row of keys for each batch element; any other one row
/// of keys for each query, or for each of its heads.
Value maskOf(onnx::AttentionOp op, Value mask, wse::TokenTiling query,
             int64_t keys, Selection &selection) {
  if (!selection.host().contains(mask) && !selection.toStore(mask, op))
    return {};
  if (shapeOf(mask).size() == 3)
    return selection.bring(
        mask, {query.getBatch(), query.getTokens(), shapeOf(mask)[2]},
        query.withColumns(wse::ColumnPlacement::Heads, keys), op,
        /*exact=*/true);
  const bool perKey = shapeOf(mask)[2] == 1;
  wse::TokenTiling rows =
      perKey ? query.perBatchElement(selection.machine().height) : query;
  return selection.bring(
      mask, {query.getBatch(), 1, perKey ? 1 : query.getTokens(), keys},
      rows.withColumns(wse::ColumnPlacement::Replicated), op, /*exact=*/true);
}

/// Whether keys and values may come from the store instead.
bool canStream(wse::AttentionOp op, const Machine &machine) {
  const AttentionShape shape(op, machine);
  return shape.span() > 1 && shape.query.batch == 1 && !shape.narrow &&
         shape.of.parts == 0 && shape.element.isF32() &&
         shape.headSize == shape.valueSize &&
         shape.query.features.units * shape.columns <= machine.width;
}

Value Attention::buildFor(onnx::AttentionOp op, Selection &selection) const {
  const int64_t repeat = op.headsPerKey();
  Value query = wholeHeads(op.getQ(), op.getNumHeads(), op, selection);
  Value key = wholeHeads(op.getK(), op.keyHeads(), op, selection, repeat);
  Value value = wholeHeads(op.getV(), op.keyHeads(), op, selection, repeat);
  if (!query || !key || !value)
    return {};
  wse::TokenTiling queryTiling = tilingOf(query);
  SmallVector<Value> masks;
  for (Value mask : op.getMasks()) {
    masks.push_back(
        maskOf(op, mask, queryTiling, tilingOf(key).getTokens(), selection));
    if (!masks.back())
      return {};
  }
  wse::TokenTiling tiling = queryTiling.withColumns(
      wse::ColumnPlacement::Heads, tilingOf(value).getHeadSize());
  auto number = [&](const APFloat &value) {
    return selection.builder().getF64FloatAttr(value.convertToFloat());
  };
  std::optional<APFloat> cap = op.getSoftcap();
  auto create = [&] {
    auto made = selection.createFor<wse::AttentionOp>(
        op, Type(selection.tensorType(tiling, wse::featuresOf(value))), query,
        key, value, masks, op.getNumHeadsAttr(), number(op.getScale()),
        cap ? number(*cap) : FloatAttr(), op.getTermsAttr(), UnitAttr());
    if (Attribute parts = op->getAttr(onnx::lengthPartsAttrName))
      made->setAttr(onnx::lengthPartsAttrName, parts);
    return made;
  };
  wse::AttentionOp attention = create();
  const Machine &machine = selection.machine();
  // What is left beside code, as far as that is known, and queries.
  const int64_t room = 2 * selection.roomForOutput(query);
  if (!canStream(attention, machine) ||
      scratchBytes(attention, machine) <= room)
    return attention;
  attention.erase();
  const int64_t keys = tilingOf(key).getTokens();
  const int64_t features = wse::featuresOf(key);
  wse::IntermediateOp into =
      selection.declare({2, keys, features}, op.getK(), op);
  for (auto [index, tensor] : llvm::enumerate(ArrayRef{key, value}))
    selection.store(tensor, into, int64_t(index) * keys * features,
                    {keys * features, features, 1}, op);
  attention = create();
  attention->setAttr(
      wse::storedAttrName,
      wse::WeightAttr::get(
          op.getContext(), FlatSymbolRefAttr::get(into.getSymNameAttr()),
          cast<RankedTensorType>(into.getTypeAttr().getValue()), 0, {}));
  return attention;
}

/// Instructions of a round besides: of sums and results, and that hear and
/// send.
constexpr double otherInstructions = 8;

/// Softmax of the scores of a head over several columns: they are summed up and
/// multicast in each round, and so are their exponentials.
static double spreadCycles(const AttentionShape &shape, const Machine &machine,
                           bool causal) {
  CostModel model(machine);
  double rounds = shape.allRounds();
  double words = double(shape.keys) * shape.channels;
  double share =
      double(tileSizeMax(shape.mostKeys(), shape.columns)) * shape.channels;
  double latency = model.chain(shape.columns, 0) +
                   model.multicast(shape.columns, 0) + 2 * machine.vectorSetup;
  // To scale and add up scores, to find the largest and to mask; to zero them.
  double passes = causal ? 5 : 3;
  return 2 * (2 * words + rounds * latency) + passes * words +
         words / machine.copyRate +
         rounds * ((passes + otherInstructions) *
                       (machine.vectorSetup + model.guard(shape.query)) +
                   model.functions(share) + model.adds(1, share));
}

static bool canBe(const AttentionShape &shape) {
  return shape.knowsOrder() || !AttentionTerms::hidesLater(shape);
}

KernelCost Attention::costIn(wse::AttentionOp op, const AttentionShape &shape,
                             const Machine &machine) const {
  if (!canBe(shape)) {
    KernelCost cost;
    cost.compute = std::numeric_limits<double>::infinity();
    return cost;
  }
  CostModel model(machine), sums(machine, shape.narrow);
  const CostModel ofScores(machine, shape.narrow, shape.narrowScores);
  double sequences = shape.query.group == 0
                         ? tileSizeMax(shape.query.batch, machine.height)
                         : 1;
  double scores = double(shape.keys) * shape.channels;
  // A product, and the exchange before it, of which the group root relays most.
  double exchanged = 0;
  const double rounds = shape.streamed ? shape.rounds + 1 : 1;
  const double elementsOfWord = shape.tokensOfWord() * shape.featuresOfWord();
  auto products = [&](double headSize, size_t summed) {
    double size = shape.most(headSize);
    double sizes[] = {shape.keys / rounds, size, double(shape.channels)};
    double key = 1, feature = double(shape.key.pitch(machine.height));
    if (shape.pairing == Pairing::Channels)
      feature = double(shape.mostKeys());
    else if (shape.buffered())
      std::tie(key, feature) = std::pair(double(shape.slice(headSize)), 1.0);
    if (summed == 0)
      key = std::max(key, sizes[2]);
    else
      feature = std::max(feature, double(shape.query.pitch(machine.height)));
    const double strides[] = {key, feature, 1};
    const CostModel &its = summed == 1 ? ofScores : sums;
    double cycles =
        rounds * its.product(sizes, summed,
                             its.vectorAlong(sizes, summed, strides), strides);
    if (shape.local())
      return cycles;
    double slices = std::ceil(size / shape.slice(headSize));
    double latency = summed == 0 && shape.early()
                         ? 0
                         : (shape.pitch ? shape.allRounds() : 1) *
                               shape.latency(machine, shape.key.span);
    exchanged += 2 * shape.keys * size / elementsOfWord + slices * latency;
    return cycles;
  };
  double head = products(shape.headSize, 1) + products(shape.valueSize, 0) +
                model.divides(shape.channels);
  if (shape.streamed) // of instructions in all rounds
    head += 4 * otherInstructions * rounds * machine.vectorSetup;
  head +=
      AttentionTerms::passes(shape) * model.adds(shape.keys, shape.channels);
  if (op.getSoftcap())
    head += model.functions(scores) + model.adds(shape.keys, shape.channels);
  if (shape.spread())
    head += spreadCycles(shape, machine, AttentionTerms::hidesLater(shape));
  else
    head += 4 * model.adds(shape.keys, shape.channels) +
            model.functions(scores) +
            otherInstructions * model.guard(shape.query);
  double heads = shape.spread()
                     ? 1
                     : tileSizeMax(shape.query.features.units, machine.width);
  KernelCost cost;
  cost.compute = sequences * heads * (head + exchanged);
  if (shape.streamed) {
    // Those of a round are waited for before there is anything to do.
    cost.stream =
        model.channelCycles(shape.query, shape.key.features, 2 * shape.keys);
    cost.serial = std::min(cost.stream, cost.compute);
  }
  if (!shape.local())
    cost.fabric =
        heads * shape.keys *
        std::max(shape.most(shape.headSize), shape.most(shape.valueSize)) /
        elementsOfWord;
  // Two products, the largest and the sum of the scores, and one exponential;
  // of keys after its own a causal token needs none.
  if (AttentionTerms::hidesLater(shape))
    scores =
        std::max(0.0, scores - shape.channels * (shape.channels - 1) / 2.0);
  cost.lowerBound =
      sequences * shape.query.features.units / machine.width *
      (sums.leastFmacs(scores * (shape.headSize + shape.valueSize)) +
       2 * model.leastAdds(scores) +
       (op.getSoftcap() ? 2 : 1) * scores * machine.functionCycles);
  // Scores of the farthest keys, their exponentials, the division by their sum.
  if (shape.streamed)
    cost.lowerBound = std::max(cost.lowerBound,
                               2.0 * shape.keys * wse::featuresOf(op.getKey()) /
                                   machine.westCount());
  cost.lowerBound =
      std::max(cost.lowerBound,
               std::max(model.leastAcross(shape.streamed ? 1 : shape.span()),
                        model.leastAcross(shape.columns)) +
                   machine.functionCycles + machine.divideCycles);
  return cost;
}

LogicalResult Attention::lowerOp(wse::AttentionOp op, RoutineBuilder &b) const {
  const AttentionShape shape(op, b.machine());
  if (!canBe(shape))
    return op.emitOpError("hides later tokens, which are dealt to ")
           << shape.of.parts << " rows, and lie in " << shape.query.span;
  lowerAttention(op, b);
  return success();
}

} // namespace

SmallVector<Relay> attentionRelays() {
  using P = StreamPattern;
  SmallVector<Relay> relays = gatherColumnRelays();
  relays.append({{P::RowWest, P::RowWest},
                 {P::RowWest, P::HeadCast},
                 {P::ValueNorth, P::ValueNorth},
                 {P::ValueNorth, P::ValueCast}});
  return relays;
}

double AttentionShape::latency(const Machine &machine, int64_t rows) const {
  const CostModel model(machine);
  return (pitch ? gatherColumnCycles(machine, rows)
                : model.chain(double(rows), 0)) +
         model.multicast(double(span()), 0);
}

/// Where every row of a column has keys of one batch element, and two phases
/// save most of the time that words take.
int64_t AttentionShape::pitchOfColumn(const Machine &machine) const {
  if (of.few || local() || key.group != machine.height ||
      key.span != machine.height)
    return 0;
  AttentionShape other = *this;
  other.pitch = columnPitch(machine);
  const double words =
      2.0 * double(mostKeys() * std::max(slice(headSize), slice(valueSize)));
  return 2 * words <=
                 latency(machine, key.span) - other.latency(machine, key.span)
             ? other.pitch
             : 0;
}

SmallVector<StreamNeed> AttentionShape::streams(const Machine &machine) const {
  SmallVector<StreamNeed> needs;
  if (spread())
    needs = {
        {StreamPattern::RowWest, {}},
        {StreamPattern::HeadCast, {query.features.units, columns, columns}}};
  if (streamed)
    needs.append(columnStreams(query, machine));
  if (local())
    return needs;
  const RowSet rows = castRows(machine.height);
  if (pitch) {
    needs.append(
        {{StreamPattern::KeyNorth, {}}, {StreamPattern::KeyCast, rows}});
    needs.append(reduceBatchStreams(machine, machine.height));
    return needs;
  }
  // What rows have for the keys of one goes north, too.
  if (of.isGradient || key.span > 1)
    needs.push_back({StreamPattern::KeyNorth, {}});
  if (key.span > 1)
    needs.push_back({StreamPattern::ValueNorth, {}});
  needs.push_back({StreamPattern::KeyCast, rows});
  needs.push_back({StreamPattern::ValueCast, rows});
  return needs;
}

WSEC_DEFINE_KERNEL(Attention)

} // namespace wsec
