// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_INSPECT_PROGRAMTEXT_H
#define TOOLS_WSE_INSPECT_PROGRAMTEXT_H

#include <string>

namespace wsec::inspect {

/// The .wafer file at `path` as text of the pe dialect. It names weight files
/// as the program does.
std::string programText(const std::string &path);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_PROGRAMTEXT_H
