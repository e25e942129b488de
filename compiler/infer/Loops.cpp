// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Loops.h"
#include "compiler/values/OnnxValues.h"
#include "dialects/onnx/Bodies.h"
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;

static constexpr StringLiteral asUnrolled =
    "export the model with its loop unrolled";

bool infer::isLoop(onnx::NodeOp op) {
  auto captured =
      op.getOnnxAttributes().getAs<IntegerAttr>(onnx::capturedAttrName);
  return (op.getOpType() == "Loop" || op.getOpType() == "Scan") &&
         op.getDomain().empty() && bodyOf(op, "body") && captured &&
         captured.getInt() >= 0 &&
         size_t(captured.getInt()) <= op.getInputs().size();
}

namespace {
class Unroller : Expansion {
public:
  Unroller(onnx::NodeOp op, const Inferring &inferring, size_t &unrolled,
           int64_t &taken, std::string &why)
      : Expansion(op, inferring), body(bodyOf(op, "body")), unrolled(unrolled),
        taken(taken), why(why) {
    const size_t captured = op.getOnnxAttributes()
                                .getAs<IntegerAttr>(onnx::capturedAttrName)
                                .getInt();
    own = op.getInputs().drop_back(captured);
    outer = op.getInputs().take_back(captured);
  }

  using Values = std::optional<SmallVector<Value>>;
  Values results() {
    Values made =
        check() ? op.getOpType() == "Loop" ? loop() : scan() : Values();
    if (!made && !leaveBody)
      eraseMade();
    return made;
  }

private:
  std::nullopt_t fail(const Twine &what) {
    if (why.empty())
      why = what.str();
    return std::nullopt;
  }
  bool check();
  bool checkResults(size_t others, size_t carried);
  Values loop();
  Values scan();
  std::optional<int64_t> tripsOfLoop();
  std::optional<bool> truth(Value condition);
  /// A number or a condition, of as many dimensions as the body states.
  Value oneElement(ElementType type, int64_t value, unsigned argument);
  Values trip(int64_t number, ArrayRef<Value> operands);
  Value stacked(ArrayRef<Value> parts, int64_t axis, size_t result);
  SmallVector<Value> stackedNone(ValueRange like);
  std::optional<SmallVector<int64_t>> numbers(StringRef attribute,
                                              size_t count);

  func::FuncOp body;
  size_t &unrolled;
  int64_t &taken; // trips
  std::string &why;
  OperandRange own{nullptr, 0}, outer{nullptr, 0};
  IRMapping places;
  bool leaveBody = false; // the reason is in what is made
};
} // namespace

bool Unroller::check() {
  if (op.getOpType() == "Scan" && opsetOf(op) < 9) {
    fail("before opset 9 it scans each sample of a batch; convert the model to "
         "opset 9 or later");
    return false;
  }
  if (body.getNumArguments() != op.getInputs().size()) {
    fail("its body takes " +
         Twine(int64_t(body.getNumArguments()) - int64_t(outer.size())) +
         " values, it gives " + Twine(own.size()));
    return false;
  }
  for (Value input : op.getInputs())
    if (!inferring.lookup(input) && !isa<NoneType>(input.getType())) {
      fail(unsupportedOperand);
      return false;
    }
  return true;
}

/// Of a body: its condition, what it carries, what is stacked.
bool Unroller::checkResults(size_t others, size_t carried) {
  const size_t results = body.getNumResults();
  if (results >= others + carried && op.getNumResults() <= results - others)
    return true;
  fail("its body has " + Twine(results) + " results, for " + Twine(carried) +
       " values that it carries and " + Twine(op.getNumResults()) +
       " results of the node");
  return false;
}

Value Unroller::oneElement(ElementType type, int64_t value, unsigned argument) {
  auto stated =
      dyn_cast<RankedTensorType>(body.getArgument(argument).getType());
  Tensor tensor(type, Shape(stated ? stated.getRank() : 0, 1));
  tensor.setInt(0, value);
  return constant(std::move(tensor));
}

Unroller::Values Unroller::trip(int64_t number, ArrayRef<Value> operands) {
  const size_t nodes =
      llvm::count_if(body.front().without_terminator(), [](Operation &inside) {
        return !isa<onnx::ConstantOp>(inside);
      });
  unrolled += std::max<size_t>(1, nodes); // its trip is a constant, too
  if (unrolled > maxUnrolledNodes)
    return fail("trip " + Twine(number + 1) + " of " + Twine(nodes) +
                " nodes makes more than the " + Twine(maxUnrolledNodes) +
                " nodes that loops may unroll to; take fewer trips in a call");
  places.map(body.getArguments().take_front(operands.size()), operands);
  places.map(body.getArguments().take_back(outer.size()), outer);
  Values results =
      copy(body, (op.getNode() + "/" + Twine(number) + "/").str(), places);
  if (results)
    return results;
  leaveBody = true;
  return fail(unsupportedOperand);
}

/// A result of all trips: an axis more, along which they follow one another.
Value Unroller::stacked(ArrayRef<Value> parts, int64_t axis, size_t result) {
  SmallVector<Value> slices;
  const Shape first = inferring.lookup(parts.front())->shape;
  Shape slice = first;
  slice.insert(slice.begin() + axis, 1);
  for (auto [trip, part] : llvm::enumerate(parts)) {
    const Shape its = inferring.lookup(part)->shape;
    if (its != first) {
      fail("result " + Twine(result) + " of its body is " + printShape(first) +
           " first and " + printShape(its) + " in trip " + Twine(trip + 1));
      return {};
    }
    slices.push_back(node("Reshape", {part, constant(Tensor::ofInts(slice))}));
  }
  return node("Concat", slices, "axis", axis);
}

/// The same of no trip, like what one trip would have.
SmallVector<Value> Unroller::stackedNone(ValueRange like) {
  std::vector<Tensor> none;
  for (Value value : like) {
    const Fact *fact = inferring.lookup(value);
    Shape shape = fact->shape;
    shape.insert(shape.begin(), 0);
    none.emplace_back(fact->type, shape);
  }
  eraseMade();
  SmallVector<Value> made;
  for (Tensor &tensor : none)
    made.push_back(constant(std::move(tensor)));
  return made;
}

std::optional<int64_t> Unroller::tripsOfLoop() {
  const Fact *fact = inferring.lookup(own[0]);
  if (!fact)
    return std::numeric_limits<int64_t>::max();
  if (numElements(fact->shape) != 1 || fact->type != ElementType::Int64)
    return fail("its number of trips is not one int64");
  if (std::optional<Tensor> known = fact->load())
    return known->asInt(0);
  return fail("its number of trips is computed in each run" +
              remedyFor(own[0], asUnrolled));
}

std::optional<bool> Unroller::truth(Value condition) {
  const Fact *fact = inferring.lookup(condition);
  if (!fact)
    return true;
  if (numElements(fact->shape) != 1 || fact->type != ElementType::Bool)
    return fail("its condition is not one truth value");
  if (std::optional<Tensor> known = fact->load())
    return known->asBool(0);
  return fail("its condition is computed in each run" +
              remedyFor(condition, asUnrolled));
}

Unroller::Values Unroller::loop() {
  constexpr size_t ahead = 2; // Trips and condition.
  const std::optional<int64_t> trips = tripsOfLoop();
  std::optional<bool> goes = truth(own[1]);
  SmallVector<Value> carried = llvm::to_vector(own.drop_front(ahead));
  const size_t count = carried.size();
  if (!trips || !goes || !checkResults(1, count))
    return std::nullopt;
  const bool isStated = inferring.lookup(own[1]);
  std::vector<SmallVector<Value>> parts(body.getNumResults() - 1 - count);
  auto once = [&](int64_t number) {
    SmallVector<Value> operands{oneElement(ElementType::Int64, number, 0),
                                oneElement(ElementType::Bool, 1, 1)};
    llvm::append_range(operands, carried);
    return trip(number, operands);
  };
  for (int64_t number = 0; number < *trips && *goes; ++number) {
    taken = number + 1;
    Values made = once(number);
    if (!made || !(goes = truth(made->front())))
      return std::nullopt;
    if (!*goes && !isStated)
      return fail("its condition is left out and computed in its body, of "
                  "which ONNX and onnxruntime think differently; state it");
    llvm::copy(ArrayRef(*made).slice(1, count), carried.begin());
    for (auto [its, value] :
         llvm::zip(parts, llvm::drop_begin(*made, 1 + count)))
      its.push_back(value);
  }
  const size_t stackedResults =
      std::max(op.getNumResults(), unsigned(count)) - count;
  if (stackedResults > 0 && parts.front().empty()) {
    Values made = once(0);
    if (!made)
      return std::nullopt;
    llvm::append_range(
        carried, stackedNone(ArrayRef(*made).slice(1 + count, stackedResults)));
    return carried;
  }
  for (size_t i = 0; i < stackedResults; ++i) {
    Value all = stacked(parts[i], 0, 1 + count + i);
    if (!all)
      return std::nullopt;
    carried.push_back(all);
  }
  return carried;
}

std::optional<SmallVector<int64_t>> Unroller::numbers(StringRef attribute,
                                                      size_t count) {
  Attribute stated = op.getOnnxAttributes().get(attribute);
  if (!stated)
    return SmallVector<int64_t>(count, 0);
  auto list = dyn_cast<DenseI64ArrayAttr>(stated);
  if (list && list.size() == int64_t(count))
    return llvm::to_vector(list.asArrayRef());
  return fail("attribute '" + attribute + "' is no list of " + Twine(count) +
              " integers");
}

/// `axis` of a tensor of this rank, from its front; nothing if it has none.
static std::optional<int64_t> axisOf(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

Unroller::Values Unroller::scan() {
  auto stated = op.getOnnxAttributes().getAs<IntegerAttr>("num_scan_inputs");
  if (!stated || stated.getInt() < 1 || stated.getInt() > int64_t(own.size()))
    return fail("attribute 'num_scan_inputs' is not from 1 to its " +
                Twine(own.size()) + " operands");
  const size_t count = own.size() - stated.getInt();
  if (!checkResults(0, count))
    return std::nullopt;
  SmallVector<Value> carried = llvm::to_vector(own.take_front(count));
  const OperandRange scanned = own.drop_front(count);
  std::vector<SmallVector<Value>> parts(body.getNumResults() - count);
  auto axes = numbers("scan_input_axes", scanned.size());
  const auto back = numbers("scan_input_directions", scanned.size());
  const auto outAxes = numbers("scan_output_axes", parts.size());
  const auto outBack = numbers("scan_output_directions", parts.size());
  if (!axes || !back || !outAxes || !outBack)
    return std::nullopt;
  for (int64_t direction : llvm::concat<const int64_t>(*back, *outBack))
    if (direction != 0 && direction != 1)
      return fail("a direction is " + Twine(direction) + ", not 0 or 1");
  std::optional<int64_t> trips;
  for (auto [input, axis] : llvm::zip(scanned, *axes)) {
    const Shape &shape = inferring.lookup(input)->shape;
    const std::optional<int64_t> known = axisOf(axis, shape.size());
    if (!known)
      return fail("a scanned operand of shape " + printShape(shape) +
                  " has no axis " + Twine(axis));
    axis = *known;
    if (trips && *trips != shape[axis])
      return fail("it scans operands of " + Twine(*trips) + " and of " +
                  Twine(shape[axis]) + " elements");
    trips = shape[axis];
  }
  taken = *trips;
  if (*trips == 0 && op.getNumResults() > count)
    return fail("it scans no elements, of which results have no shape");
  for (int64_t number = 0; number < *trips; ++number) {
    SmallVector<Value> operands = carried;
    for (auto [input, axis, isBack] : llvm::zip(scanned, *axes, *back)) {
      Tensor at(ElementType::Int64, {});
      at.setInt(0, isBack ? *trips - 1 - number : number);
      operands.push_back(
          node("Gather", {input, constant(std::move(at))}, "axis", axis));
    }
    Values made = trip(number, operands);
    if (!made)
      return std::nullopt;
    llvm::copy(ArrayRef(*made).take_front(count), carried.begin());
    for (auto [its, value] : llvm::zip(parts, llvm::drop_begin(*made, count)))
      its.push_back(value);
  }
  for (size_t i = 0; count + i < op.getNumResults(); ++i) {
    const int64_t rank = inferring.lookup(parts[i].front())->rank() + 1;
    const std::optional<int64_t> axis = axisOf((*outAxes)[i], rank);
    if (!axis)
      return fail("a result of rank " + Twine(rank) + " has no axis " +
                  Twine((*outAxes)[i]));
    if ((*outBack)[i])
      std::reverse(parts[i].begin(), parts[i].end());
    Value all = stacked(parts[i], *axis, count + i);
    if (!all)
      return std::nullopt;
    carried.push_back(all);
  }
  return carried;
}

std::optional<SmallVector<Value>>
infer::unroll(onnx::NodeOp op, const Inferring &inferring, size_t &unrolled,
              int64_t &trips, std::string &why) {
  trips = 0;
  return Unroller(op, inferring, unrolled, trips, why).results();
}
