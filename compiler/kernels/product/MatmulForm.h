// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMPILER_KERNELS_PRODUCT_MATMULFORM_H
#define COMPILER_KERNELS_PRODUCT_MATMULFORM_H

#include "dialects/wse/Wse.h"

namespace wsec {

/// A product as it is asked about: in a variant, and for an input that lies in
/// a way, which need not be those that it has. Made of an operation it is that.
class MatmulForm {
public:
  /// Variants that stream words of f32; as many follow with packed ones.
  static constexpr int unpacked = int(wse::getMaxEnumValForMatmulVariant()) + 1;

  // NOLINTNEXTLINE(google-explicit-constructor): it is that product.
  MatmulForm(wse::MatmulOp op) : MatmulForm(op, {}) {
    variant = op.getVariant();
    packed = op.getPacked();
  }
  /// In the variant of that number, for its own input where there is no other.
  MatmulForm(wse::MatmulOp op, int number, mlir::Type other = {})
      : MatmulForm(op, other) {
    variant = wse::MatmulVariant(number % unpacked);
    packed = number >= unpacked;
  }
  /// One of several.
  MatmulForm(wse::ProductsOp op, unsigned number)
      : op(op), input(op.getInput().getType()), result(op.getResult(number)),
        weight(llvm::cast<wse::WeightAttr>(op.getWeights()[number])),
        variant(wse::MatmulVariant::Stationary) {}

  int number() const { return int(variant) + (packed ? unpacked : 0); }
  wse::MatmulVariant getVariant() const { return variant; }
  bool getPacked() const { return packed; }
  bool isStationary() const {
    return variant == wse::MatmulVariant::Stationary;
  }
  mlir::Value getInput() const { return op->getOperand(0); }
  /// The type that its input is taken to have.
  mlir::RankedTensorType inputType() const {
    return llvm::cast<mlir::RankedTensorType>(input);
  }
  mlir::RankedTensorType resultType() const {
    return llvm::cast<mlir::RankedTensorType>(getResult().getType());
  }
  /// The type of the result in a row, where it lies along the rows.
  mlir::RankedTensorType rowResultType() const {
    const mlir::RankedTensorType type = resultType();
    if (!wse::liesAlongRows(type))
      return type;
    return wse::TokenTiling(1, 1).type(wse::TokenTiling::of(type).getTokens(),
                                       type.getElementType());
  }
  mlir::Value getResult() const { return result; }
  wse::WeightAttr getWeight() const { return weight; }
  std::optional<wse::WeightAttr> getBias() const { return bias; }
  wse::EntryAttr getEntry() const { return entry; }
  /// Whether each of several tokens has an entry of its own.
  bool hasEntries() const {
    return entry && wse::TokenTiling::of(resultType()).getBatch() *
                            wse::TokenTiling::of(resultType()).getTokens() >
                        1;
  }
  /// The parameter that its weight is, or all its entries are, if that stays on
  /// the wafer.
  wse::ParameterOp residentWeight() const {
    return wse::residentOf(op, weight);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): whose constants are asked for.
  operator mlir::Operation *() const { return op; }

private:
  MatmulForm(wse::MatmulOp op, mlir::Type other)
      : op(op), input(other ? other : mlir::Type(op.getInput().getType())),
        result(op.getResult()), weight(op.getWeight()),
        entry(op.getEntryAttr()) {
    if (std::optional<wse::WeightAttr> its = op.getBias())
      bias = *its;
  }

  mlir::Operation *op;
  mlir::Type input;
  mlir::Value result;
  wse::WeightAttr weight;
  std::optional<wse::WeightAttr> bias;
  wse::EntryAttr entry;
  wse::MatmulVariant variant = {};
  bool packed = false;
};

} // namespace wsec

#endif // COMPILER_KERNELS_PRODUCT_MATMULFORM_H
