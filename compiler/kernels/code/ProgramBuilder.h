// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the routines of a program share: ProgramBuilder holds the host's
// tensors, a ClassBuilder the scalars and buffers of one region.

#ifndef COMPILER_KERNELS_CODE_PROGRAMBUILDER_H
#define COMPILER_KERNELS_CODE_PROGRAMBUILDER_H

#include "compiler/kernels/Layout.h"
#include "compiler/kernels/code/MicrothreadDiscipline.h"
#include "compiler/kernels/code/ScalarBuilder.h"
#include "compiler/machine/Machine.h"
#include "dialects/pe/Pe.h"
#include "dialects/wse/Wse.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <memory>
#include <tuple>

namespace wsec {

/// A tensor of the host, as streams read it: element (i0, i1, ...) is element
/// `offset + sum(i[d] * strides[d])` of the pe.tensor `symbol`.
struct HostTensor {
  std::string symbol;
  int64_t offset = 0;
  llvm::SmallVector<int64_t, 4> strides;
  /// Which of many it is.
  pe::RowIndex index = {};
};

/// What all classes of one program share: the tensors of the host, and names.
class ProgramBuilder {
public:
  /// Starts the lowered form of `source` where `builder` is, with the inputs,
  /// outputs and intermediates of the host.
  ProgramBuilder(wse::ProgramOp source, int64_t launchColor,
                 mlir::OpBuilder &builder);

  pe::ProgramOp program;

  /// A symbol of the program that starts like `name` and is not taken yet.
  std::string freshSymbol(llvm::StringRef name);

  /// Whether a value can have this name: no input, output or value has it.
  bool nameValue(mlir::StringAttr name);
  /// The tensor of an input, intermediate or parameter, or its view.
  HostTensor source(mlir::Attribute source);
  /// The weight of these records, declared on first use.
  std::string declareSparse(pe::SparseAttr sparse);
  /// A constant with these elements, made and declared on first use of `key`.
  std::string
  declareConstant(mlir::Attribute key, mlir::StringAttr name,
                  llvm::function_ref<mlir::DenseElementsAttr()> elements);
  /// Declares the constants that outputs show as they are: after the classes,
  /// which need names of their own.
  void declareAliases(wse::ProgramOp source);

private:
  /// Declares the inputs and outputs under the names users bind them by. Comes
  /// before anything else that takes a symbol.
  void declareEnds(wse::ProgramOp source);
  std::string declareParameter(wse::ParameterOp parameter);
  void declareGradients(wse::ProgramOp source);

  /// By name. Looked up only.
  llvm::DenseMap<mlir::StringAttr, wse::ParameterOp> parameters;
  pe::TensorOp declareTensor(mlir::StringAttr name, pe::Role role,
                             mlir::Type type, pe::FileAttr file,
                             mlir::ElementsAttr value,
                             mlir::FlatSymbolRefAttr alias,
                             pe::SparseAttr sparse = {});

  /// Symbols of tensors that were declared on first use.
  llvm::DenseMap<mlir::Attribute, std::string> values, sparseWeights;
  llvm::DenseMap<mlir::StringAttr, std::string> declared; ///< parameters
  mlir::Operation *lastTensor = nullptr;
  llvm::DenseMap<mlir::StringAttr, pe::TensorOp> tensors; ///< looked up only
  llvm::StringMap<unsigned> symbols;
  llvm::DenseSet<mlir::StringAttr> valueNames; ///< looked up only
};

/// The PEs of one region: what their routines share.
class ClassBuilder {
public:
  /// Appends a class without code, the PEs of `region`, to the program.
  ClassBuilder(ProgramBuilder &shared, const Machine &region,
               mlir::StringAttr regionName);

  ProgramBuilder &shared;
  const Machine machine;
  const mlir::StringAttr regionName;
  pe::ClassOp peClass;
  ScalarBuilder scalars;

  /// The buffer of `bytes` bytes at `address`, declared on first use. Two with
  /// equal address, size and type are one, so that equal routines look equal.
  std::string buffer(llvm::StringRef name, int64_t address, int64_t bytes,
                     mlir::Type element, llvm::StringRef node,
                     bool persistent = false);
  /// The bytes of a buffer as elements of another type.
  std::string view(llvm::StringRef buffer, llvm::StringRef suffix,
                   llvm::StringRef node, mlir::Type element);
  /// The bytes of such a buffer in SRAM.
  InstructionUse::Range range(llvm::StringRef buffer) const {
    return ranges.lookup(buffer);
  }

private:
  /// By address, bytes, those of an element, and whether it is an integer.
  std::map<std::tuple<int64_t, int64_t, unsigned, bool>, std::string> buffers;
  llvm::StringMap<InstructionUse::Range> ranges;
  mlir::Operation *lastBuffer = nullptr;
};

/// The classes of a program, one for each of its regions.
class ClassSet {
public:
  ClassSet(ProgramBuilder &shared, wse::ProgramOp source);

  /// The classes that take part in a kernel: those of operands on other
  /// regions, then its own.
  llvm::SmallVector<ClassBuilder *> takingPart(wse::KernelOp kernel);
  llvm::ArrayRef<std::unique_ptr<ClassBuilder>> all() const { return classes; }

private:
  ClassBuilder *classOf(mlir::StringAttr region);

  std::vector<std::unique_ptr<ClassBuilder>> classes;
};

} // namespace wsec

#endif // COMPILER_KERNELS_CODE_PROGRAMBUILDER_H
