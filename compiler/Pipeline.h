// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler from end to end: what `wsec` does.
#ifndef COMPILER_PIPELINE_H
#define COMPILER_PIPELINE_H

#include "compiler/ProgramViewer.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/import/ImportModel.h"
#include "compiler/select/Passes.h"
#include "llvm/Support/LogicalResult.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace wsec {

/// In the order they run; the folders of compiler/ are called the same.
enum class Phase {
  Import,
  Infer,
  Canonicalize,
  Differentiate,
  Select,
  Place,
  Route,
  Schedule,
  Lower,
  Emit
};

llvm::StringRef phaseName(Phase phase);
std::optional<Phase> findPhase(llvm::StringRef name);
/// The first that a module has not been through; none if it is neither a model
/// nor a program.
std::optional<Phase> firstPhaseOf(mlir::ModuleOp module);

/// How a model uses the wafer: see compiler/select/regions.md.
enum class Mode { Stream, Resident, Auto };

/// What is made of a model that is to be trained; without a loss it is not.
struct TrainingOptions : differentiate::DifferentiateOptions {
  TrainingOptions() { loss.clear(); }
};

struct CompileOptions {
  /// A model (.onnx), or IR of any level (.mlir).
  std::string input;
  /// The .wafer file, or IR if the compiler stops before `emit`: then empty
  /// means standard output.
  std::string output;
  ImportOptions import;
  /// A preset or a JSON file, and a sub-rectangle of its mesh "WxH". Empty:
  /// wse2, all of it. Must be empty for IR that has chosen its machine.
  std::string machine, mesh;
  /// Rectangles of PEs that nothing may use, "x,y,WxH".
  std::vector<std::string> keepOuts;
  /// Columns x rows of the region that kernels run on; empty: chosen by cost.
  std::string region;
  /// A node of the model whose kernels are to be explained, on standard output.
  std::string explain;
  /// A placement as JSON: its regions are taken, in shape and place.
  std::string placement;
  Mode mode = Mode::Stream;
  /// Samples that a pipeline is planned for; 0: many.
  int64_t samples = 0;
  /// Elements of activations and of weights that stream: f32, f16, bf16 or
  /// cb16.
  std::string precision = "f32";
  /// What of 16 bits is summed in as many (compiler/kernels/precision.md).
  int64_t precisionLevel = 0;
  /// Compute what the model states in f64 in f32.
  bool allowF64AsF32 = false;
  /// Let quantised weights travel as f32.
  bool expandWeights = false;
  TrainingOptions training;
  /// What of its plan is not chosen, as plan::TrainingPlan has it as text.
  std::string trainingPlan;
  /// Which weights of products count as zero.
  select::MarkSparsePassOptions sparse;
  /// Parameters of a pe.program that are not to have their defaults.
  std::map<std::string, int64_t> parameters;
  /// The last phase to run.
  Phase stopAfter = Phase::Emit;
  /// Whether to write the IR when the compiler stops before `emit`.
  bool printsIR = true;
  /// Whether IR has the elements of large constants, so that it can be read
  /// back.
  bool printsConstants = false;
  /// Draws the placement; null: nobody does.
  std::shared_ptr<ProgramViewer> viewer;
  bool bundle = false;
  /// Where weight files may lie, besides the folder of the input.
  std::vector<std::string> weightFolders;
  /// A pass that crashes or fails leaves the IR and its pipeline here.
  std::string reproducer;
  /// The compile report as JSON.
  std::string report;
  /// Says nothing but errors.
  bool quiet = false;
  /// Gets a line before each plan, and an empty one behind the last; or null.
  std::function<void(const std::string &)> progress;
  /// Where errors are printed; null: standard error.
  llvm::raw_ostream *errors = nullptr;
  /// Set where a model that fails has no room on the wafer, so that fewer
  /// tokens may have; null: nobody asks.
  bool *lacksRoom = nullptr;
};

/// Runs the phases. On failure errors have been printed, no file is left
/// behind and an old output is left alone.
llvm::LogicalResult compile(const CompileOptions &options);

} // namespace wsec

#endif // COMPILER_PIPELINE_H
