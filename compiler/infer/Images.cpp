// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions as products: what a window of the input covers stands side by
// side as features of one token, and meets all filters at once.
//
//   x [B, C, H, W] -> tokens [B, oh, ow, C * kh * kw] times [C * kh * kw, O]
//
// Windows that neither overlap nor leave gaps (patches of an image) are a
// reshape and a transpose; others are a strided slice for each of their
// elements. Where every channel has a filter of its own there is no product:
// such slices are scaled and added up.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Windows.h"
#include <algorithm>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

static std::optional<Windows> windowsOfConv(Node &node) {
  const Shape &x = node.input(0).shape, &weight = node.input(1).shape;
  Shape extents(ArrayRef(weight).drop_front(2));
  if (node.intsAttr("kernel_shape").value_or(extents) != extents)
    return node.fail("kernel_shape is not that of its weights");
  return windowsOf(node, ArrayRef(x).drop_front(2), extents);
}

/// Each group is a product of its own.
static constexpr int64_t maxGroups = 16;

/// Whether every channel has a filter of its own.
static bool isDepthwise(ArrayRef<int64_t> weight, int64_t groups) {
  return groups > 1 && weight[0] == groups && weight[1] == 1;
}

static bool conv(Node &node) {
  const Fact &x = node.input(0), &weight = node.input(1);
  int64_t groups = node.intAttr("group");
  if (x.rank() < 3 || weight.rank() != x.rank() || !numElements(weight.shape))
    return node.fail("convolves " + printShape(x.shape) + " with " +
                     printShape(weight.shape) +
                     ", expected 3 dimensions or more of both, and windows "
                     "with elements");
  if (groups < 1 || (groups > maxGroups && !isDepthwise(weight.shape, groups)))
    return node.fail(Twine(groups) + " groups, expected 1 to " +
                     Twine(maxGroups) + " or a filter for each channel");
  if (x.shape[1] != groups * weight.shape[1] || weight.shape[0] % groups)
    return node.fail(Twine(x.shape[1]) + " channels for weights of shape " +
                     printShape(weight.shape) + " in " + Twine(groups) +
                     " groups");
  if (node.has(2) && node.input(2).shape != Shape{weight.shape[0]})
    return node.fail("a bias of shape " + printShape(node.input(2).shape));
  if (node.has(3))
    return node.fail("adds to what it convolves");
  std::optional<Windows> windows = windowsOfConv(node);
  if (!windows)
    return false;
  Shape shape = {x.shape[0], weight.shape[0]};
  llvm::append_range(shape, windows->counts);
  return node.setOutput(Fact{x.type, shape, std::nullopt});
}

/// How a ConvTranspose spreads an image: the element i of an axis, times each
/// element of a window, goes from i * stride - before on.
struct Spread {
  Shape strides, dilations, before, extents; // extents: of the result
};

/// As the pads of a convolution to the image from such a result.
static std::optional<Spread> spreadOf(Node &node) {
  ArrayRef<int64_t> image = ArrayRef(node.input(0).shape).drop_front(2);
  ArrayRef<int64_t> window = ArrayRef(node.input(1).shape).drop_front(2);
  const size_t axes = image.size();
  auto strides = perAxis(node, "strides", axes, 1, 1);
  auto dilations = perAxis(node, "dilations", axes, 1, 1);
  auto more = perAxis(node, "output_padding", axes, 0, 0);
  auto pads = perAxis(node, "pads", 2 * axes, 0, 0);
  auto extents = perAxis(node, "output_shape", axes, 0, 0);
  if (!strides || !dilations || !more || !pads || !extents)
    return std::nullopt;
  StringRef automatic = node.stringAttr("auto_pad");
  const bool same = automatic.starts_with("SAME");
  Spread spread{*strides, *dilations, Shape(axes, 0), Shape(axes, 0)};
  for (size_t d = 0; d < axes; ++d) {
    const int64_t length = (image[d] - 1) * spread.strides[d] + 1;
    const int64_t reach = (window[d] - 1) * spread.dilations[d];
    const int64_t full = length + (*more)[d] + reach;
    int64_t &extent = spread.extents[d] = (*extents)[d];
    if (extent == 0 && same)
      extent = image[d] * spread.strides[d];
    if (extent != 0) {
      const int64_t all = std::max<int64_t>(full - extent, 0), less = all / 2;
      spread.before[d] = automatic == "SAME_UPPER" ? less : all - less;
    } else {
      const bool stated = automatic == "NOTSET";
      spread.before[d] = stated ? (*pads)[d] : 0;
      extent = full - spread.before[d] - (stated ? (*pads)[d + axes] : 0);
    }
    if (extent < 1 || spread.before[d] - reach >= length)
      return node.fail("nothing is left of its result behind its pads");
  }
  return spread;
}

static bool convTranspose(Node &node) {
  const Fact &x = node.input(0), &weight = node.input(1);
  const int64_t groups = node.intAttr("group");
  if (x.rank() < 3 || weight.rank() != x.rank() || !numElements(weight.shape) ||
      !numElements(x.shape) || groups < 1 || groups > maxGroups ||
      x.shape[1] != weight.shape[0] || weight.shape[0] % groups)
    return node.fail("spreads " + printShape(x.shape) + " with " +
                     printShape(weight.shape) + " in " + Twine(groups) +
                     " groups, expected 3 dimensions or more of both, as many "
                     "channels, and 1 to " +
                     Twine(maxGroups) + " groups that divide these");
  Shape extents(ArrayRef(weight.shape).drop_front(2));
  if (node.intsAttr("kernel_shape").value_or(extents) != extents)
    return node.fail("kernel_shape is not that of its weights");
  const int64_t results = weight.shape[1] * groups;
  std::optional<Spread> spread =
      areFewTaps(node, extents) && node.hasShape(2, "a bias", {results})
          ? spreadOf(node)
          : std::nullopt;
  if (!spread)
    return false;
  Shape shape = {x.shape[0], results};
  llvm::append_range(shape, spread->extents);
  return node.setOutput(unknown(x.type, shape));
}

/// Columns of a Col2Im: windows of `window`, whose elements add up in an image.
struct Columns {
  Shape image, window, counts; // counts: of windows
  Spread spread;
};

static std::optional<Columns> columnsOf(Node &node) {
  std::optional<Shape> image = node.ints(1, "image_shape");
  std::optional<Shape> window = node.ints(2, "block_shape");
  const Shape &x = node.input(0).shape;
  if (!image || !window)
    return std::nullopt;
  const size_t axes = image->size();
  auto strides = perAxis(node, "strides", axes, 1, 1);
  auto dilations = perAxis(node, "dilations", axes, 1, 1);
  auto pads = perAxis(node, "pads", 2 * axes, 0, 0);
  if (!strides || !dilations || !pads)
    return std::nullopt;
  Columns columns{*image, *window, {}, {*strides, *dilations, {}, *image}};
  columns.spread.before.assign(pads->begin(), pads->begin() + axes);
  bool fits = axes > 0 && window->size() == axes && x.size() == 3;
  for (size_t d = 0; fits && d < axes; ++d) {
    const int64_t reach = ((*window)[d] - 1) * (*dilations)[d];
    const int64_t room =
        (*image)[d] + (*pads)[d] + (*pads)[d + axes] - reach - 1;
    fits = (*window)[d] > 0 && (*image)[d] > 0 && room >= 0;
    columns.counts.push_back(fits ? room / (*strides)[d] + 1 : 0);
  }
  fits = fits && x[2] == numElements(columns.counts) && numElements(x) > 0 &&
         x[1] % numElements(*window) == 0;
  if (!fits)
    return node.fail("columns " + printShape(x) + " of blocks " +
                     printShape(*window) + " do not make an image of " +
                     printShape(*image));
  return areFewTaps(node, *window) ? std::optional(columns) : std::nullopt;
}

static bool columnsToImage(Node &node) {
  std::optional<Columns> columns = columnsOf(node);
  if (!columns)
    return false;
  const Fact &x = node.input(0);
  Shape shape = {x.shape[0], x.shape[1] / numElements(columns->window)};
  llvm::append_range(shape, columns->image);
  return node.setOutput(unknown(x.type, shape));
}

/// The axes from `first` on before those from 1 to it: [B, C, H, W] with
/// `first` = 2 is [B, H, W, C], and with 3 [B, W, C, H].
static Value rotateAxes(Legalization &n, Value x, int64_t first) {
  Shape perm = {0};
  int64_t rank = shapeOf(x).size();
  for (int64_t d = first; d < rank; ++d)
    perm.push_back(d);
  for (int64_t d = 1; d < first; ++d)
    perm.push_back(d);
  return n.transpose(x, perm);
}

/// [B, C, H, W] to [B, oh, ow, C * kh * kw].
static Value patches(Legalization &n, Value x, const Windows &w) {
  Shape shape(shapeOf(x)), split = {shape[0], shape[1]}, perm = {0};
  size_t axes = w.counts.size();
  for (size_t d = 0; d < axes; ++d) {
    split.append({w.counts[d], w.extents[d]});
    perm.push_back(2 + 2 * d);
  }
  perm.push_back(1);
  for (size_t d = 0; d < axes; ++d)
    perm.push_back(3 + 2 * d);
  Shape tokens = {shape[0]};
  llvm::append_range(tokens, w.counts);
  tokens.push_back(shape[1] * numElements(w.extents));
  return n.reshape(n.transpose(n.reshape(x, split), perm), tokens);
}

/// [B, H, W, C] to a slice [B, oh, ow, C] for each (kh, kw).
static SmallVector<Value> slices(Legalization &n, Value x, const Windows &w) {
  size_t axes = w.counts.size(), rank = axes + 2;
  for (size_t d = 0; d < axes; ++d)
    x = padded(n, x, d + 1, w.before[d], w.after[d], 0);
  Box box{Shape(rank, 0), Shape(shapeOf(x)), Shape(rank, 1)};
  for (size_t d = 0; d < axes; ++d) {
    box.extents[d + 1] = w.counts[d];
    box.steps[d + 1] = w.strides[d];
  }
  SmallVector<Value> parts;
  Shape strides = rowMajorStrides(w.extents);
  for (int64_t tap = 0; tap < numElements(w.extents); ++tap) {
    for (size_t d = 0; d < axes; ++d)
      box.starts[d + 1] = tap / strides[d] % w.extents[d] * w.dilations[d];
    parts.push_back(n.slice(x, box));
  }
  return parts;
}

/// Weights as a matrix, the last of the axes its columns; null, with a reason,
/// if they are too many to rearrange.
static Value matrixOf(Legalization &n, Value weight, const Shape &perm) {
  const int64_t columns = shapeOf(weight)[perm.back()];
  const int64_t rows = numElements(shapeOf(weight)) / columns;
  std::optional<Fact> fact = factOf(weight);
  auto computed = [&] {
    return n.reshape(n.transpose(weight, perm), {rows, columns});
  };
  if (!fact->constant)
    return computed();
  const bool isTrainable = fact->constant->storage->isTrainable;
  fact->constant->view = fact->constant->view.transposed(perm);
  fact->shape = fact->constant->view.shape();
  Fact matrix = reshapeFact(*fact, {rows, columns});
  const bool isView = matrix.constant && matrix.constant->view.strides();
  return isTrainable && !isView ? computed() : n.constant(matrix);
}

/// Weights [O, C, kh, kw] as [C * kh * kw, O], or [kh * kw * C, O]; null as
/// `matrixOf`.
static Value filters(Legalization &n, Value weight, bool channelsFirst) {
  Shape perm;
  for (int64_t d = channelsFirst ? 1 : 2, rank = shapeOf(weight).size();
       d < rank; ++d)
    perm.push_back(d);
  if (!channelsFirst)
    perm.push_back(1);
  perm.push_back(0);
  return matrixOf(n, weight, perm);
}

static Value groupPart(Legalization &n, Value x, size_t axis, int64_t number,
                       int64_t of) {
  if (!x || of == 1)
    return x;
  Box box{Shape(shapeOf(x).size(), 0), Shape(shapeOf(x)),
          Shape(shapeOf(x).size(), 1)};
  box.extents[axis] /= of;
  box.starts[axis] = number * box.extents[axis];
  std::optional<Fact> fact = factOf(x);
  if (!fact->constant)
    return n.slice(x, box);
  fact->constant->view = *fact->constant->view.sliced(axis, box.starts[axis],
                                                      box.extents[axis], 1);
  fact->shape = box.extents;
  return n.constant(fact);
}

/// [B, oh, ow, C], each channel with its own filter. Null as `filters`.
static Value depthwise(Legalization &n, const Windows &w) {
  Value taps = filters(n, n.input(1), /*channelsFirst=*/true), sum;
  if (!taps)
    return {};
  for (auto [tap, elements] :
       llvm::enumerate(slices(n, rotateAxes(n, n.input(0), 2), w))) {
    Value weights = groupPart(n, taps, 0, tap, numElements(w.extents));
    Value term = n.mul(elements, weights);
    sum = sum ? n.add(sum, term) : term;
  }
  return n.has(2) ? n.add(sum, n.input(2)) : sum;
}

/// What windows cover times their filters, and a bias if there is one.
static Value filtered(Legalization &n, Value tokens, Value matrix,
                      Value addend) {
  const bool isBias = isConstant(matrix) && (!addend || isConstant(addend));
  Value y = isConstant(matrix)
                ? n.matmul(tokens, matrix, isBias ? addend : Value())
                : n.batchMatmul(tokens, matrix);
  return addend && !isBias ? n.add(y, addend) : y;
}

/// The same with a product for each group.
static Value grouped(Legalization &n, const Windows &w, int64_t groups) {
  Value x = n.input(0);
  const bool simple = arePatches(w, shapeOf(x).drop_front(2));
  SmallVector<Value> results;
  for (int64_t g = 0; g < groups; ++g) {
    Value matrix = groupPart(n, n.input(1), 0, g, groups);
    matrix = matrix ? filters(n, matrix, simple) : matrix;
    if (!matrix)
      return {};
    Value channels = groupPart(n, x, 1, g, groups);
    Value tokens = simple ? patches(n, channels, w)
                          : n.concat(slices(n, rotateAxes(n, channels, 2), w),
                                     w.counts.size() + 1);
    results.push_back(
        filtered(n, tokens, matrix, groupPart(n, n.optional(2), 0, g, groups)));
  }
  return n.concat(results, shapeOf(x).size() - 1);
}

template <bool fused>
static bool convolve(Legalization &n) {
  std::optional<Windows> windows = windowsOfConv(n.node());
  const int64_t groups = n.node().intAttr("group");
  Value y = isDepthwise(shapeOf(n.input(1)), groups)
                ? depthwise(n, *windows)
                : grouped(n, *windows, groups);
  if (!y)
    return false;
  y = rotateAxes(n, y, shapeOf(y).size() - 1);
  return n.replace(fused && n.node().hasAttr("activation") ? n.max(y, 0.0) : y);
}

/// [B, H, W, C] as it meets windows of a ConvTranspose that slide one by one:
/// zeros between its elements, and so many around them that each element of
/// the result has a window.
static Value spreadImage(Legalization &n, Value x, const Spread &spread,
                         ArrayRef<int64_t> window) {
  for (size_t d = 0; d < spread.strides.size(); ++d) {
    const int64_t axis = d + 1, stride = spread.strides[d];
    const Shape shape(shapeOf(x));
    const int64_t length = (shape[axis] - 1) * stride + 1;
    if (stride > 1) {
      Shape apart = shape;
      apart.insert(apart.begin() + axis + 1, 1);
      x = padded(n, n.reshape(x, apart), axis + 1, 0, stride - 1, 0);
      Shape joined = shape;
      joined[axis] *= stride;
      x = n.reshape(x, joined);
    }
    // The window of the first result reaches so far before the image.
    const int64_t reach = (window[d] - 1) * spread.dilations[d];
    const int64_t before = reach - spread.before[d];
    Box box = wholeBox(x);
    box.starts[axis] = std::max<int64_t>(-before, 0);
    const int64_t end = spread.extents[d] + spread.before[d];
    box.extents[axis] = std::min(length, end) - box.starts[axis];
    x = padded(n, n.slice(x, box), axis, std::max<int64_t>(before, 0),
               std::max<int64_t>(end - length, 0), 0);
  }
  return x;
}

static bool convTranspose(Legalization &n) {
  std::optional<Spread> spread = spreadOf(n.node());
  if (!spread)
    return false;
  Value x = n.input(0), weight = n.input(1);
  Shape window(shapeOf(weight).drop_front(2)), perm;
  const size_t axes = window.size();
  for (size_t d = 0; d < axes; ++d)
    perm.push_back(d + 2);
  perm.append({0, 1});
  const Shape ones(axes, 1), none(axes, 0);
  const Windows windows{window, ones, spread->dilations,
                        none,   none, spread->extents};
  x = spreadImage(n, rotateAxes(n, x, 2), *spread, window);
  const int64_t groups = n.node().intAttr("group");
  SmallVector<Value> results;
  for (int64_t g = 0; g < groups; ++g) {
    Value matrix = groupPart(n, weight, 0, g, groups);
    matrix = matrix ? matrixOf(n, matrix, perm) : matrix;
    if (!matrix)
      return false;
    // An element meets the last of its window first.
    SmallVector<Value> parts =
        slices(n, groupPart(n, x, axes + 1, g, groups), windows);
    std::reverse(parts.begin(), parts.end());
    results.push_back(filtered(n, n.concat(parts, axes + 1), matrix,
                               groupPart(n, n.optional(2), 0, g, groups)));
  }
  Value y = n.concat(results, axes + 1);
  return n.replace(rotateAxes(n, y, axes + 1));
}

/// The images that one element of all windows makes, added up.
static bool columnsToImage(Legalization &n) {
  std::optional<Columns> columns = columnsOf(n.node());
  if (!columns)
    return false;
  const Shape x(shapeOf(n.input(0))), &window = columns->window;
  const int64_t taps = numElements(window), channels = x[1] / taps;
  const size_t axes = window.size();
  Shape split = {x[0], channels, taps};
  llvm::append_range(split, columns->counts);
  Value all = n.reshape(n.input(0), split), sum;
  Shape places = {x[0], channels};
  llvm::append_range(places, columns->counts);
  const Shape steps = rowMajorStrides(window), ones(axes, 1);
  for (int64_t tap = 0; tap < taps; ++tap) {
    Box box = wholeBox(all);
    box.starts[2] = tap;
    box.extents[2] = 1;
    Spread spread = columns->spread;
    bool isSeen = true;
    for (size_t d = 0; d < axes; ++d) {
      spread.before[d] -= tap / steps[d] % window[d] * spread.dilations[d];
      const int64_t last = (columns->counts[d] - 1) * spread.strides[d];
      isSeen &=
          last >= spread.before[d] && -spread.before[d] < columns->image[d];
    }
    if (!isSeen)
      continue;
    Value part = n.reshape(n.slice(all, box), places);
    part = spreadImage(n, rotateAxes(n, part, 2), spread, ones);
    sum = sum ? n.add(sum, part) : part;
  }
  return sum ? n.replace(rotateAxes(n, sum, axes + 1))
             : n.fail("all of its blocks lie on pads");
}

/// Channels and pixels that change places, `blocksize` squared of them.
template <bool toDepth>
static bool blocks(Node &node) {
  Shape shape = node.input(0).shape;
  const int64_t b = node.intAttr("blocksize");
  constexpr int64_t most = 1 << 15; // its square has no overflow
  if (shape.size() != 4 || b < 1 || b > most ||
      (toDepth ? shape[2] % b || shape[3] % b : shape[1] % (b * b)))
    return node.fail("blocks of " + llvm::Twine(b) + " do not fit " +
                     printShape(shape));
  shape[1] = toDepth ? shape[1] * b * b : shape[1] / (b * b);
  for (int64_t d : {2, 3})
    shape[d] = toDepth ? shape[d] / b : shape[d] * b;
  return node.setOutput(unknown(node.input(0).type, shape));
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// Blocks of b x b of an image become channels: `{b, b, C}` or, in mode CRD,
/// `{C, b, b}`.
static bool spaceToDepth(Legalization &n) {
  ArrayRef<int64_t> x = shapeOf(n.input(0));
  const int64_t b = n.node().intAttr("blocksize");
  Value blocks = n.reshape(n.input(0), {x[0], x[1], x[2] / b, b, x[3] / b, b});
  const bool crd = n.node().stringAttr("mode") == "CRD";
  blocks = n.transpose(blocks, crd ? ArrayRef<int64_t>{0, 1, 3, 5, 2, 4}
                                   : ArrayRef<int64_t>{0, 3, 5, 1, 2, 4});
  return n.replace(n.reshape(blocks, n.resultType().getShape()));
}

static bool depthToSpace(Legalization &n) {
  ArrayRef<int64_t> x = shapeOf(n.input(0));
  const int64_t b = n.node().intAttr("blocksize"), c = x[1] / (b * b);
  const bool crd = n.node().stringAttr("mode") == "CRD";
  Value blocks =
      n.reshape(n.input(0), crd ? ArrayRef<int64_t>{x[0], c, b, b, x[2], x[3]}
                                : ArrayRef<int64_t>{x[0], b, b, c, x[2], x[3]});
  blocks = n.transpose(blocks, crd ? ArrayRef<int64_t>{0, 1, 4, 2, 5, 3}
                                   : ArrayRef<int64_t>{0, 3, 4, 1, 5, 2});
  return n.replace(n.reshape(blocks, n.resultType().getShape()));
}

llvm::ArrayRef<Operator> wsec::infer::imagesOperators() {
  static const Operator operators[] = {
      {"Conv", conv, convolve<false>,
       "auto_pad=SAME_UPPER|SAME_LOWER|VALID|NOTSET dilations "
       "group kernel_shape pads strides"},
      {"com.microsoft.FusedConv", conv, convolve<true>,
       "auto_pad=SAME_UPPER|SAME_LOWER|VALID|NOTSET dilations "
       "group kernel_shape pads strides activation=Relu"},
      {"ConvTranspose", convTranspose, convTranspose,
       "auto_pad=SAME_UPPER|SAME_LOWER|VALID|NOTSET dilations group "
       "kernel_shape output_padding output_shape pads strides"},
      {"Col2Im", columnsToImage, columnsToImage, "dilations pads strides"},
      {"SpaceToDepth", blocks<true>, spaceToDepth, "blocksize mode=DCR|CRD"},
      {"DepthToSpace", blocks<false>, depthToSpace, "blocksize mode=DCR|CRD"},
  };
  return operators;
}
