// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `select` is told where a program does not fit at first.

#ifndef COMPILER_ATTEMPTS_H
#define COMPILER_ATTEMPTS_H

#include "compiler/Pipeline.h"
#include "compiler/PlacementFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace wsec {

/// What `select` is told, beside what the user asked for.
struct Attempt {
  std::string region; ///< "WxH"; empty: chosen
  /// Regions in a row of the mesh, of two parts side by side, of three, and so
  /// on. Zeros: one region for all.
  llvm::SmallVector<int64_t> abreast;
  bool littleScratch = false, fewColors = false;
  bool keepWeights = false, spreadCode = false;
  int64_t stages = 1, stageRows = 1, code = 0;
  bool clearRows = false; ///< no keep-out lies in a row of stages
};

/// How much code there is, and so how much room for scratch, is known only once
/// kernels are selected and scheduled, and how many colors there are once they
/// are routed. Where there is too little, kernels are selected once more: with
/// room for as much code as there turned out to be, in rows of stages that no
/// keep-out lies in, in one row, in fewer stages, without resident weights,
/// with fewer regions that share rows of the mesh, or all on one region, then
/// in variants with fewer streams, also of stages on one region, on fewer rows,
/// over which fewer kernels share out their tokens in a way of their own, or
/// without weights that stay in SRAM while they are used; at last on as few
/// regions as have room for the code of their own kernels.
class Attempts {
public:
  Attempts(const CompileOptions &options, mlir::MLIRContext &context);

  /// Begins with what a placement was selected with.
  void start(const PlacementFile::Selection &selection);

  /// Runs `phases`, which change `module`, until they succeed or nothing is
  /// left to try; then says what they said.
  llvm::LogicalResult run(mlir::OwningOpRef<mlir::ModuleOp> &module,
                          llvm::function_ref<llvm::LogicalResult()> phases);

  Attempt now;
  std::vector<std::string> notes; ///< what was asked for and is not there

private:
  struct Outcome {
    bool sram = false, colors = false; ///< there were too few
    bool place = false, paths = false; ///< there were none
    std::vector<mlir::Diagnostic> said;
    std::string overflow; ///< the first that says so
    int64_t code = 0;     ///< bytes, where it found no room
    int64_t parts = 0;    ///< regions
  };
  bool change(mlir::ModuleOp module, Outcome &outcome);
  bool intoOtherRows(mlir::ModuleOp module, const std::string &why);
  bool changeRegions(mlir::ModuleOp module, Outcome &outcome);
  bool spread(mlir::ModuleOp module, Outcome &outcome);

  const CompileOptions &options;
  mlir::MLIRContext &context;
  /// What is said where nothing helps: of an attempt before others.
  std::vector<mlir::Diagnostic> first;
  int64_t codeOfOne = 0; ///< of the program on one region, with `spreadCode`
};

} // namespace wsec

#endif // COMPILER_ATTEMPTS_H
