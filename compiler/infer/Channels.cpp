// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Channel by channel: norms of images, and short causal convolutions.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Windows.h"

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// Scale, bias and the like: inputs 1 and on, a number for each channel.
static bool channelNorm(Node &node) {
  const Fact &x = node.input(0);
  if (x.rank() < 2)
    return node.fail("an operand of shape " + printShape(x.shape));
  for (size_t i = 1; i < node.numInputs(); ++i)
    if (!node.hasShape(i, "numbers of channels", {x.shape[1]}))
      return false;
  return node.setOutput(unknown(x.type, x.shape));
}

static bool batchNorm(Node &node) {
  if (node.intAttr("training_mode") || node.outputs.size() > 1)
    return node.fail("it is in training mode; export the model as it is used, "
                     "in evaluation mode");
  return channelNorm(node);
}

static bool groupNorm(Node &node) {
  const Fact &x = node.input(0);
  const int64_t groups = node.intAttr("num_groups");
  if (x.rank() < 2 || groups < 1 || x.shape[1] % groups)
    return node.fail(Twine(groups) + " groups of the channels of " +
                     printShape(x.shape));
  if (node.intAttr("stash_type", 1) != 1)
    return node.fail("computes in ONNX element type " +
                     Twine(node.intAttr("stash_type")));
  const int64_t count = node.version() < 21 ? groups : x.shape[1];
  for (size_t i : {1, 2})
    if (!node.hasShape(i, "a scale or bias", {count}))
      return false;
  return node.setOutput(unknown(x.type, x.shape));
}

/// Each once, in order.
static std::optional<Shape> meanAxes(Node &node) {
  const int64_t rank = node.input(0).rank();
  Shape axes = node.intsAttr("axes").value_or(Shape{0, 2, 3});
  for (int64_t &axis : axes) {
    if (axis < -rank || axis >= rank)
      return node.fail("axis " + Twine(axis) + " is outside rank " +
                       Twine(rank));
    axis += axis < 0 ? rank : 0;
  }
  llvm::sort(axes);
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return node.fail("an axis comes twice");
  return axes;
}

static bool meanVariance(Node &node) {
  if (!meanAxes(node))
    return false;
  return node.setOutput(unknown(node.input(0).type, node.input(0).shape));
}

/// x [B, C, L], weights [C, 1, K], a state [B, C, K - 1].
static bool causalConv(Node &node) {
  const Fact &x = node.input(0);
  if (x.rank() != 3 || node.input(1).rank() != 3)
    return node.fail("convolves " + printShape(x.shape) + " with " +
                     printShape(node.input(1).shape));
  const int64_t channels = x.shape[1], taps = node.input(1).shape[2];
  Shape state = {x.shape[0], channels, taps - 1};
  if (taps < 1)
    return node.fail("its weights have no taps");
  if (!areFewTaps(node, {taps}) ||
      !node.hasShape(1, "weights", {channels, 1, taps}) ||
      !node.hasShape(2, "a bias", {channels}) ||
      !node.hasShape(3, "a state", state))
    return false;
  return node.setOutputs({unknown(x.type, x.shape), unknown(x.type, state)});
}

static bool localResponse(Node &node) {
  const Fact &x = node.input(0);
  const int64_t size = node.intAttr("size");
  if (x.rank() < 2 || size < 1 || size > kMostTaps)
    return node.fail("norms of " + Twine(size) + " channels of " +
                     printShape(x.shape) + ", expected 1 to " +
                     Twine(kMostTaps));
  return node.setOutput(unknown(x.type, x.shape));
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// A number for each channel against [B, C, ...].
static Value alongChannels(Legalization &n, Value numbers, size_t rank) {
  Shape shape(rank, 1);
  shape[1] = shapeOf(numbers)[0];
  return n.reshape(numbers, shape);
}

/// x * scale + bias, inputs 1 and 2.
static Value scaled(Legalization &n, Value x) {
  const size_t rank = shapeOf(x).size();
  x = n.mul(x, alongChannels(n, n.input(1), rank));
  return n.add(x, alongChannels(n, n.input(2), rank));
}

/// Mean 0 and variance 1 over these axes.
static Value normalized(Legalization &n, Value x, ArrayRef<int64_t> axes,
                        double epsilon) {
  Value centered = n.sub(x, n.keptReduced(x, ReduceKind::Mean, axes));
  Value variance =
      n.keptReduced(n.mul(centered, centered), ReduceKind::Mean, axes);
  return n.div(centered, n.sqrt(n.add(variance, epsilon)));
}

static bool instanceNorm(Legalization &n) {
  Shape axes;
  for (int64_t d = 2; d < n.resultType().getRank(); ++d)
    axes.push_back(d);
  return n.replace(scaled(
      n, normalized(n, n.input(0), axes, n.node().floatAttr("epsilon"))));
}

static bool batchNorm(Legalization &n) {
  const size_t rank = n.resultType().getRank();
  Value deviation = n.sqrt(n.add(n.input(4), n.node().floatAttr("epsilon")));
  Value x = n.sub(n.input(0), alongChannels(n, n.input(3), rank));
  x = n.div(x, alongChannels(n, deviation, rank));
  return n.replace(scaled(n, x));
}

static bool groupNorm(Legalization &n) {
  ArrayRef<int64_t> shape = n.resultType().getShape();
  const int64_t groups = n.node().intAttr("num_groups");
  const int64_t each = numElements(shape) / (shape[0] * groups);
  Value x = n.reshape(n.input(0), {shape[0], groups, each});
  x = normalized(n, x, {2}, n.node().floatAttr("epsilon"));
  if (n.node().version() < 21) // a scale for each group
    return n.replace(n.reshape(scaled(n, x), shape));
  return n.replace(scaled(n, n.reshape(x, shape)));
}

static bool meanVariance(Legalization &n) {
  // The definition adds 1e-9 to the deviation, which no variance f32 has.
  return n.replace(normalized(n, n.input(0), *meanAxes(n.node()), 1e-18));
}

/// The state and x side by side, a slice of them for each tap.
static bool causalConv(Legalization &n) {
  Value x = n.input(0), weight = n.input(1);
  ArrayRef<int64_t> shape = n.resultType().getShape();
  const int64_t taps = shapeOf(weight)[2];
  Value all = n.has(3) && taps > 1 ? n.concat({n.input(3), x}, 2)
                                   : padded(n, x, 2, taps - 1, 0, 0);
  Value sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Value part = n.slice(all, {{0, 0, tap}, Shape(shape), {1, 1, 1}});
    Value factor = n.slice(weight, {{0, 0, tap}, {shape[1], 1, 1}, {1, 1, 1}});
    Value term = n.mul(part, n.reshape(factor, {1, shape[1], 1}));
    sum = sum ? n.add(sum, term) : term;
  }
  if (n.has(2))
    sum = n.add(sum, alongChannels(n, n.input(2), 3));
  if (n.node().stringAttr("activation") != "none")
    sum = n.mul(sum, n.sigmoid(sum));
  SmallVector<Value> results = {sum};
  if (n.op().getNumResults() > 1 && !n.op().getResult(1).use_empty())
    results.push_back(n.slice(
        all, {{0, 0, shape[2]}, {shape[0], shape[1], taps - 1}, {1, 1, 1}}));
  return n.replace(results);
}

/// x / (bias + alpha * mean of the squares of channels around it)^beta
static bool localResponse(Legalization &n) {
  Value x = n.input(0), sum;
  const int64_t size = n.node().intAttr("size"), before = (size - 1) / 2;
  Value squares = padded(n, n.mul(x, x), 1, before, size - 1 - before, 0);
  for (int64_t i = 0; i < size; ++i) {
    Box box = wholeBox(x);
    box.starts[1] = i;
    Value part = n.slice(squares, box);
    sum = sum ? n.add(sum, part) : part;
  }
  sum = n.mul(sum, n.node().floatAttr("alpha") / double(size));
  sum = n.add(sum, n.node().floatAttr("bias"));
  sum = n.pow(sum, n.node().floatAttr("beta"));
  return n.replace(n.div(x, sum));
}

llvm::ArrayRef<Operator> wsec::infer::channelsOperators() {
  static const Operator operators[] = {
      {"InstanceNormalization", channelNorm, instanceNorm, "epsilon"},
      {"BatchNormalization", batchNorm, batchNorm,
       "epsilon momentum training_mode"},
      {"GroupNormalization", groupNorm, groupNorm,
       "epsilon num_groups stash_type"},
      {"MeanVarianceNormalization", meanVariance, meanVariance, "axes"},
      {"LRN", localResponse, localResponse, "alpha beta bias size"},
      {"CausalConvWithState", causalConv, causalConv,
       "activation=none|silu|swish"},
  };
  return operators;
}
