// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels write PE code with: a RoutineBuilder writes the routine of one
// operation in one class.
//
// All PEs of a region run the same routine; they differ by scalars (how many
// features and channels are mine) and by guards. Microthreads have fixed jobs:
//
//   0  injectors relay the host's words from their channel to their column
//   1  rows: words are gathered in a chain to the end of the row and are
//   multicast from there 2  keys and sums of a batch group go north 3  values
//   of a batch group go north 4  words of the column go into a buffer 5  words
//   of a row's or group's multicast go into a buffer 6  injectors take the
//   host's words from their channel into a buffer
//
// The builder awaits a microthread before it gives it more work, and before it
// touches what the microthread may still use.

#ifndef COMPILER_KERNELS_CODE_ROUTINEBUILDER_H
#define COMPILER_KERNELS_CODE_ROUTINEBUILDER_H

#include "compiler/kernels/code/ProgramBuilder.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cmath>

namespace wsec {

enum Thread : int {
  ColumnThread = 0,
  RowThread,
  KeyThread,
  ValueThread,
  FillThread,
  GatherThread,
  ChannelThread
};

/// One tensor in one PE, in scalars.
struct Tile {
  Layout layout;
  std::string buffer;
  int64_t pitch = 0;        // words between neighbouring features
  int64_t step = 1;         // and tokens
  mlir::Value active;       // whether this row holds tokens
  mlir::Value sequences;    // batch elements of this row
  mlir::Value tokens;       // tokens of each
  mlir::Value channels;     // tokens in all
  mlir::Value firstToken;   // number of the first, counting all batch elements
  int64_t tokenStep = 1;    // numbers from one of them to the next
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
///             + feature * featureStep (+ id * index.step)
struct ColumnWords {
  std::string tensor;
  int64_t offset = 0;
  FeatureTiling features;
  HostDim lines = {};
  llvm::SmallVector<HostDim, 2> inner = {};
  int64_t featureStep = 1;
  /// Units of features that lie so; then `featureStep` is from one to the next.
  HostDim unit = {};
  /// f16 or bf16: a word has two elements of a feature, `halfStep` apart, or,
  /// of the elements that `pairs` tiles, neighbours.
  mlir::Type halves = {};
  int64_t halfStep = 0;
  std::optional<FeatureTiling> pairs = {};
  pe::RowIndex index = {};

  /// Words of a column per line and feature.
  int64_t innerSize() const;
};

/// Where words of the host enter a column.
struct Injector {
  mlir::Value isHere;   // whether this PE is one
  pe::Affine block;     // words of a line that are for its column
  pe::Operand incoming; // they, on the channel, over lines and words
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
  /// A tensor as words of two elements, as it moves; of no pairing, itself.
  Tile tile(Value tensor, Pairing pairing);
  /// The tile of a resident parameter or a state of its region. In a parameter
  /// the features of a token are neighbours.
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
  /// Tokens of all rows north of `row`, in a region of `height` rows.
  static Value tokensBefore(ScalarBuilder &scalars, const Layout &layout,
                            Value row, int64_t height);
  static Value tokensBefore(ScalarBuilder &scalars, const Layout &layout,
                            Value row) {
    return tokensBefore(scalars, layout, row, scalars.height());
  }

  /// The next `elements` elements of the operation's scratch memory, in whole
  /// words; f32 if no type is given.
  std::string scratch(llvm::StringRef name, int64_t elements,
                      mlir::Type element = {});
  /// A buffer's words as elements of 16 bits, the first in a word's lower half;
  /// integers if no type is given.
  std::string halvesOf(llvm::StringRef buffer, mlir::Type element = {});
  /// A buffer of words, or of elements of 16 bits, as words of f32.
  std::string wordsOf(llvm::StringRef buffer);

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
  /// An argument of the entry, as the launch carries it.
  Affine argument(Value argument) const {
    return Affine(carried.lookup(argument));
  }
  /// An integer that the PE computes while it runs.
  Affine compute(pe::ScalarKind kind, llvm::ArrayRef<Affine> inputs);
  /// An integer of a buffer, for addresses in the body it is loaded in.
  Affine load(llvm::StringRef buffer, const Affine &offset);
  /// A `vector` on a microthread.
  void start(Thread thread, pe::Opcode opcode, llvm::ArrayRef<Affine> extents,
             const Operand &dst, llvm::ArrayRef<Operand> sources,
             Value guard = {});
  /// Waits until a microthread has done what it was given.
  void await(Thread thread) { awaitAll(1u << thread); }
  /// Waits in a loop for what the thread was given, also the turn before.
  void awaitTurnBefore(Thread thread) { emitAwait(1u << thread); }
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
  int64_t color(StreamPattern pattern, unsigned parity = 0);
  /// The color a PE of this parity (scalar 0 or 1) sends on.
  Affine parityColor(StreamPattern pattern, Value parity);
  /// One color where `condition` holds, and another elsewhere: who ends a chain
  /// sends what the others do, on a stream of its own, with one instruction.
  Affine eitherColor(Value condition, const Affine &first, const Affine &other);
  /// Whether this PE hears a stream the operation opens: `own` where no rows do
  /// but those that it asked for.
  Value hears(StreamPattern pattern, Value own);
  /// Whether it hears one and is in none of these; null: no PE does.
  Value hearsInVain(StreamPattern pattern);
  /// The color in row `row` of a stream whose colors rows take in turn.
  Affine rowColor(StreamPattern pattern, Value row);

  /// Streams words from the host into all columns: makes the host's segments
  /// and the heads' relay. Words arrive on columnWords() in this order. All
  /// have as many for each line and feature.
  void streamToColumns(llvm::ArrayRef<ColumnWords> words);
  /// Streams to columns without a relay: injectors are to take their words from
  /// the channel into a buffer, and send them from there on column_rest, which
  /// they do not hear.
  Injector injectFromBuffers(llvm::ArrayRef<ColumnWords> words);
  /// The operand words of streamToColumns arrive on.
  Operand columnWords(unsigned depth);
  /// Beside an instruction of the main thread that takes so many of them: lets
  /// them go by in rows that hear them in vain, whatever guards are in force.
  void dropColumnWords(Affine words);
  /// Streams vectors with one element per feature, each in one line; those
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
  /// Streams bands from the rows of `exits` alone, each of which lists the
  /// blocks of its own row, on out_band or out_half.
  void streamFromBands(llvm::ArrayRef<ChannelPosition> exits,
                       llvm::function_ref<pe::Segment(ScalarBuilder &)> segment,
                       StreamPattern pattern = StreamPattern::OutBand);
  /// The entry of a weight that streams.
  HostTensor source(wse::WeightAttr weight, wse::EntryAttr entry) {
    HostTensor tensor = source(weight);
    if (entry)
      tensor.index = {source(entry.getIds()).symbol, entry.getStep(),
                      entry.getCount(), entry.getAt()};
    return tensor;
  }
  HostTensor source(mlir::Attribute source) {
    return shared.shared.source(source);
  }
  /// A constant of the program, called like `name`.
  std::string declareConstant(mlir::DenseElementsAttr elements,
                              const llvm::Twine &name) {
    return shared.shared.declareConstant(
        elements, mlir::StringAttr::get(op->getContext(), name),
        [&] { return elements; });
  }
  std::string declareSparse(pe::SparseAttr sparse) {
    return shared.shared.declareSparse(sparse);
  }

  /// Waits for all microthreads in use. Fails if the operation lacked something
  /// that earlier states decide, which was said.
  llvm::LogicalResult finish();
  /// The host streams of the launch, by the pattern of their color.
  llvm::SmallVector<std::pair<StreamPattern, std::string>> streams();
  pe::RoutineOp getRoutine() { return routine; }

private:
  /// A stream it opens; null if it opens none of the pattern.
  wse::StreamOp streamOf(StreamPattern pattern) const;
  llvm::ArrayRef<int64_t> colorsOf(StreamPattern pattern) const;
  Value isAmong(const RowSet &rows);
  /// Says what the operation lacks, unless something was said already.
  void lacks(const llvm::Twine &what);
  void awaitAll(unsigned threads);
  void emitAwait(unsigned threads);
  InstructionUse useOf(const Operand &dst, llvm::ArrayRef<Operand> sources,
                       int thread) const;
  /// An instruction, behind awaits of what its use must wait for.
  void emit(InstructionUse use, pe::Opcode opcode,
            llvm::ArrayRef<Affine> extents, const Operand &dst,
            llvm::ArrayRef<Operand> sources, pe::Issue issue);
  struct HostStream {
    StreamPattern pattern;
    pe::StreamOp stream;
    std::unique_ptr<ScalarBuilder> scalars;
  };
  HostStream &hostStream(StreamPattern pattern,
                         llvm::ArrayRef<ChannelPosition> channels);
  void streamSegment(StreamPattern pattern,
                     llvm::ArrayRef<ChannelPosition> channels,
                     llvm::function_ref<pe::Segment(ScalarBuilder &)> segment);
  int64_t hostWords(llvm::ArrayRef<ColumnWords> words);
  Injector injector(const FeatureTiling &features, int64_t wordsPerFeature);
  void relayAtHeads(const Injector &injector, int64_t lines);

  ClassBuilder &shared;
  mlir::Operation *op;
  pe::RoutineOp routine;
  mlir::OpBuilder builder;
  mlir::Location loc;
  llvm::SmallVector<Value> guards;
  int64_t scratchUsed = 0;
  bool incomplete = false; ///< it lacks something
  mlir::Type wire;         ///< of the words that the operation moves; null: f32
  llvm::SmallDenseMap<Value, Value> carried; ///< arguments of the entry
  /// What an `eitherColor` may be.
  llvm::SmallDenseMap<Value, std::pair<Affine, Affine>> either;
  MicrothreadDiscipline discipline;
  llvm::SmallVector<HostStream, 2> hostStreams;
};

} // namespace wsec

#endif // COMPILER_KERNELS_CODE_ROUTINEBUILDER_H
