// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_GRADIENTS_H
#define RUNTIME_MEMORYX_GRADIENTS_H

#include "runtime/memoryx/TensorStore.h"

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace wsec::runtime {

/// The gradients of parameters, by name.
using Gradients = std::map<std::string, std::vector<float>>;

/// The parameter that an output is a gradient of. Throws BadProgram.
const program::Tensor &parameterOf(const program::Program &program,
                                   const program::Gradient &gradient);
/// Adds what output `output`, which is a gradient, has of it to all of it.
/// Throws BadTensor for a row that the parameter does not have.
void addGradient(const TensorStore &store, uint32_t output,
                 std::span<float> sum);
/// The elements of an output that is all of a gradient, as the parameter has
/// them; none of any other.
std::span<const float> wholeGradient(const TensorStore &store, uint32_t output);

/// What a call has made of gradients, which wrote these outputs: each added up
/// in the order of the program's tensors, an output in row-major order.
Gradients gradientsOf(const TensorStore &store,
                      const std::set<uint32_t> &written);

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_GRADIENTS_H
