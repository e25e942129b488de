// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DIALECTS_ONNX_RANDOMOPERATORS_H
#define DIALECTS_ONNX_RANDOMOPERATORS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace wsec::onnx {

/// Whether an operator of the default domain draws its result at random.
inline bool isRandomOperator(llvm::StringRef name) {
  return llvm::is_contained({"Bernoulli", "Multinomial", "RandomNormal",
                             "RandomNormalLike", "RandomUniform",
                             "RandomUniformLike"},
                            name);
}

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_RANDOMOPERATORS_H
