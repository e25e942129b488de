// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_INFER_QUANTIZATION_H
#define COMPILER_INFER_QUANTIZATION_H

#include "compiler/infer/Legalization.h"

namespace wsec::infer {

/// (values - zeros) * scales, of as many dimensions, as f32 that is kept as it
/// is quantised where values have 4 or 8 bits.
mlir::Value quantized(Legalization &n, const Tensor &values,
                      const Tensor &scales, const std::optional<Tensor> &zeros,
                      int64_t block);

} // namespace wsec::infer

#endif // COMPILER_INFER_QUANTIZATION_H
