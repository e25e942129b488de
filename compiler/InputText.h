// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of strangers, before a parser sees it.
#ifndef COMPILER_INPUTTEXT_H
#define COMPILER_INPUTTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <optional>
#include <string>

namespace wsec {

/// Parsers call themselves at each bracket, and the stack is finite. IR of ours
/// nests some ten deep, JSON two.
inline constexpr unsigned maxNestingOfIR = 256, maxNestingOfJson = 64;

/// Where brackets outside of strings and `//` comments nest deeper than `most`,
/// or an expression has more terms than a parser has room for on its stack, in
/// words; nothing if they never do.
std::optional<std::string> nestingProblem(llvm::StringRef text, unsigned most);

/// The IR in a file, to be parsed: text that does not nest too deeply and has
/// all its constants. Refuses what is no regular file.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readIR(llvm::StringRef path);

/// A file that is read, or why not. A folder, a device or a FIFO, which may
/// never end, is refused at once. Text ends with a 0, as parsers want it.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegularFile(llvm::StringRef path, bool isText = true);

/// What MLIR prints instead of the elements of a large constant.
inline constexpr llvm::StringLiteral elidedConstant =
    "dense_resource<__elided__>";

} // namespace wsec

#endif // COMPILER_INPUTTEXT_H
