// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_INSPECT_PROGRAMTEXT_H
#define TOOLS_WSE_INSPECT_PROGRAMTEXT_H

#include <string>

namespace wsec::inspect {

/// The .wafer file at `path` as text of the pe dialect. Paths in it start from
/// the folder of `output`, if there is one, else from the program's.
std::string programText(const std::string &path, const std::string &output);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_PROGRAMTEXT_H
