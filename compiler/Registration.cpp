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

/// A pipeline without options.
static void registerPhase(llvm::StringRef name, llvm::StringRef text,
                          void (*build)(mlir::OpPassManager &)) {
  mlir::PassPipelineRegistration<>(name, text, build);
}

void wsec::registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  raise::registerRaisePasses();
  infer::registerInferPasses();
  canonicalize::registerCanonicalizePasses();
  differentiate::registerDifferentiatePasses();
  select::registerSelectPipeline();
  place::registerPlacePasses();
  route::registerRoutePasses();
  schedule::registerSchedulePasses();
  lower::registerLowerPasses();
  mlir::PassPipelineRegistration<infer::InferPipelineOptions>(
      "wsec-infer", "Finds shapes, types and constants, and names operators.",
      infer::buildInferPipeline);
  registerPhase("wsec-canonicalize",
                "Brings a model to the operators that have kernels.",
                [](auto &pm) { canonicalize::buildCanonicalizePipeline(pm); });
  registerPhase("wsec-place", "Places the kernels: selected -> placed.",
                [](auto &pm) { place::buildPlacePipeline(pm); });
  registerPhase("wsec-route", "Routes the streams: placed -> routed.",
                [](auto &pm) { route::buildRoutePipeline(pm); });
  registerPhase("wsec-schedule", "Schedules the launches: routed -> scheduled.",
                [](auto &pm) { schedule::buildSchedulePipeline(pm); });
  registerPhase(
      "wsec-lower", "Writes the code of the PEs: scheduled wse -> pe.",
      [](auto &pm) { pm.addPass(lower::createConvertWseToPePass()); });
}
