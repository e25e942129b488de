// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/OutputText.h"
#include "compiler/InputText.h"
#include "compiler/OutputPaths.h"

using namespace mlir;
using namespace wsec;

/// Elements of a constant that are always printed.
static constexpr int64_t shortConstant = 64;

llvm::Error wsec::writeModule(ModuleOp module, StringRef path,
                              bool printsConstants) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  if (!printsConstants)
    flags.elideLargeElementsAttrs(shortConstant);
  module->print(os, flags);
  if (size_t elided = StringRef(text).count(elidedConstant))
    text = "// " + std::to_string(elided) + " constants of more than " +
           std::to_string(shortConstant) +
           " elements are left out; --print-constants prints all, to be read "
           "back\n" +
           text;
  return writeText(path, text);
}
