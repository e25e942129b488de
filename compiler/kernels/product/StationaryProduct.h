// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose weights stay: the PE in column x and row y holds the weights
// of the features of column x, for result features of its own row, and
// multiplies all tokens with them. All PEs have as much to do, however few
// tokens there are, and no PE relays weights. Those of a resident parameter are
// there from an earlier launch on; others come with each launch.

#ifndef COMPILER_KERNELS_PRODUCT_STATIONARYPRODUCT_H
#define COMPILER_KERNELS_PRODUCT_STATIONARYPRODUCT_H

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/product/MatmulForm.h"

#include <vector>

namespace wsec {

/// Sizes of such a product. Tokens come in rounds: in each as many of every
/// row, or, where rows have not as many, the next ones in order.
struct StationaryShape {
  /// Words of SRAM beside operands and result, at most.
  static constexpr int64_t mostWords = 6144;
  /// Where the weights are none of it: they and the code of other layers need
  /// what is left.
  static constexpr int64_t mostResidentWords = 3072;

  Layout in, out;
  int64_t k = 0, n = 0;
  /// Rows that have result features: all, or those with a channel, if weights
  /// come with each launch.
  int64_t rows = 0;
  int64_t rowFeatures = 0; ///< most result features of a row
  int64_t ownInputs = 0;   ///< most features of the input in a column
  int64_t ownResults = 0;  ///< likewise of the result
  int64_t rounds = 0;      ///< 0: this product cannot run so
  bool shared = false;     ///< each has as many tokens of every row
  int64_t channels = 0;    ///< then: of a row in a round
  int64_t tokens = 0;      ///< of all rows in a round, but perhaps the last
  int64_t rowTokens = 0;   ///< most of a row in a round
  int64_t growth = 1;      ///< of blocks, from one to the next
  /// Result features of each of two buffers, if weights do not stay, for they
  /// are used once.
  int64_t inTurns = 0;
  /// Blocks of one token, if they are not in turns.
  llvm::SmallVector<int64_t, 3> ofOne;
  bool resident = false; ///< its weights are there from an earlier launch
  /// Matrices, of which each token has one; 1: all have the same.
  int64_t entries = 1;
  /// If they stream, `n` are the result features of each of so many parts,
  /// `ownInputs` of each of so many depths: sums and activations of one are
  /// there at a time.
  int64_t parts = 1, depths = 1;
  bool ofEachRow = false; ///< has a part some of each row's result features
  /// Columns take their weights in so many groups, one after the other.
  int64_t groups = 1;
  /// Then, of 16 bits: weights of a row's result features are neighbours, not
  /// those of a column's features of the input.
  bool byInput = false;
  mlir::Type element;                 ///< of activations and weights
  std::optional<FeatureTiling> pairs; ///< of features of the input

  StationaryShape(const MatmulForm &op, const Machine &machine)
      : StationaryShape(op, machine, op.residentWeight() != nullptr) {}
  StationaryShape(const MatmulForm &op, const Machine &machine, bool resident);

  bool streamsEntries() const { return entries > 1 && !resident; }
  /// Sums of a row in a round.
  int64_t mostSums() const { return tokens * rowFeatures; }
  /// Result features whose weights are there at a time.
  int64_t heldFeatures() const {
    return inTurns ? (entries > 1 ? 1 : 2) * inTurns : rowFeatures;
  }
  /// In how many result features at a time a row takes its weights.
  llvm::SmallVector<int64_t> blocks() const;
  /// Vectors of multiply-adds run along result features, 0, features of the
  /// input, 1, or tokens, 2.
  size_t inner(const Machine &machine) const;
  /// Cycles of the multiply-adds of one token, of streaming entries in a turn.
  double ofOneToken(const Machine &machine, size_t inner) const;
  /// Most result features of a row that one column owns.
  int64_t kept() const { return std::min(rowFeatures, ownResults); }
  int64_t words() const;
  bool isNarrow() const { return pe::elementBytes(element) == 2; }
  /// Elements of a word, as activations and results move.
  int64_t perWord() const { return isNarrow() ? 2 : 1; }
  /// Words of a row of elements in the scratch memory: each begins with one.
  int64_t wordsOf(int64_t elements) const {
    return (elements + perWord() - 1) / perWord();
  }
  /// Words of a column's activations, which lie in pairs of features, for each
  /// token; where results of 16 bits arrive once they have been used.
  int64_t exchangeWords() const;
  /// Words of a row's results that one column owns; before, in 16 bits, of the
  /// activations that a PE sends.
  int64_t sentWords() const;
  /// Most words of a result feature that bring a row its tokens of a round:
  /// neighbouring tokens share one, perhaps with another row.
  int64_t resultWords() const {
    return isNarrow() ? rowTokens / 2 + 1 : rowTokens;
  }
  /// Features of the input, as the words of a streaming weight count them: two
  /// make a word, but for the last of an odd number, unless the columns hold
  /// heads of an odd number.
  FeatureTiling inputWords() const {
    FeatureTiling words = pairs ? *pairs : in.features;
    words.units /= depths;
    return words;
  }
  /// Cycles in which a PE multiplies all tokens by the features of a turn, each
  /// by its own of the entries.
  double turnCycles(const Machine &machine, size_t inner) const;
  /// And in which the weights of a turn come.
  double turnArrival() const {
    return double(entries * inputWords().total() * inTurns);
  }

private:
  void takeEntries(const Machine &machine);
  int64_t fewestGroups(const Machine &machine) const;
  double featureCycles(const Machine &machine) const;
  /// Features of a buffer, up to `most` and more than half of that, that leave
  /// least to multiply behind the last word.
  int64_t bestTurn(int64_t most, const Machine &machine) const;
  /// From the last one, of one feature, each is multiplied by while the next
  /// comes.
  llvm::SmallVector<int64_t, 3> blocksOfOne(const Machine &machine) const;
};

/// Whether so many sums of a row come in two phases: a chain needs two colors
/// less.
bool sumsInPhases(const Machine &machine, double sums);

/// Cycles of the multiply-adds of one token, with sums that begin as 0.
double oneTokenCycles(const StationaryShape &shape, const Machine &machine);
/// Cycles of what moves inside a PE then; results along the rows arrive where
/// they stay.
double oneTokenMoves(const StationaryShape &shape, const Machine &machine,
                     bool toRows = false);
/// Cycles of a round in which activations and sums are on their way, with so
/// many sums more; results that lie along the rows do not go north.
double sumCycles(llvm::ArrayRef<StationaryShape> shapes, const Machine &machine,
                 bool toRows = false, double others = 0);

/// Several products of one token, of the same input, with weights that stay.
struct TogetherShape {
  std::vector<StationaryShape> shapes;
  bool toRows;         ///< results lie along the rows
  int64_t squares = 0; ///< sums of them, of a norm one

  TogetherShape(llvm::ArrayRef<MatmulForm> products, const Machine &machine);
  /// Whether they can be: all rows have result features of each, and room for
  /// all.
  bool canBe(const Machine &machine) const;
  int64_t sums() const;
  int64_t exchangeWords() const;
  int64_t sentWords() const;
  int64_t words() const { return exchangeWords() + sums() + sentWords(); }
  KernelCost cost(const Machine &machine) const;
};

/// Products of a token that lies along the rows: a PE has the weights of its
/// row's features of the input, for the results of its column.
class RowsProducts {
public:
  RowsProducts(llvm::ArrayRef<MatmulForm> products, const Machine &machine);
  bool canBe(const Machine &machine) const;
  std::optional<HeldWeight> held(wse::WeightAttr weight) const;
  KernelCost cost(const Machine &machine) const;
  int64_t scratchWords() const;
  llvm::SmallVector<StreamNeed> streams(const Machine &machine) const;
  void lower(RoutineBuilder &b) const;

private:
  struct Result {
    MatmulForm form;
    int64_t most; ///< features of a column
  };
  /// Words of a column.
  int64_t sums() const;
  /// Vectors of multiply-adds run along results, 0, or the input, 1.
  size_t inner(const Result &result, const Machine &machine) const;
  double product(const Result &result, const Machine &machine,
                 size_t inner) const;

  Layout in;
  int64_t inputs; ///< most of a PE
  bool narrow;
  mutable wse::ProductsOp op;
  llvm::SmallVector<Result, 3> results;
};

/// Makes a wse.products of those matmuls that can be one; false: none can.
bool joinProducts(llvm::ArrayRef<MatmulForm> products, const Machine &machine);
void lowerTogether(llvm::ArrayRef<MatmulForm> products, RoutineBuilder &b);

/// All but its lower bound, which variants share.
KernelCost stationaryCost(const MatmulForm &op, const Machine &machine);
llvm::SmallVector<StreamNeed> stationaryStreams(const MatmulForm &op,
                                                const Machine &machine);
/// A word for each column, whatever it holds.
FeatureTiling eachColumn(const Machine &machine);
/// Streams of weights that stay, without a bias, for so many sums of a row;
/// results along the rows stay in theirs.
llvm::SmallVector<StreamNeed> sumStreams(const Machine &machine, double sums,
                                         bool toRows = false);
llvm::SmallVector<HostFlow> stationaryFlows(const MatmulForm &op,
                                            const Machine &machine);
std::optional<HeldWeight> heldStationary(const MatmulForm &op,
                                         const Machine &machine);
llvm::SmallVector<Relay> stationaryRelays();
llvm::LogicalResult lowerStationary(const MatmulForm &op, RoutineBuilder &b);

} // namespace wsec

#endif // COMPILER_KERNELS_PRODUCT_STATIONARYPRODUCT_H
