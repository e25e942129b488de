// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Positions.h"
#include "compiler/values/OnnxValues.h"
#include "dialects/onnx/CachedCalls.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;

namespace {
/// Tokens of a call, and those before.
struct Call {
  int64_t tokens, past;
  int64_t total() const { return tokens + past; }
};

class PositionFollower {
public:
  PositionFollower(const CallSample &entry, ArrayRef<CallSample> samples)
      : entry(entry), samples(samples), function(entry.function) {}
  void run();

private:
  bool match();
  void findTainted();
  void follow(onnx::NodeOp user);
  void addPositions(onnx::NodeOp attention);
  bool saysTokens(Value constant, int64_t fewer);
  /// Whether its extents are others where the past is shorter.
  bool follows(Value value) const;
  /// Sequences of a call, each with positions of its own.
  int64_t batch() const {
    return positions && shapeOf(positions).size() == 2 ? shapeOf(positions)[0]
                                                       : 1;
  }
  void refuseSums(ArrayRef<onnx::NodeOp> nodes);
  void followResults();
  /// What takes the place of a constant: itself where it holds for all calls;
  /// null where none does.
  Value followed(Value constant);
  /// Rows of the table that all tokens make; of a mask up to the last token.
  Value lookedUp(Value constant, const Tensor &here, ArrayRef<Tensor> there,
                 bool isMask = false);
  Value rowsOfTable(Value constant, const Tensor &here, const Tensor &table,
                    int64_t axis);

  const CallSample &entry;
  ArrayRef<CallSample> samples;
  func::FuncOp function;                    // of entry
  SmallVector<Call> calls;                  // of entry, then of samples
  DenseMap<Value, SmallVector<Value>> same; // in samples; looked up only
  DenseSet<Value> tainted;                  // looked up only
  DenseMap<Value, Value> known;
  DenseMap<Attribute, Value> tables; // rows of those; looked up only
  BlockArgument positions;
};
} // namespace

static Call callOf(func::FuncOp function) {
  auto call = function->getAttrOfType<DenseI64ArrayAttr>(onnx::callAttrName);
  return {call[0], call[1]};
}

/// Constants without elements may stand for an empty past.
static bool isEmpty(Operation *op) {
  return isa<onnx::ConstantOp>(op) &&
         numElements(shapeOf(op->getResult(0))) == 0;
}

static SmallVector<Operation *> operationsOf(func::FuncOp function) {
  SmallVector<Operation *> all;
  for (Operation &op : function.front())
    if (isa<onnx::NodeOp, onnx::ConstantOp>(op) && !isEmpty(&op))
      all.push_back(&op);
  return all;
}

void wsec::infer::refuseNode(onnx::NodeOp user, const Twine &why) {
  user->setAttr(reasonAttrName, StringAttr::get(user.getContext(), why));
  for (Value result : user->getResults())
    result.setType(onnx::UnknownType::get(user.getContext()));
}

void wsec::infer::refuseConsequences(func::FuncOp function) {
  for (auto op : function.front().getOps<onnx::NodeOp>())
    if (!op->hasAttr(reasonAttrName) &&
        llvm::any_of(op->getOperandTypes(),
                     [](Type type) { return isa<onnx::UnknownType>(type); }))
      refuseNode(op, unsupportedOperand);
}

/// Whether all samples take the branches of the entry; then their nodes are
/// the same, one by one.
bool PositionFollower::match() {
  const SmallVector<Operation *> here = operationsOf(function);
  for (const CallSample &sample : samples) {
    const SmallVector<Operation *> there = operationsOf(sample.function);
    if (here.size() != there.size())
      return false;
    for (auto [a, b] : llvm::zip(here, there)) {
      auto node = dyn_cast<onnx::NodeOp>(a), other = dyn_cast<onnx::NodeOp>(b);
      if (bool(node) != bool(other) ||
          (node && (node.getOpType() != other.getOpType() ||
                    node.getNode() != other.getNode() ||
                    node->getNumResults() != other->getNumResults())))
        return false;
      for (auto [value, its] : llvm::zip(a->getResults(), b->getResults()))
        same[value].push_back(its);
    }
  }
  return true;
}

/// What depends on the length: all that comes from pasts, and from constants
/// that are other ones in a sample.
void PositionFollower::findTainted() {
  for (BlockArgument argument : function.getArguments())
    if (onnx::isGrowing(function.getArgAttrDict(argument.getArgNumber())))
      tainted.insert(argument);
  for (Operation *op : operationsOf(function)) {
    auto isTainted = [&](Value value) { return tainted.contains(value); };
    bool follows = llvm::any_of(op->getOperands(), isTainted);
    if (auto constant = dyn_cast<onnx::ConstantOp>(op))
      for (Value its : same[constant.getResult()])
        follows |= its.getDefiningOp<onnx::ConstantOp>().getValue() !=
                   constant.getValue();
    if (follows)
      tainted.insert_range(op->getResults());
  }
}

/// Operands that say how large a result is: of a call that fills the capacity
/// it is what states hold.
static bool isExtent(onnx::NodeOp user, unsigned operand) {
  struct Place {
    StringLiteral op;
    unsigned operand;
  };
  static constexpr Place places[] = {
      {"Reshape", 1}, {"Expand", 1}, {"Tile", 1}, {"ConstantOfShape", 0}};
  return llvm::any_of(places, [&](const Place &place) {
    return user.getOpType() == place.op && operand == place.operand;
  });
}

static bool equalAt(const Tensor &a, int64_t i, const Tensor &b, int64_t j) {
  return isFloat(a.type()) ? a.asFloat(i) == b.asFloat(j)
                           : a.asInt(i) == b.asInt(j);
}

/// Calls `visit(i, j)` for each element `i` of a tensor of shape `part` and the
/// element `j` of one of shape `whole` at the same index, from `first` on along
/// `axis`; false as soon as `visit` is.
template <typename Visit>
static bool allWithin(ArrayRef<int64_t> part, ArrayRef<int64_t> whole,
                      int64_t axis, int64_t first, Visit visit) {
  Shape strides(whole.size(), 1);
  for (size_t d = whole.size(); d-- > 1;)
    strides[d - 1] = strides[d] * whole[d];
  int64_t i = 0;
  bool holds = true;
  forEachPosition(Shape(part), whole.empty() ? 0 : first * strides[axis],
                  strides, [&](int64_t j) {
                    holds = holds && visit(i, j);
                    ++i;
                  });
  return holds;
}

/// Whether `part` is the first elements of `whole`, along each axis.
static bool isBeginOf(const Tensor &part, const Tensor &whole) {
  if (part.shape().size() != whole.shape().size())
    return false;
  for (auto [a, b] : llvm::zip(part.shape(), whole.shape()))
    if (a > b)
      return false;
  return allWithin(
      part.shape(), whole.shape(), 0, 0,
      [&](int64_t i, int64_t j) { return equalAt(part, i, whole, j); });
}

/// Whether `mask` [.., tokens, total] has one number for the keys that a token
/// sees, up to its own so many, and another one for others: those that `like`,
/// the mask of the entry, has.
static bool isCausal(const Tensor &mask, const Call &call, const Tensor &like,
                     const Call &entry, int64_t window) {
  const Shape &shape = mask.shape();
  const size_t rank = shape.size();
  if (rank < 2 || shape[rank - 2] != call.tokens ||
      shape[rank - 1] != call.total() || like.size() < 2)
    return false;
  // The first token's own key, and one that it does not see, or the last one.
  const int64_t seen = entry.past;
  const int64_t hidden = window < entry.total()
                             ? (entry.tokens - 1) * entry.total()
                             : entry.total() - 1;
  for (int64_t i = 0; i < mask.size(); ++i) {
    const int64_t behind =
        call.past + i / call.total() % call.tokens - i % call.total();
    if (!equalAt(mask, i, like, behind >= 0 && behind < window ? seen : hidden))
      return false;
  }
  return true;
}

/// How many keys, its own the last, the last token of the entry sees by `mask`,
/// if it is a mask.
static int64_t windowOf(const Tensor &mask, const Call &entry) {
  const int64_t own = entry.tokens * entry.total() - 1;
  int64_t window = 1;
  while (window < entry.total() && own < mask.size() &&
         equalAt(mask, own - window, mask, own))
    ++window;
  return window;
}

/// Where a table of all positions is longer than what a call takes of it, -1
/// if there is no such axis, or several.
static int64_t axisOfTokens(const Tensor &rows, const Tensor &table,
                            const Call &call, const Call &whole) {
  int64_t axis = -1;
  if (rows.shape().size() != table.shape().size())
    return -1;
  for (auto [d, extents] :
       llvm::enumerate(llvm::zip(rows.shape(), table.shape()))) {
    auto [its, all] = extents;
    if (its == all)
      continue;
    if (axis >= 0 || its != call.tokens || all != whole.total())
      return -1;
    axis = int64_t(d);
  }
  return axis;
}

static onnx::NodeOp node(OpBuilder &builder, Location loc, Type type,
                         StringRef op, ValueRange inputs, StringRef name,
                         ArrayRef<NamedAttribute> attributes = {}) {
  return onnx::NodeOp::create(builder, loc, TypeRange(type), op, "", inputs,
                              builder.getDictionaryAttr(attributes), name);
}

static Value integers(OpBuilder &builder, Location loc,
                      ArrayRef<int64_t> numbers, StringRef name) {
  return materialize(builder, loc, Fact::ofTensor(Tensor::ofInts(numbers)),
                     name);
}

/// The constant as rows of `table`, at the positions of the call.
Value PositionFollower::rowsOfTable(Value constant, const Tensor &here,
                                    const Tensor &table, int64_t axis) {
  Operation *op = constant.getDefiningOp();
  const StringRef name = op->getAttrOfType<StringAttr>("node").getValue();
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  const Location loc = op->getLoc();
  auto type = RankedTensorType::get(
      here.shape(), toMlirType(builder.getContext(), here.type()));
  // Each sequence of a batch is elsewhere.
  const int64_t batch = this->batch(), every = table.size() / batch;
  if (batch > 1 && (axis == 0 || here.shape()[0] != batch))
    return {};
  for (int64_t i = every; i < table.size(); ++i)
    if (!equalAt(table, i, table, i % every))
      return {};
  // Positions themselves need no table.
  bool isPosition = !isFloat(here.type());
  const int64_t inner =
      numElements(ArrayRef<int64_t>(table.shape()).drop_front(axis + 1));
  for (int64_t i = 0; isPosition && i < table.size(); ++i)
    isPosition = table.asInt(i) == i / inner % table.shape()[axis];
  if (isPosition) {
    Value its = positions;
    if (typeOf(its).getElementType() != type.getElementType())
      its = node(builder, loc,
                 RankedTensorType::get(shapeOf(its), type.getElementType()),
                 "Cast", its, name,
                 builder.getNamedAttr(
                     "to", builder.getI64IntegerAttr(int64_t(here.type()))))
                .getResult(0);
    Shape along(here.shape().size(), 1);
    if (!along.empty())
      along[axis] = here.shape()[axis], along[0] = axis ? batch : along[0];
    its =
        node(builder, loc, RankedTensorType::get(along, type.getElementType()),
             "Reshape", {its, integers(builder, loc, along, name)}, name)
            .getResult(0);
    if (along == here.shape())
      return its;
    return node(builder, loc, type, "Expand",
                {its, integers(builder, loc, here.shape(), name)}, name)
        .getResult(0);
  }
  // Tables have a row a position where nothing stands before it.
  const int64_t before =
      numElements(ArrayRef<int64_t>(table.shape()).take_front(axis)) / batch;
  if (batch > 1 && before > 1)
    return {};
  Shape tableShape = table.shape(), rowsShape = here.shape();
  if (before == 1) {
    // Of equal tables of all sequences the first one's rows are taken.
    tableShape = {batch * table.shape()[axis], inner};
    rowsShape = {batch * here.shape()[axis], inner};
    axis = 0;
  }
  Value rowNumbers =
      node(builder, loc,
           RankedTensorType::get({here.shape().empty() ? 1 : rowsShape[axis]},
                                 typeOf(positions).getElementType()),
           "Reshape",
           {positions, integers(builder, loc, {rowsShape[axis]}, name)}, name)
          .getResult(0);
  Value rows = materialize(builder, loc,
                           Fact::ofTensor(table.reshaped(tableShape)), name);
  Attribute key =
      rows ? rows.getDefiningOp<onnx::ConstantOp>().getValue() : Attribute();
  if (!key)
    return {};
  Value &looked = tables[key];
  if (!looked)
    looked = node(builder, loc,
                  RankedTensorType::get(rowsShape, type.getElementType()),
                  "Gather", {rows, rowNumbers}, name,
                  builder.getNamedAttr("axis", builder.getI64IntegerAttr(axis)))
                 .getResult(0);
  // Where another value has the same rows, they are above.
  OpBuilder behind(builder.getContext());
  behind.setInsertionPointAfterValue(looked);
  return node(behind, loc, type, "Reshape",
              {looked, integers(behind, loc, here.shape(), name)}, name)
      .getResult(0);
}

Value PositionFollower::lookedUp(Value constant, const Tensor &here,
                                 ArrayRef<Tensor> there, bool isMask) {
  const Tensor &table = there.back();
  const int64_t axis = axisOfTokens(here, table, calls.front(), calls.back());
  if (axis < 0)
    return {};
  auto isRows = [&](const Tensor &rows, const Call &call) {
    Shape shape = here.shape();
    if (isMask && shape.back() == calls.front().total())
      shape.back() = call.total();
    return rows.shape() == shape &&
           allWithin(rows.shape(), table.shape(), axis, call.past,
                     [&](int64_t i, int64_t j) {
                       return equalAt(rows, i, table, j);
                     });
  };
  if (!isRows(here, calls.front()))
    return {};
  for (auto [rows, call] :
       llvm::zip(there.drop_back(), ArrayRef<Call>(calls).drop_front()))
    if (!isRows(rows, call))
      return {};
  const int64_t places = calls.back().total() - calls.front().tokens;
  auto isEverywhere = [&](int64_t past) {
    return isRows(here, {calls.front().tokens, past});
  };
  if (llvm::all_of(llvm::seq<int64_t>(0, places), isEverywhere))
    return constant;
  return rowsOfTable(constant, here, table, axis);
}

Value PositionFollower::followed(Value constant) {
  const Fact *fact = entry.lookup(constant);
  std::optional<Tensor> here = fact->load();
  SmallVector<Tensor> there;
  for (Value its : same[constant]) {
    const CallSample &sample = samples[there.size()];
    const Fact *other = sample.lookup(its);
    std::optional<Tensor> tensor =
        other && other->constant ? other->load() : std::nullopt;
    if (!here || !tensor || tensor->type() != here->type())
      return {};
    there.push_back(std::move(*tensor));
  }
  // The last sample has other tokens, too: it is for tables and masks.
  const ArrayRef<Tensor> shorter = ArrayRef<Tensor>(there).drop_back();
  // All positions tell more than those of samples.
  if (Value rows = lookedUp(constant, *here, there))
    return rows;
  if (llvm::all_of(shorter,
                   [&](const Tensor &its) { return isBeginOf(its, *here); }))
    return constant;
  const Call &whole = calls.front();
  const int64_t window = windowOf(*here, whole);
  bool causal = isCausal(*here, whole, *here, whole, window);
  for (auto [mask, call] : llvm::zip(there, ArrayRef<Call>(calls).drop_front()))
    causal = causal && isCausal(mask, call, *here, whole, window);
  return causal ? constant : lookedUp(constant, *here, there, /*isMask=*/true);
}

/// Whether a constant is, in all samples, all tokens that there are then, but
/// so many.
bool PositionFollower::saysTokens(Value constant, int64_t fewer) {
  SmallVector<const Fact *> facts{entry.lookup(constant)};
  for (auto [sample, its] : llvm::zip(samples, same[constant]))
    facts.push_back(sample.lookup(its));
  for (auto [fact, call] : llvm::zip(facts, calls)) {
    std::optional<Tensor> numbers =
        fact && fact->constant ? fact->load() : std::nullopt;
    for (int64_t i = 0; numbers && i < numbers->size(); ++i)
      if (numbers->asInt(i) != call.total() - fewer)
        return false;
    if (!numbers)
      return false;
  }
  return true;
}

/// onnxruntime's attention counts positions from the lengths of its sequences,
/// if it is not given them.
void PositionFollower::addPositions(onnx::NodeOp attention) {
  constexpr unsigned number = 9;
  auto rotates = attention.getOnnxAttributes().getAs<IntegerAttr>("do_rotary");
  const unsigned inputs = attention.getInputs().size();
  if (!rotates || rotates.getInt() == 0 ||
      (inputs > number &&
       !isa<NoneType>(attention.getInputs()[number].getType())))
    return;
  OpBuilder builder(attention);
  Value none =
      onnx::NoneOp::create(builder, attention.getLoc(), builder.getNoneType());
  SmallVector<Value> more(attention.getInputs());
  more.resize(std::max(inputs, number + 1), none);
  more[number] = positions;
  attention->setOperands(more);
}

/// Operands that say how many tokens there are: the end of a slice that takes
/// all, and of onnxruntime's GroupQueryAttention the last one's place, and the
/// number.
static std::optional<int64_t>
fewerThanTokens(onnx::NodeOp user, unsigned operand, bool isOfAllTokens) {
  if (user.getOpType() == "Slice" && operand == 2 && isOfAllTokens)
    return 0;
  if (user.getOpType() != "GroupQueryAttention" ||
      (operand != 5 && operand != 6))
    return std::nullopt;
  return operand == 5;
}

void PositionFollower::follow(onnx::NodeOp user) {
  if (user.getOpType() == "GroupQueryAttention")
    addPositions(user);
  for (OpOperand &operand : user->getOpOperands()) {
    Value value = operand.get();
    const Fact *fact = entry.lookup(value);
    if (!tainted.contains(value) || !fact || !fact->constant ||
        isExtent(user, operand.getOperandNumber()))
      continue;
    if (auto fewer = fewerThanTokens(user, operand.getOperandNumber(),
                                     follows(user.getInputs()[0]));
        fewer && saysTokens(value, *fewer))
      continue;
    auto [place, isNew] = known.try_emplace(value, Value());
    if (isNew)
      place->second = followed(value);
    if (Value its = place->second) {
      operand.set(its);
      continue;
    }
    const std::string name =
        value.getDefiningOp()->getAttrOfType<StringAttr>("node").str();
    refuseNode(
        user,
        "operand " + Twine(operand.getOperandNumber()) + ", of node '" + name +
            "', follows the tokens of the past, and is neither a "
            "causal mask, with a window or without, nor rows of a "
            "table, one a position" +
            (batch() > 1 ? " of each sequence; export with position_ids "
                           "[batch, tokens], take a batch of 1, or leave "
                           "--kv-capacity out"
                         : "; export without it, or leave --kv-capacity out"));
  }
}

bool PositionFollower::follows(Value value) const {
  const Fact *fact = entry.lookup(value);
  auto its = same.find(value);
  if (!fact || its == same.end())
    return false;
  // The last sample has other tokens, too.
  for (auto [sample, other] :
       llvm::zip(samples.drop_back(), ArrayRef(its->second).drop_back())) {
    const Fact *there = sample.lookup(other);
    if (there && there->shape != fact->shape)
      return true;
  }
  return false;
}

/// What a call computes for each token there is, and no state has, is of the
/// whole capacity: nobody may sum it up.
void PositionFollower::refuseSums(ArrayRef<onnx::NodeOp> nodes) {
  DenseSet<Value> ofStates; // looked up only
  for (BlockArgument argument : function.getArguments())
    if (onnx::isGrowing(function.getArgAttrDict(argument.getArgNumber())))
      ofStates.insert(argument);
  auto isKnown = [&](Value value) {
    const Fact *fact = entry.lookup(value);
    return fact && fact->constant;
  };
  for (onnx::NodeOp op : nodes) {
    if (llvm::all_of(op->getResults(), isKnown))
      continue;
    if (llvm::any_of(op->getOperands(),
                     [&](Value its) { return ofStates.contains(its); })) {
      ofStates.insert_range(op->getResults());
      continue;
    }
    auto isOfAll = [&](Value value) {
      return !isKnown(value) && follows(value);
    };
    if (op->hasAttr(reasonAttrName) ||
        !llvm::any_of(op->getOperands(), isOfAll) ||
        llvm::all_of(op->getResults(), [&](Value its) { return follows(its); }))
      continue;
    refuseNode(op,
               "computes with as many elements as there are tokens, which are "
               "of no state; export without it, or leave --kv-capacity out");
  }
}

/// What is returned is seen as it is.
void PositionFollower::followResults() {
  for (OpOperand &result : function.front().getTerminator()->getOpOperands()) {
    Value value = result.get();
    auto op = value.getDefiningOp<onnx::NodeOp>();
    const Fact *fact = entry.lookup(value);
    if (!op || !fact || op->hasAttr(reasonAttrName) ||
        function.getResultAttr(result.getOperandNumber(), onnx::stateAttrName))
      continue;
    constexpr StringLiteral why =
        "is an output that follows the tokens of the past; leave it out of the "
        "model, or leave --kv-capacity out";
    if (follows(value)) {
      refuseNode(op, why);
      continue;
    }
    if (!fact->constant || !tainted.contains(value))
      continue;
    if (Value its = followed(value))
      result.set(its);
    else
      refuseNode(op, why);
  }
}

void PositionFollower::run() {
  calls.push_back(callOf(function));
  for (const CallSample &sample : samples)
    calls.push_back(callOf(sample.function));
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), onnx::positionsAttrName))
      positions = argument;
  if (!match()) {
    for (auto op : function.getOps<onnx::NodeOp>())
      refuseNode(op,
                 "the model has other nodes where the past is shorter; bind "
                 "what chooses a branch with --bind, or leave --kv-capacity "
                 "out");
    return;
  }
  findTainted();
  auto isKnown = [&](Value result) {
    const Fact *fact = entry.lookup(result);
    return result.use_empty() || (fact && fact->constant);
  };
  SmallVector<onnx::NodeOp> nodes(function.getOps<onnx::NodeOp>());
  for (onnx::NodeOp op : nodes)
    if (!op->hasAttr(reasonAttrName) && !llvm::all_of(op.getResults(), isKnown))
      follow(op);
  refuseSums(nodes);
  followResults();
  refuseConsequences(function);
  if (positions && positions.use_empty())
    (void)function.eraseArgument(positions.getArgNumber());
}

void wsec::infer::followPositions(const CallSample &entry,
                                  ArrayRef<CallSample> samples) {
  PositionFollower(entry, samples).run();
}
