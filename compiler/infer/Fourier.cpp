// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Discrete Fourier transforms, as products with a constant matrix. The parts of
// a complex number are the last axis; of the transformed axis and that one the
// matrix has a row for each element that comes in, a column for each that goes
// out:
//
//   [.., n, c] -> [.., n * c] x [n * c, m * d] -> [.., m, d]
#include "compiler/infer/Operators.h"
#include <cmath>

using namespace wsec::infer;

/// Elements of the matrix at most.
static constexpr int64_t mostMatrixElements = int64_t(1) << 28;

namespace {
/// What a node says, in numbers.
struct Transform {
  int64_t axis = 0;   ///< from the front
  int64_t in = 0;     ///< elements along it
  int64_t parts = 0;  ///< of each: 2 if it is complex
  int64_t length = 0; ///< of the transform
  bool inverse = false, onesided = false;

  bool toReal() const { return inverse && onesided; }
  int64_t half() const { return length / 2 + 1; }
  /// Elements that it reads; there may be fewer.
  int64_t used() const { return std::min(in, toReal() ? half() : length); }
  int64_t out() const { return onesided && !inverse ? half() : length; }
  int64_t outParts() const { return toReal() ? 1 : 2; }
  int64_t rows() const { return in * parts; }
  int64_t columns() const { return out() * outParts(); }
};
} // namespace

static std::optional<Transform> transformOf(Node &node) {
  const Fact &x = node.input(0);
  const auto rank = int64_t(x.rank());
  Transform result;
  auto refused = [&](const Twine &why) { return node.fail(why); };
  if (rank < 2 || x.shape.back() < 1 || x.shape.back() > 2)
    return refused("its input " + printShape(x.shape) +
                   " does not end in the 1 or 2 parts of a number");
  result.inverse = node.intAttr("inverse");
  result.onesided = node.intAttr("onesided");
  // An attribute before opset 20, and of another default.
  int64_t axis = node.version() < 20 ? node.intAttr("axis") : -2;
  if (node.has(2)) {
    std::optional<int64_t> stated = node.oneInt(2, "axis");
    if (!stated)
      return std::nullopt;
    axis = *stated;
  }
  if (axis < -rank || axis == -1 || axis >= rank - 1)
    return refused("axis " + Twine(axis) + " is none of the signal's of rank " +
                   Twine(rank));
  result.axis = axis < 0 ? axis + rank : axis;
  result.in = x.shape[result.axis];
  result.parts = x.shape.back();
  result.length = result.toReal() ? 2 * (result.in - 1) : result.in;
  if (node.has(1)) {
    std::optional<int64_t> stated = node.oneInt(1, "dft_length");
    if (!stated)
      return std::nullopt;
    result.length = *stated;
  }
  if (result.length < 1)
    return refused("transforms " + Twine(result.length) + " elements");
  if (result.onesided && (result.parts == 1) == result.inverse)
    return refused(result.inverse ? "is one-sided, and inverse of real numbers"
                                  : "is one-sided, of complex numbers");
  // No product of these leaves 64 bits.
  if (result.in >= mostMatrixElements || result.length >= mostMatrixElements ||
      result.rows() * result.columns() > mostMatrixElements)
    return refused("transforms " + Twine(result.in) + " elements to " +
                   Twine(result.out()) + ", by a matrix of more than " +
                   Twine(mostMatrixElements) +
                   " elements; transform parts of the signal");
  return result;
}

static bool dft(Node &node) {
  std::optional<Transform> transform = transformOf(node);
  if (!transform)
    return false;
  Shape shape = node.input(0).shape;
  shape[transform->axis] = transform->out();
  shape.back() = transform->outParts();
  return node.setOutput(unknown(node.input(0).type, shape));
}

/// The matrix. An element `from` is turned by the angle of `from` times `to`.
static Tensor matrixOf(const Transform &t) {
  const int64_t columns = t.columns();
  Tensor matrix(ElementType::Float32, {t.rows(), columns});
  for (int64_t from = 0; from < t.used(); ++from)
    for (int64_t to = 0; to < t.out(); ++to) {
      const double turns = double(from * to % t.length) / double(t.length);
      const double angle = (t.inverse ? 2 : -2) * M_PI * turns;
      double size = t.inverse ? 1 / double(t.length) : 1;
      // What a one-sided spectrum leaves out is its mirror image.
      if (t.toReal() && from != 0 && 2 * from != t.length)
        size *= 2;
      const double cosine = size * std::cos(angle);
      const double sine = size * std::sin(angle);
      auto put = [&](int64_t part, int64_t outPart, double value) {
        matrix.setFloat((from * t.parts + part) * columns + to * t.outParts() +
                            outPart,
                        value);
      };
      // (a + bi) (cosine + sine i)
      put(0, 0, cosine);
      if (t.outParts() == 2)
        put(0, 1, sine);
      if (t.parts == 2)
        put(1, 0, -sine);
      if (t.parts == 2 && t.outParts() == 2)
        put(1, 1, cosine);
    }
  return matrix;
}

static bool dft(Legalization &n) {
  const Transform t = *transformOf(n.node());
  const Shape shape(shapeOf(n.input(0)));
  const auto rank = int64_t(shape.size());
  // The axis beside the parts, and back.
  Shape perm(rank);
  for (int64_t d = 0; d < rank; ++d)
    perm[d] = d < t.axis || d == rank - 1 ? d : d + 1;
  perm[rank - 2] = t.axis;
  Shape back(rank);
  for (int64_t d = 0; d < rank; ++d)
    back[perm[d]] = d;
  const bool moves = t.axis != rank - 2;
  Value x = moves ? n.transpose(n.input(0), perm) : n.input(0);
  Value matrix = n.constant(Fact::ofTensor(matrixOf(t)));
  if (!matrix)
    return false;
  Shape outer(ArrayRef<int64_t>(shapeOf(x)).drop_back(2));
  Shape flat = outer;
  flat.push_back(t.rows());
  Value y = n.matmul(n.reshape(x, flat), matrix, nullptr);
  outer.append({t.out(), t.outParts()});
  y = n.reshape(y, outer);
  return n.replace(moves ? n.transpose(y, back) : y);
}

llvm::ArrayRef<Operator> wsec::infer::fourierOperators() {
  static const Operator operators[] = {
      {"DFT", dft, dft, "axis inverse onesided"},
  };
  return operators;
}
