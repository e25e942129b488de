// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attributes of an operation without a dictionary of them: the context
// would keep one for each state that any kernel is ever in.
#ifndef WSEC_DIALECTS_WSE_INHERENTATTRIBUTES_H
#define WSEC_DIALECTS_WSE_INHERENTATTRIBUTES_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/OperationSupport.h"

namespace wsec::wse {

/// Keys and values of an `attention` that takes them from the store.
inline constexpr llvm::StringLiteral storedAttrName = "wse.stored";

/// A `weight_gradient` in small blocks.
inline constexpr llvm::StringLiteral smallBlocksAttrName = "wse.small_blocks";
/// One whose exits have two lanes, each for half of their columns.
inline constexpr llvm::StringLiteral twoLanesAttrName = "wse.two_lanes";
/// An attention, or its gradient, whose rows bring their keys in so many bands.
inline constexpr llvm::StringLiteral bandsAttrName = "wse.bands";
/// A `reduce_tokens` in groups of rows, then over their first ones.
inline constexpr llvm::StringLiteral twoPhasesAttrName = "wse.two_phases";

/// The attributes that the operation's kind declares, by name, what it takes
/// from the store, and the form of a gradient.
inline llvm::SmallVector<mlir::NamedAttribute>
inherentAttributes(mlir::Operation *op) {
  mlir::NamedAttrList list;
  op->getName().populateInherentAttrs(op, list);
  for (llvm::StringLiteral name :
       {storedAttrName, smallBlocksAttrName, twoLanesAttrName,
        twoPhasesAttrName, bandsAttrName})
    if (mlir::Attribute attribute = op->getDiscardableAttr(name))
      list.append(name, attribute);
  llvm::SmallVector<mlir::NamedAttribute> attributes(list.begin(), list.end());
  llvm::sort(attributes);
  return attributes;
}

} // namespace wsec::wse

#endif // WSEC_DIALECTS_WSE_INHERENTATTRIBUTES_H
