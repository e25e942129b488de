// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of map/, which the build puts into the library.

#ifndef WSEC_COMPILER_PLACE_PAGEPARTS_H
#define WSEC_COMPILER_PLACE_PAGEPARTS_H

#include "llvm/ADT/StringRef.h"

namespace wsec {

extern const llvm::StringLiteral pageText, styleText, scriptText;

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_PAGEPARTS_H
