// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model with a dimension that each call chooses is compared node by node at
// some lengths (`onnx-follow-length`). At one or two there is nothing to
// compare: extents of one fold, and other operations stay. There, what is
// known when the model is compiled is held against what it is elsewhere, before
// anything folds: each extent, and each element that is the same at all other
// lengths, or a whole number times them, must be so at these.
//
//   Max(length, 2)   3 at 3, 85 at 86, 127 at 127: the length; 2 at 1: refused
//
// First come the decisions that folding takes away: the branches of Ifs, and
// how often bodies of loops are gone through; those whose results nobody reads
// are left out. Then what the nodes that stay read. It need not be compared
// what such a value is made of, if it is known that it is what it must be:
//
//   Min(Max(length, 2), length)   the length, everywhere
//
// Of others that is not known: constants of more than 4,096 elements, those
// that follow the length in another way, such as its root, and those that are
// computed at some length. They are not compared; what they are made of is, in
// turn.
#ifndef COMPILER_INFER_FOLDEDLENGTHS_H
#define COMPILER_INFER_FOLDEDLENGTHS_H

#include "compiler/infer/Positions.h"

namespace wsec::infer {

/// Gives the first node of `entry` that is another thing in one of `folded`,
/// and that something that stays reads, a reason; the longest of `folded` comes
/// first.
void compareFolded(const CallSample &entry, llvm::ArrayRef<CallSample> samples,
                   llvm::ArrayRef<CallSample> folded);

} // namespace wsec::infer

#endif // COMPILER_INFER_FOLDEDLENGTHS_H
