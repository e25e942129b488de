// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_LENGTHS_H
#define RUNTIME_HOST_LENGTHS_H

#include "runtime/host/HostTensor.h"
#include "runtime/program/Lengths.h"

namespace wsec::runtime {

/// What a caller gets of a program's tensor in a call of this length, and the
/// program's of what a caller gives.
HostTensor toLength(const HostTensor &whole, const program::Tensor &tensor,
                    const program::Argument &length, int64_t extent);
HostTensor fromLength(const HostTensor &given, const program::Tensor &tensor,
                      const program::Argument &length);

} // namespace wsec::runtime

#endif // RUNTIME_HOST_LENGTHS_H
