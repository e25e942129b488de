// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the attention operators of ONNX and of onnxruntime come down to.
#ifndef COMPILER_INFER_ATTENTION_H
#define COMPILER_INFER_ATTENTION_H

#include "compiler/infer/Legalization.h"
#include "compiler/values/AttentionMask.h"
#include <limits>

namespace wsec::infer {

inline constexpr double lowestNumber = std::numeric_limits<float>::lowest();

/// Attention with all that its operators may ask for.
struct GeneralAttention {
  /// [batch, heads, tokens, size]; the heads of keys and values divide those of
  /// queries.
  mlir::Value q, k, v;
  /// Bool (true takes part) or something to add; keys behind its last one are
  /// hidden. Null: none.
  mlir::Value mask;
  /// More that is added; of all keys. Null: nothing.
  mlir::Value positions;
  /// Bool, which keys are no padding. Null: all.
  mlir::Value tokens;
  /// What keys get that the mask, if it is bool, padding, windows, causality
  /// and lengths hide.
  double hidden = lowestNumber;
  /// It stands in place of their scores; else it is added.
  bool replaces = false;
  /// What acts on weights.
  std::optional<onnx::TermKind> guard;
  /// [batch], how many keys are valid, the queries' own the last of them. Null:
  /// all.
  mlir::Value lengths;
  /// Where the first query stands: keys before its own.
  int64_t past = 0;
  /// How many keys before and behind its own a query sees; negative: all.
  int64_t left = -1, right = -1;
  /// [heads], a score beside those of the keys that no value has. Null: none.
  mlir::Value sink;
  double scale = 0; // 0: one over the root of the size
  double softcap = 0;

  int64_t queryHeads() const { return shapeOf(q)[1]; }
  int64_t keyHeads() const { return shapeOf(k)[1]; }
  int64_t queries() const { return shapeOf(q)[2]; }
  int64_t keys() const { return shapeOf(k)[2]; }
  double factor() const;
};

/// Its result [batch, heads, queries, size], and its scores in the order of
/// `qk_matmul_output_mode`: products, after the cap, with the mask, weights.
struct DissolvedAttention {
  mlir::Value y;
  llvm::SmallVector<mlir::Value, 4> scores;
};
/// In products, a bias and a softmax.
DissolvedAttention dissolve(Legalization &legalization,
                            const GeneralAttention &attention);

/// As onnx.attention where that does it, else dissolved; [batch, queries,
/// heads * size]. Null with a reason where a sink is beside scores of states
/// that no kernel has.
mlir::Value attend(Legalization &legalization,
                   const GeneralAttention &attention);

/// [batch, heads, tokens, size] to [batch, tokens, heads * size] and back.
mlir::Value mergeHeads(Legalization &legalization, mlir::Value x);
mlir::Value splitHeads(Legalization &legalization, mlir::Value x,
                       int64_t heads);

/// `past` [batch, heads, tokens, size], null or without elements, then `x`;
/// null with a reason where a state cannot have that.
mlir::Value behindPast(Legalization &legalization, mlir::Value past,
                       mlir::Value x);

/// What acts on the scores of an attention, with masks that `arrange` has
/// brought to a form and that fit the scores; none if it returned null.
std::optional<values::MaskTerms>
termsOf(Legalization &legalization, const GeneralAttention &attention,
        llvm::function_ref<mlir::Value(mlir::Value)> arrange);

/// Whether only keys up to a query's own are seen, where both are as many.
bool isCausal(const GeneralAttention &attention);

/// Turns pairs of the first features of each head of `x` [batch, heads, tokens,
/// size], those at i and i + half or, interleaved, at 2i and 2i + 1, by angles
/// whose cosines and sines are [batch or 1, tokens, half]; keeps the others.
mlir::Value rotate(Legalization &legalization, mlir::Value x,
                   mlir::Value cosines, mlir::Value sines, bool interleaved);

/// Rows of a table of cosines or sines at `ids` [batch, tokens], as [batch,
/// tokens, half]; without ids at `first`, `first` + 1, ...: [1, tokens, half].
mlir::Value anglesAt(Legalization &legalization, mlir::Value table,
                     mlir::Value ids, int64_t first, int64_t tokens);

/// Fails with a reason unless so many heads have features of one size.
bool dividesInto(Node &node, int64_t heads, int64_t features);
/// Fails with a reason unless input `i`, if present, can be added to scores
/// of this shape.
bool biasFits(Node &node, size_t i, llvm::ArrayRef<int64_t> scores);

} // namespace wsec::infer

#endif // COMPILER_INFER_ATTENTION_H
