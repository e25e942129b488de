// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifier of WseStreamOps.td. Labels (C1, C2, ...) are those of the
// description there.

#include "dialects/wse/WseChecks.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

LogicalResult StreamOp::verify() {
  // (C1)
  const StreamPattern pattern = getPattern();
  const bool transfers = pattern == StreamPattern::Transfer;
  const size_t colors = pattern.colors();
  if (transfers ? getColors().empty() : getColors().size() != colors)
    return emitOpError() << name(pattern) << " takes " << colors << " color"
                         << (colors > 1 ? "s" : "")
                         << (transfers ? " or more" : "") << ", found "
                         << getColors().size();
  // (C2)
  if (!transfers && getRows().has_value() != pattern.takesRows())
    return emitOpError() << name(pattern)
                         << (getRows() ? " does not depend on rows"
                                       : " needs the rows it reaches");
  // (C3)
  for (RuleAttr rule : getRules().getAsRange<RuleAttr>())
    if (!llvm::is_contained(getColors(), rule.getColor()))
      return emitOpError("has a rule for color ")
             << rule.getColor() << ", which is none of its own";
  // (C4)
  if (getTarget().has_value() != transfers)
    return emitOpError() << name(pattern)
                         << (transfers ? " needs the region it goes to"
                                       : " goes to no other region");
  if (getRegion() && pattern == StreamPattern::Launch)
    return emitOpError("launches start the kernels of all regions");
  for (FlatSymbolRefAttr region : {getRegionAttr(), getTargetAttr()})
    if (region &&
        !SymbolTable::lookupNearestSymbolFrom<RegionOp>(*this, region))
      return emitOpError("refers to ") << region << ", which is no region";
  if (!transfers)
    return success();
  // (C5)
  auto rowsOf = [&](FlatSymbolRefAttr region) {
    return SymbolTable::lookupNearestSymbolFrom<RegionOp>(*this, region).rows();
  };
  if (!getRegion())
    return emitOpError("needs the region it comes from");
  const int64_t from = rowsOf(getRegionAttr()), to = rowsOf(getTargetAttr());
  if (getRows().has_value() != (from != to))
    return withNote(
        emitOpError("goes from ")
            << from << " rows to " << to << (getRows() ? ", which need" : "")
            << (getRows() ? " no tokens" : ", and does not say which tokens"),
        SymbolTable::lookupNearestSymbolFrom(*this, getTargetAttr()),
        "the region it goes to is declared here");
  return success();
}
