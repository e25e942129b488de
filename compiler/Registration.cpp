// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Registration.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/infer/Passes.h"
#include "compiler/lower/Passes.h"
#include "compiler/place/Passes.h"
#include "compiler/route/Passes.h"
#include "compiler/schedule/Passes.h"
#include "compiler/select/Passes.h"
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
  infer::registerInferPipeline();
  canonicalize::registerCanonicalizePipeline();
  select::registerSelectPipeline();
  place::registerPlacePipeline();
  route::registerRoutePipeline();
  schedule::registerSchedulePipeline();
  lower::registerLowerPipeline();
}
