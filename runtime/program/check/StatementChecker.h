// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_STATEMENTCHECKER_H
#define RUNTIME_PROGRAM_CHECK_STATEMENTCHECKER_H

#include "runtime/program/Intervals.h"
#include "runtime/program/check/Where.h"
#include "runtime/program/program_generated.h"

#include <vector>

namespace wsec::runtime {

/// What code may refer to besides what it computes itself.
struct CodeContext {
  const program::PEClass &peClass;
  const program::Machine &machine;
  uint8_t launchColor; ///< noLaunchColor: none
  /// Ranges of the scalars of the class.
  const std::vector<Interval> &scalars;
};

using CodeBody = flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;

/// Checks every statement of a routine or task. The buffers and tasks of the
/// class must have been checked. `runs`: whether every PE of the class is known
/// to run it; then what would be wrong in all of them is refused here, and not
/// only when a PE gets there. The first locals hold `arguments`, of these
/// ranges.
void checkBody(const CodeBody &body, const CodeContext &context, bool runs,
               const Where &where, const std::vector<Interval> &arguments = {});

/// Colors that belong to the program: proves that the function, of scalars
/// alone, gives one.
void checkColor(const program::Affine *color, const CodeContext &context,
                const Where &where);

/// Ports of a route: some to transmit on, and no way back to a neighbour.
void checkPorts(program::Port receive, unsigned transmit, const Where &where);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_STATEMENTCHECKER_H
