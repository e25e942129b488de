// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantised weights of a product that stream as they are stored, 4 or 8 to a
// word, and of which PEs make f32 before they multiply.
//
// A word holds one feature's weights of `perWord` lines in a row, a field each:
// in its lower half those of the first lines, lowest bits first.
//
//   4 bits, upper half    | line 7 | line 6 | line 5 | line 4 |
//
// A PE masks the fields of a half at their place (16-bit integers, 4 a cycle),
// takes off the zero point, and converts: a number 2^shift too large, by a
// scale 2^shift too small, is the weight, as f32 arithmetic on the weight gives
// it. There is no shift instruction. The highest field of a half is stored with
// its sign bit turned, so that it is a signed number without its middle.
//
// Scales. Where lines are result features (reduce), a column's features lie in
// few blocks; behind its words of a line come `perWord` scales of each of these
// blocks, then zero points. Where lines are input features (broadcast), all
// scales of a column's features come first and stay.

#ifndef WSEC_COMPILER_KERNELS_PRODUCT_PACKEDWEIGHTS_H
#define WSEC_COMPILER_KERNELS_PRODUCT_PACKEDWEIGHTS_H

#include "compiler/kernels/code/RoutineBuilder.h"
#include "compiler/kernels/product/MatmulForm.h"

namespace wsec {

class PackedWeights {
public:
  /// Nothing where the weight of `op` cannot stream so in its variant: it is
  /// not quantised, results are not f32, its view cuts through blocks, or each
  /// input feature has a
  /// scale of its own.
  static std::optional<PackedWeights> of(const MatmulForm &op,
                                         const Machine &machine);

  /// Says that the weight of `op` cannot.
  static mlir::LogicalResult refuse(const MatmulForm &op);
  /// The name of the variant with packed weights.
  static llvm::StringRef nameOf(wse::MatmulVariant variant) {
    return variant == wse::MatmulVariant::Reduce ? "reduce, packed"
                                                 : "broadcast, packed";
  }

  int64_t perWord() const { return 32 / bits; }
  /// Lines that a block of them is a multiple of.
  int64_t step() const;
  /// Words of a column and a line, as features of a tiling.
  FeatureTiling streamed() const;
  /// Lines of words of `lines` lines of weights.
  int64_t rows(int64_t lines) const {
    return (lines + perWord() - 1) / perWord();
  }
  /// Lines of scales that come before.
  int64_t tableLines() const;
  /// All lines that stream.
  int64_t streamedLines() const { return rows(lines()) + tableLines(); }
  /// Words of SRAM while `blocks` such blocks arrive and are used.
  int64_t scratchWords(int64_t block, int64_t blocks) const;
  /// Words of a column that come while others are used.
  double arrivingWords() const { return double(streamedLines() * pitch()); }
  /// Cycles to make f32 of a block.
  double cycles(int64_t block, const Machine &machine) const;
  /// Words that stream, of all columns.
  double words(int64_t width) const;

  // Code.

  /// Streams the words, and takes what comes before them.
  void stream(RoutineBuilder &b, mlir::Value own, mlir::Value active);
  /// SRAM for a block that arrives; all of them before the first `expand`.
  std::string arriving(RoutineBuilder &b, int64_t block);
  /// Starts to take `count` lines.
  void fill(RoutineBuilder &b, const std::string &buffer, int64_t count,
            mlir::Value own);
  /// Makes f32 of `count` lines from `first` on: words as an operand over
  /// lines, own features and channels.
  pe::Operand expand(RoutineBuilder &b, const std::string &buffer,
                     pe::Affine first, int64_t count, int64_t block,
                     mlir::Value own);

private:
  bool findBlocks();
  int64_t perHalf() const { return 16 / bits; }
  int64_t lines() const { return reduce ? n : k; }
  int64_t blocks() const { return (k - 1) / block + 1; }
  int64_t columnBlocks(int64_t column, int64_t width) const;
  /// Words of scales and zero points behind a column's words of a line.
  int64_t sideWords() const {
    return reduce && hasVectors ? groups * perWord() * vectorsEach() : 0;
  }
  int64_t vectorsEach() const { return hasZeroVectors ? 2 : 1; }
  int64_t pitch() const { return own + sideWords(); }
  int64_t element(int64_t row, int64_t column) const {
    return offset + row * rowStep + column * columnStep;
  }
  /// What stands for the weight of a field, for a zero point there, and for a
  /// scale.
  uint32_t fieldOf(int64_t row, int64_t column, int64_t field) const;
  float zeroOf(int64_t row, int64_t column, int64_t field) const;
  float scaleOf(int64_t row, int64_t column, int64_t field) const;
  /// The zero point of all weights as fields have it, shifted to its place.
  int64_t zeroAt(int64_t field) const;
  uint32_t wordOf(int64_t line, int64_t feature) const;
  mlir::DenseElementsAttr reduceWords(int64_t width) const;
  mlir::DenseElementsAttr broadcastWords() const;
  mlir::DenseElementsAttr tables() const;
  void streamLines(RoutineBuilder &b, mlir::DenseElementsAttr words,
                   llvm::StringRef what, int64_t count);
  void takeTables(RoutineBuilder &b, mlir::Value own);
  void scaleInBlocks(RoutineBuilder &b, const std::string &buffer,
                     int64_t count, mlir::Value own);

  onnx::QuantizedAttr weights;
  mlir::StringAttr name;
  FeatureTiling tiling; ///< of the features a column's words are for
  bool reduce = false;
  int64_t k = 0, n = 0, bits = 4;
  int64_t offset = 0, rowStep = 0, columnStep = 0;
  int64_t own = 0;             ///< most features of a column
  int64_t block = 1;           ///< input features that share scales
  int64_t groups = 0;          ///< most blocks of a column's features
  bool hasVectors = false;     ///< more than one scale or zero point
  bool hasZeroVectors = false; ///< more than one zero point
  std::string table, work, fields;
};

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_PRODUCT_PACKEDWEIGHTS_H
