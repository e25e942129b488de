// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_INSPECT_DIFFERENCE_H
#define TOOLS_WSE_INSPECT_DIFFERENCE_H

#include "tools/wse-inspect/Summary.h"

#include <string>
#include <utility>
#include <vector>

namespace wsec::inspect {

/// Where two summaries differ, a line each:
///   classes 'worker', buffers 'x', bytes: 64 -> 128
/// Things with a name are compared with those of the same name.
std::vector<std::string> differences(const Json &before, const Json &after);

/// Items of a list by what tells one from its neighbours, such as a name;
/// names that repeat are numbered.
std::vector<std::pair<std::string, const Json *>> named(const Json &list);

/// "a, b, c and 7 more".
std::string briefly(const std::vector<std::string> &names);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_DIFFERENCE_H
