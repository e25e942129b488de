// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where code sends and receives, as far as scalars say so.
#ifndef RUNTIME_PROGRAM_CHECK_COLORUSES_H
#define RUNTIME_PROGRAM_CHECK_COLORUSES_H

#include "runtime/program/check/Where.h"
#include "runtime/program/program_generated.h"
#include "runtime/program/proof/FabricUse.h"

#include <functional>
#include <vector>

namespace wsec::runtime {

/// A fabric operand or control wavelet, of one color, in the PEs of columns
/// `xs` and rows `ys`.
struct ColorUse {
  const program::Operand *operand = nullptr; ///< null: a control wavelet
  bool sends = false;
  /// Scalars alone say that it moves words where its code runs.
  bool isCertain = false;
  int64_t color = 0;
  const std::vector<int64_t> &xs, &ys;
  const Where &where;
};

/// Calls `visit` for all uses in the code of a class, or for what is certainly
/// sent alone. Uses that are alike are visited once.
void forEachColorUse(const program::PEClass &peClass,
                     const program::Program &program, bool onlySends,
                     ProofSteps &steps,
                     const std::function<void(const ColorUse &)> &visit);

/// Whether code of a class sets routes.
bool setsRoutes(const program::PEClass &peClass);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_COLORUSES_H
