// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes leave on the module for the report, and the file does not have.
#ifndef COMPILER_MODULEREPORT_H
#define COMPILER_MODULEREPORT_H

#include "compiler/Report.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace wsec {

/// Shapes that were compared, attentions that were not recognized, and nodes of
/// f64 that compute in f32, which the caller allowed or the model is none of.
void addWhatPassesSay(mlir::ModuleOp module, bool allowF64AsF32,
                      Report &report);

/// Cycles that `select` predicted for the shape it chose for the only region;
/// none: it compared no shapes.
std::optional<double> cyclesOfBestShape(mlir::ModuleOp module);

/// Notes what of resident mode a program has not that was planned for so many
/// samples, 0: many.
void noteResidency(Report &report, int64_t samples);

} // namespace wsec

#endif // COMPILER_MODULEREPORT_H
