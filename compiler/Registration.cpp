// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Registration.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/infer/Passes.h"
#include "compiler/lower/Passes.h"
#include "compiler/place/Passes.h"
#include "compiler/raise/Passes.h"
#include "compiler/route/Passes.h"
#include "compiler/schedule/Passes.h"
#include "compiler/select/Passes.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/pe/Pe.h"
#include "dialects/wse/Wse.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/Passes.h"

void wsec::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, onnx::OnnxDialect, wse::WseDialect,
                  pe::PeDialect>();
  // What torch-mlir writes.
  registry.insert<mlir::cf::ControlFlowDialect, mlir::linalg::LinalgDialect,
                  mlir::tensor::TensorDialect,
                  mlir::ml_program::MLProgramDialect>();
  differentiate::registerGradients(registry);
}

void wsec::registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  raise::registerRaisePasses();
  infer::registerInferPipeline();
  canonicalize::registerCanonicalizePipeline();
  differentiate::registerDifferentiatePasses();
  select::registerSelectPipeline();
  place::registerPlacePipeline();
  route::registerRoutePipeline();
  schedule::registerSchedulePipeline();
  lower::registerLowerPipeline();
}
