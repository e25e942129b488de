// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meaning of the scalar lists and affine functions of program.fbs.
#ifndef RUNTIME_PROGRAM_SCALARS_H
#define RUNTIME_PROGRAM_SCALARS_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <vector>

namespace wsec::runtime {

using ScalarList = flatbuffers::Vector<const program::ScalarNode *>;

/// First element of part `i` when `n` elements are tiled over `p` parts.
int64_t tileStart(int64_t n, int64_t p, int64_t i);
/// Elements of part `i`; 0 outside [0, p).
int64_t tileSize(int64_t n, int64_t p, int64_t i);
/// The part that holds element `e`; -1 before the first, p after the last.
int64_t tileIndex(int64_t n, int64_t p, int64_t e);

/// The value of one node, given those of the earlier ones. Divisors and
/// numbers of parts must be positive or, for Div and Mod, not zero. `arguments`
/// are those of the entry, or of the launch of a stream.
int64_t evaluateNode(const program::ScalarNode &node, const int64_t *earlier,
                     int64_t x, int64_t y, const int64_t *arguments = nullptr);

/// Values of a scalar list (or null) at PE (x, y). The list must have passed
/// the checker.
void evaluateScalars(const ScalarList *nodes, int64_t x, int64_t y,
                     std::vector<int64_t> &values,
                     const int64_t *arguments = nullptr);

/// Whether arguments of its launch decide anything about a stream.
bool dependsOnArguments(const program::HostStream &stream);

/// Value of an affine function without loop terms.
int64_t evaluateAffine(const program::Affine &affine,
                       const std::vector<int64_t> &scalars);

/// The coordinates that a number depends on, as bits.
enum ScalarAxes : uint8_t { NoAxis = 0, AxisX = 1, AxisY = 2, BothAxes = 3 };

/// The axes of each scalar of a list (or null).
std::vector<uint8_t> axesOf(const ScalarList *nodes);
/// The axes of an affine function of these scalars.
uint8_t axesOf(const program::Affine &affine, const std::vector<uint8_t> &axes);
/// Whether what a segment has in a PE is put together of what it has in the
/// column and what it has in the row: each extent depends on one coordinate,
/// each term of the offset, too, and lines are the same everywhere.
bool isSeparable(const program::Segment &segment,
                 const std::vector<uint8_t> &axes);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_SCALARS_H
