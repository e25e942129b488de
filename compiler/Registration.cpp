// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Registration.h"
#include "dialects/onnx/Onnx.h"
#if __has_include("dialects/wse/Wse.h")
#include "dialects/wse/Wse.h"
#endif
#if __has_include("dialects/pe/Pe.h")
#include "dialects/pe/Pe.h"
#endif
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/Passes.h"

void wsec::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, onnx::OnnxDialect>();
#if __has_include("dialects/wse/Wse.h")
  registry.insert<wse::WseDialect>();
#endif
#if __has_include("dialects/pe/Pe.h")
  registry.insert<pe::PeDialect>();
#endif
}

void wsec::registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
}
