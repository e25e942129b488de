// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_HELP_H
#define TOOLS_WSEC_HELP_H

#include "tools/flags/LlvmCommandLine.h"

namespace wsec {

/// What `wsec --help` says: the usage, and its flags in groups.
tools::LlvmTool describeTool();

} // namespace wsec

#endif // TOOLS_WSEC_HELP_H
