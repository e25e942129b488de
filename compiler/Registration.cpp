// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Registration.h"
#ifdef WSEC_HAS_Lower
#include "compiler/lower/Passes.h"
#endif
#ifdef WSEC_HAS_Place
#include "compiler/place/Passes.h"
#endif
#ifdef WSEC_HAS_Route
#include "compiler/route/Passes.h"
#endif
#ifdef WSEC_HAS_Schedule
#include "compiler/schedule/Passes.h"
#endif
#ifdef WSEC_HAS_Select
#include "compiler/select/Passes.h"
#endif
#ifdef WSEC_HAS_Simplify
#include "compiler/simplify/Passes.h"
#endif
#include "dialects/onnx/Onnx.h"
#include "dialects/pe/Pe.h"
#include "dialects/wse/Wse.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/Passes.h"

void wsec::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, onnx::OnnxDialect, wse::WseDialect,
                  pe::PeDialect>();
}

void wsec::registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
#ifdef WSEC_HAS_Simplify
  simplify::registerSimplifyPipeline();
#endif
#ifdef WSEC_HAS_Select
  select::registerSelectPipeline();
#endif
#ifdef WSEC_HAS_Place
  place::registerPlacePipeline();
#endif
#ifdef WSEC_HAS_Route
  route::registerRoutePipeline();
#endif
#ifdef WSEC_HAS_Schedule
  schedule::registerSchedulePipeline();
#endif
#ifdef WSEC_HAS_Lower
  lower::registerLowerPipeline();
#endif
}
