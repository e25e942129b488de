// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From an ONNX node to its PEs, and back.
#ifndef TOOLS_WSE_INSPECT_PLACES_H
#define TOOLS_WSE_INSPECT_PLACES_H

#include "tools/wse-inspect/Summary.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace wsec::inspect {

/// A node or PE that a program does not have.
struct PlaceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Kernels of an ONNX node (or the kernel of that name), their launches, the
/// classes that run them, what they write to buffers.
Json whereIs(const program::Program &program, const std::string &node);
std::string showWhere(const Json &where);

/// A PE of the mesh, "x,y".
std::pair<int, int> parsePe(const program::Program &program,
                            const std::string &text);
/// The class of a PE, "x,y"; negative: it has no code.
int classAt(const program::Program &program, const std::string &pe);

/// Class, kernels, buffers, tasks and routes of one PE.
Json whatIsAt(const program::Program &program, const std::string &pe);
std::string showAt(const Json &at);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_PLACES_H
