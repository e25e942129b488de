// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_TRAINCOMMAND_H
#define TOOLS_WSEC_TRAINCOMMAND_H

#include "tools/flags/CommandLine.h"

namespace wsec::tools {

/// `wsec train`: a model learns from tokens on one wafer or several.
int runTrain(const std::vector<std::string> &words);

/// Its flags, under headings; all are keys of a configuration's `training`,
/// too.
std::vector<FlagGroup> trainFlags();

} // namespace wsec::tools

#endif // TOOLS_WSEC_TRAINCOMMAND_H
