// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_PLACECOMMAND_H
#define TOOLS_WSEC_PLACECOMMAND_H

#include <string>
#include <vector>

namespace wsec::tools {

/// `wsec place`: places a kernel graph of the ISPD-2020 contest, or checks
/// where somebody placed it.
int runPlace(const std::vector<std::string> &words);

} // namespace wsec::tools

#endif // TOOLS_WSEC_PLACECOMMAND_H
