// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of operators, and those that the store adds to parameters.
#include "dialects/StridedRange.h"
#include "dialects/onnx/OnnxVerify.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::onnx;

SmallVector<int64_t> GradientOp::getViewStrides() {
  if (std::optional<ArrayRef<int64_t>> strides = getStrides())
    return llvm::to_vector(*strides);
  return denseStrides(shapeOf(getValue()));
}

/// Holds if no two indices of `shape` name one element: each stride is beyond
/// all that those below it reach.
static bool namesEachOnce(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  SmallVector<std::pair<int64_t, int64_t>> steps;
  for (auto [extent, stride] : llvm::zip_equal(shape, strides))
    if (extent > 1)
      steps.emplace_back(std::abs(stride), extent);
  llvm::sort(steps);
  int64_t reached = 0;
  for (auto [stride, extent] : steps) {
    if (stride <= reached)
      return false;
    reached += stride * (extent - 1);
  }
  return true;
}

LogicalResult GradientOp::verify() {
  auto type = cast<RankedTensorType>(getValue().getType());
  if (!type.getElementType().isF32() || !type.hasStaticShape()) // C1
    return emitOpError() << "adds " << type << ", expected f32";
  if (!hasView())
    return getOffset() ? emitOpError("has an offset but no strides")
                       : success();
  if (getRows()) // C4
    return emitOpError("has rows and a view, expected one of them");
  if (getStrides()->size() != size_t(type.getRank())) // C3
    return emitOpError() << "has " << getStrides()->size()
                         << " strides for a value of rank " << type.getRank();
  if (!touchedElements(type.getShape(), getViewOffset(), *getStrides()))
    return emitOpError("view touches elements that cannot be counted"); // C3
  if (!namesEachOnce(type.getShape(), *getStrides()))                   // C3
    return emitOpError() << "names elements twice with strides ["
                         << *getStrides() << "] for " << type;
  return success();
}

LogicalResult GradientOp::verifySymbolUses(SymbolTableCollection &symbols) {
  ParameterOp parameter = parameterOf(*this, getParameterAttr(), symbols); // C1
  if (!parameter)
    return failure();
  if (!parameter.isTrainable()) // C1
    return withDeclaration(emitOpError() << getParameterAttr() << " is frozen",
                           parameter);
  RankedTensorType of = parameter.getTensorType();
  auto type = cast<RankedTensorType>(getValue().getType());
  if (Value rows = getRows()) { // C4
    Type ids = elementOf(rows);
    if (of.getRank() != 2 || !(ids.isInteger(32) || ids.isInteger(64)))
      return withDeclaration(emitOpError() << "cannot add to rows "
                                           << rows.getType() << " of " << of,
                             parameter);
    SmallVector<int64_t> shape(shapeOf(rows));
    shape.push_back(of.getDimSize(1));
    return expectType(*this, "value", getValue(), shape, type.getElementType());
  }
  if (!hasView()) {
    if (type.getNumElements() != of.getNumElements()) // C2
      return withDeclaration(
          emitOpError() << "adds " << type.getNumElements() << " elements to "
                        << of.getNumElements() << " of " << getParameterAttr(),
          parameter);
    return success();
  }
  auto [first, last] =
      *touchedElements(type.getShape(), getViewOffset(), *getStrides());
  if (type.getNumElements() > 0 &&
      (first < 0 || last >= of.getNumElements())) // C3
    return withDeclaration(emitOpError()
                               << "view touches elements " << first << " to "
                               << last << " of " << of.getNumElements()
                               << " of " << getParameterAttr(),
                           parameter);
  return success();
}

LogicalResult wsec::onnx::verifyGradientTerms(Operation *op, ArrayAttr terms,
                                              int64_t queries, int64_t keys) {
  for (auto term : terms.getAsRange<TermAttr>()) {
    const bool adds = term.getKind() == TermKind::Add;
    const bool replaces = term.getKind() == TermKind::Replace;
    if (terms.size() > 1 || !(adds || replaces) || term.getOperand() ||
        (replaces &&
         !(term.getLater().getValue().convertToDouble() <= mostOfUnseen)))
      return op->emitOpError("takes one term at most, which adds a number to "
                             "scores of later keys or replaces them by ")
             << mostOfUnseen << " or less, found " << terms;
  }
  return verifyTerms(op, terms, 0, queries, keys);
}

LogicalResult AttentionGradientOp::verify() {
  ArrayRef<int64_t> q = shapeOf(getQ()), k = shapeOf(getK()),
                    v = shapeOf(getV());
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 || q[0] != k[0] ||
      q[0] != v[0] || q[2] != k[2] || k[1] != v[1]) // C1
    return withMaker(
        emitOpError("needs q, k and v of rank 3 and equal batch, q and k of "
                    "equal features, k and v of equal tokens, found ")
            << getQ().getType() << ", " << getK().getType() << ", "
            << getV().getType(),
        getK());
  if (failed(verifyHeads(*this, "q", getQ(), getNumHeads())) ||
      failed(verifyHeads(*this, "v", getV(), getNumHeads()))) // C1
    return failure();
  if (failed(verifyGradientTerms(*this, getTerms(), q[1], k[1]))) // C2
    return failure();
  for (auto [name, value] : {std::pair("y", getY()), std::pair("dy", getDy())})
    if (failed(expectType(*this, name, value, {q[0], q[1], v[2]},
                          elementOf(getQ())))) // C1
      return failure();
  for (auto [name, gradient, of] :
       {std::tuple("dq", getDq(), getQ()), std::tuple("dk", getDk(), getK()),
        std::tuple("dv", getDv(), getV())})
    if (failed(expectType(*this, name, gradient, shapeOf(of),
                          elementOf(of)))) // C3
      return failure();
  return success();
}

LogicalResult NormGradientOp::verify() {
  if (failed(verifyFeatureVector(*this, "scale", getX(), getScale())))
    return failure(); // C1
  for (auto [name, value] : {std::pair("dy", getDy()), std::pair("dx", getDx()),
                             std::pair("normal", getNormal())})
    if (failed(expectType(*this, name, value, shapeOf(getX()),
                          elementOf(getX())))) // C2
      return failure();
  return success();
}
