// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_INSPECT_SHOW_H
#define TOOLS_WSE_INSPECT_SHOW_H

#include "tools/wse-inspect/Summary.h"

#include <string>

namespace wsec::inspect {

/// The summary of a program as text for people.
std::string show(const Json &summary);
/// The values of the model that PEs hold, alone.
std::string showValues(const Json &summary);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_SHOW_H
