// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_TRAININGPROGRAM_H
#define TOOLS_WSEC_TRAININGPROGRAM_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wsec::tools {

/// The digest of the bytes of a file, as 16 hexadecimal digits.
std::string digestOfFile(const std::string &path);

/// A program that trains a model: its forward pass, a loss, and gradients of
/// what trains.
struct TrainingProgram {
  std::string model; ///< .onnx, or .mlir
  /// Files that it has weights in, besides its own.
  std::vector<std::string> weightFiles;
  std::string machine, mesh, precision = "f32";
  int64_t precisionLevel = 0; ///< what is summed in 16 bits
  /// The shapes of the inputs that are bound, by name.
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  bool takesTokens = false; ///< sequences, as long as --sequence says
  std::string loss = "cross-entropy", logits, targets = "targets";
  std::string reduction = "mean"; ///< of the loss of a call, or sum
  double labelSmoothing = 0;
  std::vector<std::string> train = {"*"}, freeze; ///< globs
  std::string lora;  ///< adapters (--lora); empty: none
  uint64_t seed = 0; ///< of their first values
  /// The share that is 0 of the weights of some products (--sparsity).
  double sparsity = 0;
  std::vector<std::string> sparsityFilter; ///< globs; empty: the usual names
  std::string sparsityRule;                ///< how masks change in a run
  std::string plan; ///< what of it is not chosen (--training-plan)
  bool allowsAbsentWeights = false;

  /// All of this and the compiler itself, as 16 hexadecimal digits: equal ones
  /// give equal programs.
  std::string digest() const;
  /// The digest of what a run may not change when it goes on: the contents of
  /// the model, the loss, the precision, and what trains.
  uint64_t modelDigest() const;

private:
  std::string sums() const;
  std::string adapters() const;
  std::string sparse() const;
};

/// What is wrong with a value of --lora; empty: nothing. In
/// CompileTraining.cpp.
std::string problemOfAdapters(const std::string &lora);

/// What is wrong with a level of a precision; empty: nothing. In
/// CompileTraining.cpp.
std::string problemOfPrecisionLevel(const TrainingProgram &training);

/// What is wrong with a value of --training-plan; empty: nothing. In
/// CompileTraining.cpp.
std::string problemOfPlan(const std::string &plan);

/// Compiles it to `program`, and writes what the compiler reports; without
/// `program` it is only looked at whether there is a kernel for each operator.
/// Where it fails, whether the wafer lacks room for it, and errors, which are
/// printed otherwise.
/// False: it has failed. In CompileTraining.cpp, where MLIR is.
bool compileTraining(const TrainingProgram &training,
                     const std::string &program, const std::string &report,
                     bool isQuiet, bool *lacksRoom = nullptr,
                     std::string *errors = nullptr);

/// Where programs are kept that were compiled before:
/// $XDG_CACHE_HOME/wsec/programs, or ~/.cache/wsec/programs.
std::string programCache();

/// A program in a folder, compiled unless it is there.
struct CachedProgram {
  std::string program, report;
  bool wasThere = false;
};
/// Throws std::runtime_error after errors of the compiler.
CachedProgram findOrCompile(const TrainingProgram &training,
                            const std::string &folder, bool isQuiet);
/// What trains, and why the rest does not, as the compiler has said of it.
std::vector<std::string> notesOf(const CachedProgram &compiled);
/// Names that modules give its parameters (compiler/import/ModuleNames.h).
std::map<std::string, std::string> moduleNamesOf(const CachedProgram &compiled);
/// The cycles of a call that are predicted of it; nothing if it has no room.
std::optional<double> cyclesOfCall(const TrainingProgram &training,
                                   const std::string &folder);

} // namespace wsec::tools

#endif // TOOLS_WSEC_TRAININGPROGRAM_H
