// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the code of a product whose weights stay; for StationaryProduct.cpp
// and StationaryMultiply.cpp.

#ifndef COMPILER_KERNELS_PRODUCT_STATIONARYWRITER_H
#define COMPILER_KERNELS_PRODUCT_STATIONARYWRITER_H

#include "compiler/kernels/product/StationaryProduct.h"

#include <string>
#include <vector>

namespace wsec {

class StationaryWriter {
public:
  using Value = mlir::Value;
  using Operand = pe::Operand;
  using Affine = pe::Affine;

  StationaryWriter(const MatmulForm &op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        in(b.tile(op.getInput())), out(b.tile(op.getResult())),
        terms(in.features), part({out.firstFeature, out.features}) {}

  void write();
  /// Several of one token, of the same input.
  static void writeTogether(std::vector<StationaryWriter> &all,
                            const TogetherShape &shape);

private:
  /// Weights of result features of the row, in a buffer.
  struct Block {
    Affine first;
    Value size;
    std::string weights;
    int64_t output, input; ///< words from one feature to the next
    int64_t entry = 0;     ///< and from one entry
  };
  /// Tokens that are multiplied at a time.
  struct Round {
    int64_t tokens;
    Affine start;      ///< of this row: the first of its channels
    Value channels;    ///< and how many
    Value before;      ///< tokens of the rows north
    Affine live;       ///< the first of them, of which products are made
    int64_t first = 0; ///< the number of the first one, where they are in order
  };
  /// Result features that are made in a pass, of those of this column.
  struct Part {
    Value first, features; ///< counted from the first of the part
    Affine start = 0;      ///< of the column's
  };
  struct GroupWords {
    Value west, group, all;
  };
  Affine liveOf(Affine number);
  Part partOf(int64_t number);
  void takeIds();
  void takeIdsOfHeld();
  void multiplyEntries(const Block &block, const Round &round);
  void multiplyByTurns(const Round &round, Value after);
  void runEntries();
  void finish(const Round &round);
  void initialise();
  void placeWeights();
  void placeEntries();
  void streamWeights();
  void stream(int64_t first, int64_t size, int64_t count);
  void streamEntries(int64_t part, int64_t depth);
  GroupWords groupWords() const;
  void takeTurn(Value skipped, Value size);
  void skipTurn(Value size, Value next);
  void drop(Thread thread, StreamPattern pattern, Affine words);
  /// Turns that are as long in all rows.
  int64_t wholeTurns() const {
    return (shape.rowFeatures - !rowsAreAlike()) / shape.inTurns;
  }
  int64_t blockSize(int64_t number) const {
    return std::min(shape.inTurns, shape.rowFeatures - number * shape.inTurns);
  }
  /// How many of `size` result features, from `first` of the row on, it has:
  /// the last one is not there in all rows.
  Value sizeOf(ScalarBuilder &scalars, int64_t first, int64_t size) const {
    if (first + size < shape.rowFeatures || rowsAreAlike())
      return scalars.constant(size);
    return scalars.sub(scalars.tileSize(shape.n, shape.rows, number(scalars)),
                       first);
  }
  bool rowsAreAlike() const { return shape.n % shape.rows == 0; }
  bool inAllRows() const { return shape.rows == b.height(); }
  /// How many rows north of `row` have result features.
  Value rowsBefore(ScalarBuilder &scalars, Value row) const;
  /// The number of a row among those that have.
  Value number(ScalarBuilder &scalars) const {
    Value before = rowsBefore(scalars, scalars.py());
    return inAllRows() ? before : scalars.min(before, shape.rows - 1);
  }
  void fill(const Block &block);
  void multiplyInTurns(const Round &round);
  Round sharedRound(Affine number);
  Round unlikeRound(int64_t number);
  void run(const Round &round, bool first);
  void multiply(const Block &block, const Round &round);
  void multiplyOne(const Block &block, int64_t tokens = 1, Affine token = 0,
                   Affine weights = 0);
  void multiplyPairs(const Block &block, int64_t tokens);
  void fetch(const Round &round, const Affine &depth = 0);
  void clear(Affine features);
  void addRow(const Affine &words, int64_t most, const Combined *end);
  void sumRow(Value features, int64_t most, int64_t tokens);
  void keepWindow(int64_t tokens, const Operand &own);
  Affine keptWords(int64_t tokens);
  void castSums(Affine words);
  void gatherResults(int64_t tokens, const Operand &own);
  void takeOwn(const Round &round);
  void addOwn(const Round &round);
  Operand ownActivations(const Round &round, const Affine &depth);
  void fetchSquares(wse::WeightAttr factors, const Round &round);
  static void keepRows(std::vector<StationaryWriter> &all,
                       llvm::ArrayRef<Value> firstSums);
  static void keepResults(std::vector<StationaryWriter> &all,
                          const Round &round, Value features);
  std::string asWords(const std::string &buffer) {
    return shape.isNarrow() ? b.wordsOf(buffer) : buffer;
  }
  /// Words of so many elements in a row.
  Value wordsOf(Value elements) {
    return s.div(s.add(elements, shape.perWord() - 1), shape.perWord());
  }

  MatmulForm op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  StationaryShape shape;
  Tile in, out;
  Value firstRow;    ///< result feature of the row
  Value rowFeatures; ///< and how many
  Value hasFeatures; ///< whether there are any
  Affine live = 0;   ///< tokens of the round, of which products are made
  Value terms;       ///< features of the input that are multiplied in a pass
  Part part;
  std::string exchange, sums, sent, ids;
  llvm::SmallVector<Block> blocks;
};

} // namespace wsec

#endif // COMPILER_KERNELS_PRODUCT_STATIONARYWRITER_H
