// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phase 1: an .onnx file becomes a module of the onnx dialect.
#ifndef COMPILER_IMPORT_IMPORTMODEL_H
#define COMPILER_IMPORT_IMPORTMODEL_H

#include "compiler/import/AdapterOptions.h"
#include "compiler/import/BoundInput.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/files/WeightFolders.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace wsec {

/// An entry of the program: the model with some of its symbolic dimensions
/// bound (`--entry decode:sequence=1`).
struct EntryOptions {
  std::string name;
  llvm::SmallVector<std::pair<std::string, int64_t>> dims;
};

/// What a symbolic dimension may be in a call (`--dim sequence=1..128`).
struct LengthRange {
  std::string dim;
  int64_t from, to;
};

struct ImportOptions {
  /// Input -> shape (`--shape input_ids=1x128`).
  llvm::SmallVector<std::pair<std::string, llvm::SmallVector<int64_t>>> shapes;
  /// Symbolic dimension -> extent (`--dim batch=1`).
  llvm::SmallVector<std::pair<std::string, int64_t>> dims;
  /// One of them, which each call chooses.
  std::optional<LengthRange> length;
  /// Entries besides each other, over the same parameters and states; none:
  /// one, `main`. Of several, inputs and outputs have the entry's name before
  /// their own: decode.input_ids.
  std::vector<EntryOptions> entries;
  /// Inputs that are what the call before has left as that output
  /// (`--state past=present`), and whether pairs whose names say so are, too
  /// (`--states`).
  std::vector<std::pair<std::string, std::string>> states;
  bool statesByName = false;
  /// Whether the host may give what a sequence begins with, in an entry `begin`
  /// (`--initial-states`).
  bool initialStates = false;
  /// Whether sequences of a batch may go on from others, by an entry `reorder`
  /// (`--reorder-states`).
  bool reorderStates = false;
  /// So many entries are added to those of the model.
  size_t addedEntries() const { return size_t(initialStates) + reorderStates; }
  /// How many tokens the states hold of a model that takes what calls before
  /// have left at the length it has (`--kv-capacity=512`). The entries are
  /// calls that find less than that, from their `position` on.
  std::optional<int64_t> kvCapacity;
  /// Elements of the keys and values that states hold: f16, bf16, cb16 or int8;
  /// empty: those of activations.
  std::string kvPrecision;
  /// Inputs that are constants (`--bind axes=[1,2]`, `--bind k=k.npy`).
  std::vector<BoundInput> bindings;
  /// Large tensors may lie in files that do not exist
  /// (`--allow-absent-weights`).
  bool allowAbsentWeights = false;
  /// Initializers whose names match one of the first, and none of the second,
  /// train (`--train=GLOB`, `--freeze=GLOB`).
  std::vector<std::string> train, freeze;
  /// Beside weights (`--lora=rank=8,alpha=16,targets=GLOB`). Of what may train
  /// these do then, and what --train names.
  std::optional<AdapterOptions> adapters;
  /// Where external data may lie: the model's folder, and those the user named.
  runtime::WeightFolders weightFolders;
};

/// Reads a model. The module holds an onnx.parameter for each initializer that
/// could train, and onnx.constant, onnx.none and onnx.node only; weights stay
/// in their files. Null after errors, which name the ONNX nodes and tensors
/// concerned.
mlir::OwningOpRef<mlir::ModuleOp> importModel(llvm::StringRef path,
                                              const ImportOptions &options,
                                              mlir::MLIRContext *context);

} // namespace wsec

#endif // COMPILER_IMPORT_IMPORTMODEL_H
