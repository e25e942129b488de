// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels write PE code with. ProgramBuilder holds the host's tensors, a
// ClassBuilder what the routines of one region share: its scalars and buffers.
// A RoutineBuilder writes the routine of one operation in one class.
//
// All PEs of a region run the same routine; they differ by scalars (how many
// features and channels are mine) and by guards. Microthreads have fixed jobs:
//
//   0  injectors relay the host's words from their channel to their column
//   1  rows: words are gathered in a chain to the end of the row and are
//   multicast from there 2  keys and sums of a batch group go north 3  values
//   of a batch group go north 4  words of the column go into a buffer 5  words
//   of a row's or group's multicast go into a buffer
//
// The builder awaits a microthread before it gives it more work, and before it
// touches what the microthread may still use.

#ifndef COMPILER_KERNELS_ROUTINEBUILDER_H
#define COMPILER_KERNELS_ROUTINEBUILDER_H

#include "compiler/kernels/Layout.h"
#include "compiler/kernels/MicrothreadDiscipline.h"
#include "compiler/kernels/ScalarBuilder.h"
#include "compiler/machine/Machine.h"
#include "dialects/pe/Pe.h"

#include "dialects/wse/Wse.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

#include <memory>
#include <tuple>

namespace wsec {

enum Thread : int {
  ColumnThread = 0,
  RowThread,
  KeyThread,
  ValueThread,
  FillThread,
  GatherThread
};

/// A tensor of the host, as streams read it: element (i0, i1, ...) is element
/// `offset + sum(i[d] * strides[d])` of the pe.tensor `symbol`.
struct HostTensor {
  std::string symbol;
  int64_t offset = 0;
  llvm::SmallVector<int64_t, 4> strides;
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
  /// The declared tensor of an input, or the constant of a #wse.weight.
  HostTensor source(mlir::Attribute source);
  /// The weight of these records, declared on first use.
  std::string declareSparse(pe::SparseAttr sparse);
  /// Declares the constants that outputs show as they are: after the classes,
  /// which need names of their own.
  void declareAliases(wse::ProgramOp source);

private:
  /// Declares the inputs and outputs under the names users bind them by. Comes
  /// before anything else that takes a symbol.
  void declareEnds(wse::ProgramOp source);
  std::string declareWeight(wse::WeightAttr weight);

  /// By name. Looked up only.
  llvm::DenseMap<mlir::StringAttr, wse::WeightAttr> parameters;
  pe::TensorOp declareTensor(mlir::StringAttr name, pe::Role role,
                             mlir::Type type, pe::FileAttr file,
                             mlir::ElementsAttr value,
                             mlir::FlatSymbolRefAttr alias,
                             pe::SparseAttr sparse = {});

  /// Symbols of constants that were declared, by their bytes.
  std::map<std::tuple<std::string, int64_t, int64_t, unsigned>, std::string>
      files;
  llvm::DenseMap<mlir::Attribute, std::string> values, sparseWeights;
  mlir::Operation *lastTensor = nullptr;
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
  /// The same words as 16-bit integers.
  std::string halvesOf(llvm::StringRef buffer, llvm::StringRef node);
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

/// One tensor in one PE, in scalars.
struct Tile {
  Layout layout;
  std::string buffer;
  int64_t pitch = 0;        // words between neighbouring features
  mlir::Value active;       // whether this row holds tokens
  mlir::Value sequences;    // batch elements of this row
  mlir::Value tokens;       // tokens of each
  mlir::Value channels;     // tokens in all
  mlir::Value firstToken;   // number of the first, counting all batch elements
  mlir::Value features;     // features of this column
  mlir::Value firstFeature; // number of the first
};

/// A dimension of a host tensor that a stream walks.
struct HostDim {
  int64_t size = 1;
  int64_t step = 0;
};

/// Words from the host to the columns: for each line, for each index of the
/// inner dimensions (at most two), each column gets the features it holds by
/// `features`.
///   element = offset + line * lines.step + sum(i[d] * inner[d].step)
///             + feature * featureStep (+ ids[line] * indexStep)
struct ColumnWords {
  std::string tensor;
  int64_t offset = 0;
  FeatureTiling features;
  HostDim lines = {};
  llvm::SmallVector<HostDim, 2> inner = {};
  int64_t featureStep = 1;
  std::string indexTensor = {};
  int64_t indexStep = 0;
  int64_t indexRows = 0;

  /// Words of a column per line and feature.
  int64_t innerSize() const;
};

class RoutineBuilder {
public:
  using Value = mlir::Value;
  using Operand = pe::Operand;
  using Affine = pe::Affine;

  /// Starts the routine `name` for the scheduled operation `op`.
  RoutineBuilder(ClassBuilder &shared, mlir::Operation *op,
                 llvm::StringRef name);

  /// Whether this is the code of the region of that name.
  bool isOn(wse::RegionOp region) const {
    return shared.regionName == region.getSymNameAttr();
  }

  const Machine &machine() const { return shared.machine; }
  int64_t width() const { return shared.machine.width; }
  int64_t height() const { return shared.machine.height; }
  ScalarBuilder &scalars() { return shared.scalars; }
  mlir::Operation *operation() { return op; }

  /// The tile of an operand or result of the operation.
  Tile tile(Value tensor);
  /// That of a resident parameter or a state of its region.
  Tile tile(wse::PersistentOp held);
  /// The scalars of a layout in any scalar scope, without a buffer.
  static Tile describe(ScalarBuilder &scalars, const Layout &layout);
  /// Whether the column is one of a unit's, where each has several.
  static Value inSomeUnit(ScalarBuilder &scalars, const FeatureTiling &tiling);
  /// Features of a column and number of the first, in any scalar scope.
  static Value featureCount(ScalarBuilder &scalars,
                            const FeatureTiling &tiling);
  static Value featureStart(ScalarBuilder &scalars,
                            const FeatureTiling &tiling);
  /// Features of all columns west of `column`.
  static Value featuresBefore(ScalarBuilder &scalars,
                              const FeatureTiling &tiling, Value column);
  /// Tokens of all rows north of `row`.
  static Value tokensBefore(ScalarBuilder &scalars, const Layout &layout,
                            Value row);

  /// The next `words` words of the operation's scratch memory, f32 if no type
  /// is given.
  std::string scratch(llvm::StringRef name, int64_t words,
                      mlir::Type element = {});
  /// A buffer's words as 16-bit integers, the first in a word's lower half.
  std::string halvesOf(llvm::StringRef buffer);

  //===------------------------------------------------------------------===//
  // Instructions
  //===------------------------------------------------------------------===//

  /// dst = opcode(sources) over `extents`, where the guards in force hold.
  void vector(pe::Opcode opcode, llvm::ArrayRef<Affine> extents,
              const Operand &dst, llvm::ArrayRef<Operand> sources,
              pe::Issue issue = {});
  /// sums += a * b over `extents`, operands in memory, with `inner` of the
  /// extents as the innermost.
  void multiplyAdd(llvm::ArrayRef<Affine> extents, size_t inner, Operand sums,
                   Operand a, Operand b);
  /// An integer of a buffer, for addresses in the body it is loaded in.
  Affine load(llvm::StringRef buffer, const Affine &offset);
  /// The same as `vector` on a microthread.
  void start(Thread thread, pe::Opcode opcode, llvm::ArrayRef<Affine> extents,
             const Operand &dst, llvm::ArrayRef<Operand> sources,
             Value guard = {});
  /// Waits until a microthread has done what it was given.
  void await(Thread thread) { awaitAll(1u << thread); }
  /// body(variable), `count` times. Nothing is emitted for a count known to be
  /// 0, and no loop for a count of 1 (the variable is then the scalar 0).
  void loop(Affine count, llvm::function_ref<void(Affine)> body);
  /// Everything `body` emits runs only where `guard` is not zero.
  void where(Value guard, llvm::function_ref<void()> body);

  //===------------------------------------------------------------------===//
  // Streams
  //===------------------------------------------------------------------===//

  /// The color of a stream the operation opens; of one with two colors, that
  /// of parity 0 or 1.
  int64_t color(wse::StreamPattern pattern, unsigned parity = 0);
  /// The color a PE of this parity (scalar 0 or 1) sends on.
  Affine parityColor(wse::StreamPattern pattern, Value parity);

  /// Streams words from the host into all columns: makes the host's segments
  /// and the heads' relay. Words arrive on columnWords() in this order. All
  /// have as many for each line and feature.
  void streamToColumns(llvm::ArrayRef<ColumnWords> words);
  /// The operand words of streamToColumns arrive on.
  Operand columnWords(unsigned depth);
  /// The same for vectors with one element per feature, each in one line; those
  /// that are resident stay where they are. The operands to read them with, in
  /// this order, over features and `inner` further extents.
  llvm::SmallVector<Operand, 0>
  bringVectors(llvm::ArrayRef<wse::WeightAttr> vectors,
               const FeatureTiling &features, unsigned inner = 1);
  /// Streams a segment from the host into all PEs of each row that has a
  /// channel, in the scalars of the stream; words arrive on channel_row.
  void streamToRows(llvm::function_ref<pe::Segment(ScalarBuilder &)> segment);
  /// Streams words to the host; `segment` says where they go, in the scalars
  /// of the stream.
  void streamToHost(llvm::function_ref<pe::Segment(ScalarBuilder &)> segment);
  HostTensor source(mlir::Attribute source) {
    return shared.shared.source(source);
  }
  std::string declareSparse(pe::SparseAttr sparse) {
    return shared.shared.declareSparse(sparse);
  }

  /// Waits for all microthreads in use.
  void finish() { awaitAll(discipline.threadsInUse()); }
  /// The host streams of the launch, by the pattern of their color.
  llvm::SmallVector<std::pair<wse::StreamPattern, std::string>> streams();
  pe::RoutineOp getRoutine() { return routine; }

private:
  void awaitAll(unsigned threads);
  InstructionUse useOf(const Operand &dst, llvm::ArrayRef<Operand> sources,
                       int thread) const;
  pe::StreamOp hostStream(pe::Direction direction);
  void relayAtHeads(const FeatureTiling &features, int64_t lines,
                    int64_t wordsPerFeature);

  ClassBuilder &shared;
  mlir::Operation *op;
  pe::RoutineOp routine;
  mlir::OpBuilder builder;
  mlir::Location loc;
  llvm::SmallVector<Value> guards;
  int64_t scratchUsed = 0;
  mlir::Type wire; ///< of the words that the operation moves; null: f32
  MicrothreadDiscipline discipline;
  pe::StreamOp input, rowInput, output;
  std::unique_ptr<ScalarBuilder> inputScalars, rowInputScalars, outputScalars;
};

} // namespace wsec

#endif // COMPILER_KERNELS_ROUTINEBUILDER_H
