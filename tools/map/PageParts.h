// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of page/, which the build puts into the library.

#ifndef WSEC_TOOLS_MAP_PAGEPARTS_H
#define WSEC_TOOLS_MAP_PAGEPARTS_H

#include "llvm/ADT/StringRef.h"

namespace wsec::map {

extern const llvm::StringLiteral pageText, styleText, scriptText;

} // namespace wsec::map

#endif // WSEC_TOOLS_MAP_PAGEPARTS_H
