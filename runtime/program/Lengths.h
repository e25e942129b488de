// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of which a call takes or gives less than the program has: as far as
// the call's length along some axes.
#ifndef RUNTIME_PROGRAM_LENGTHS_H
#define RUNTIME_PROGRAM_LENGTHS_H

#include "runtime/program/program_generated.h"

#include <optional>
#include <vector>

namespace wsec::runtime {

/// The argument of an entry that is a length; null: it has none.
const program::Argument *lengthOf(const program::Entry &entry);
/// The argument of some entry that is the length of a tensor; null: its shape
/// is fixed.
const program::Argument *lengthOf(const program::Program &program,
                                  const program::Tensor &tensor);
/// Whether an input has a length, and is not the caller's to give.
bool isLength(const program::Program &program, uint32_t tensor);
/// The shape of a tensor where calls have this length.
std::vector<int64_t> shapeAt(const program::Tensor &tensor, int64_t length);
/// The length at which a tensor has a shape.
std::optional<int64_t> lengthAt(const program::Program &program,
                                const program::Tensor &tensor,
                                const std::vector<int64_t> &shape);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_LENGTHS_H
