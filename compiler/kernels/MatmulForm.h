// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMPILER_KERNELS_MATMULFORM_H
#define COMPILER_KERNELS_MATMULFORM_H

#include "dialects/wse/Wse.h"

namespace wsec {

/// A product as it is asked about: in a variant, and for an input that lies in
/// a way, which need not be those that it has. Made of an operation it is that.
class MatmulForm {
public:
  /// Variants that stream words of f32; as many follow with packed ones.
  static constexpr int unpacked = int(wse::getMaxEnumValForMatmulVariant()) + 1;

  // NOLINTNEXTLINE(google-explicit-constructor): it is that product.
  MatmulForm(wse::MatmulOp op)
      : op(op), variant(op.getVariant()), packed(op.getPacked()),
        input(op.getInput().getType()) {}
  /// In the variant of that number, for its own input where there is no other.
  MatmulForm(wse::MatmulOp op, int number, mlir::Type other = {})
      : op(op), variant(wse::MatmulVariant(number % unpacked)),
        packed(number >= unpacked),
        input(other ? other : mlir::Type(op.getInput().getType())) {}

  int number() const { return int(variant) + (packed ? unpacked : 0); }
  wse::MatmulVariant getVariant() const { return variant; }
  bool getPacked() const { return packed; }
  bool isStationary() const {
    return variant == wse::MatmulVariant::Stationary;
  }
  mlir::Value getInput() const { return wse::MatmulOp(op).getInput(); }
  /// The type that its input is taken to have.
  mlir::RankedTensorType inputType() const {
    return llvm::cast<mlir::RankedTensorType>(input);
  }
  mlir::RankedTensorType resultType() const {
    return llvm::cast<mlir::RankedTensorType>(getResult().getType());
  }
  mlir::Value getResult() const { return wse::MatmulOp(op).getResult(); }
  wse::WeightAttr getWeight() const { return wse::MatmulOp(op).getWeight(); }
  std::optional<wse::WeightAttr> getBias() const {
    return wse::MatmulOp(op).getBias();
  }
  wse::MatmulOp product() const { return op; }
  /// The parameter that its weight is, if that stays on the wafer. An entry is
  /// another one in each call, and does not.
  wse::ParameterOp residentWeight() const {
    return wse::MatmulOp(op).getEntry()
               ? wse::ParameterOp()
               : wse::residentOf(wse::MatmulOp(op), getWeight());
  }
  // NOLINTNEXTLINE(google-explicit-constructor): whose constants are asked for.
  operator mlir::Operation *() const { return wse::MatmulOp(op); }

private:
  wse::MatmulOp op;
  wse::MatmulVariant variant;
  bool packed;
  mlir::Type input;
};

} // namespace wsec

#endif // COMPILER_KERNELS_MATMULFORM_H
