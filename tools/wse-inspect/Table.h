// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_INSPECT_TABLE_H
#define TOOLS_WSE_INSPECT_TABLE_H

#include "tools/wse-inspect/Summary.h"

#include <string>
#include <vector>

namespace wsec::inspect {

/// A string as it is, anything else as JSON.
std::string plain(const Json &value);

/// Rows of cells under a heading; columns of numbers stand right.
std::string table(const std::vector<std::string> &heads,
                  const std::vector<std::vector<Json>> &rows);

/// "a, b, c".
std::string joined(const Json &list);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_TABLE_H
