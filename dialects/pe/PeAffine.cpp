// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From structs to attributes and back. Attributes cannot hold values, so they
// number the operands of the op they belong to.

#include "dialects/pe/Pe.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace wsec::pe {

Affine Affine::operator*(int64_t scale) const {
  Affine result = *this;
  result.constant *= scale;
  for (auto &term : result.terms)
    term.second *= scale;
  return result;
}

Affine Affine::operator+(const Affine &other) const {
  Affine result = *this;
  result.constant += other.constant;
  result.terms.append(other.terms);
  return result;
}

Operand Operand::memory(StringRef buffer, Affine offset,
                        ArrayRef<int64_t> strides) {
  Operand operand;
  operand.kind = Kind::Memory;
  operand.buffer = buffer.str();
  operand.offset = std::move(offset);
  operand.strides.assign(strides.begin(), strides.end());
  return operand;
}

Operand Operand::fabric(Affine color, unsigned depth) {
  Operand operand;
  operand.kind = Kind::Fabric;
  operand.color = std::move(color);
  operand.depth = depth;
  return operand;
}

Operand Operand::immediate(float value) {
  Operand operand;
  operand.kind = Kind::Immediate;
  operand.value = value;
  return operand;
}

Operand Operand::windowed(Affine offset, Affine total) const {
  Operand operand = *this;
  operand.window.emplace(std::move(offset), std::move(total));
  return operand;
}

// Constants among the terms are added up, equal values combined and zeros
// dropped, so that equal code has equal attributes.
AffineAttr AffineEncoder::encode(const Affine &affine) {
  int64_t constant = affine.constant;
  SmallVector<int64_t> numbers, scales;
  for (auto [value, scale] : affine.terms) {
    if (auto known = value.getDefiningOp<ConstantOp>()) {
      constant += scale * known.getValue();
      continue;
    }
    if (scale == 0)
      continue;
    const auto *place = llvm::find(values, value);
    int64_t number = place - values.begin();
    if (place == values.end())
      values.push_back(value);
    const auto *seen = llvm::find(numbers, number);
    if (seen != numbers.end()) {
      scales[seen - numbers.begin()] += scale;
      continue;
    }
    numbers.push_back(number);
    scales.push_back(scale);
  }
  return AffineAttr::get(context, constant, numbers, scales);
}

ArrayAttr AffineEncoder::encode(ArrayRef<Affine> affines) {
  SmallVector<Attribute> attributes;
  for (const Affine &affine : affines)
    attributes.push_back(encode(affine));
  return ArrayAttr::get(context, attributes);
}

Attribute AffineEncoder::encode(const Operand &operand) {
  switch (operand.kind) {
  case Operand::Kind::Memory:
    return MemoryAttr::get(context,
                           FlatSymbolRefAttr::get(context, operand.buffer),
                           encode(operand.offset), operand.strides);
  case Operand::Kind::Fabric: {
    AffineAttr color = encode(operand.color);
    AffineAttr offset, total;
    if (operand.window) {
      offset = encode(operand.window->first);
      total = encode(operand.window->second);
    }
    AffineAttr index = operand.index ? encode(*operand.index) : AffineAttr();
    return FabricAttr::get(context, color, operand.depth, offset, total,
                           operand.type, operand.pair, index);
  }
  case Operand::Kind::Immediate:
    return Builder(context).getF32FloatAttr(operand.value);
  }
  llvm_unreachable("all kinds are handled");
}

Affine decode(AffineAttr affine, ValueRange values) {
  Affine result(affine.getConstant());
  for (auto [number, scale] :
       llvm::zip_equal(affine.getValues(), affine.getScales()))
    result.terms.emplace_back(values[number], scale);
  return result;
}

Operand decode(Attribute attribute, ValueRange values) {
  if (auto memory = dyn_cast<MemoryAttr>(attribute))
    return Operand::memory(memory.getBuffer().getValue(),
                           decode(memory.getOffset(), values),
                           memory.getStrides());
  if (auto fabric = dyn_cast<FabricAttr>(attribute)) {
    Operand operand =
        Operand::fabric(decode(fabric.getColor(), values), fabric.getDepth());
    operand.type = fabric.getType();
    operand.pair = fabric.getPair();
    if (fabric.getIndex())
      operand.index = decode(fabric.getIndex(), values);
    if (!fabric.getWindowTotal())
      return operand;
    return operand.windowed(decode(fabric.getWindowOffset(), values),
                            decode(fabric.getWindowTotal(), values));
  }
  return Operand::immediate(
      cast<FloatAttr>(attribute).getValue().convertToFloat());
}

} // namespace wsec::pe
