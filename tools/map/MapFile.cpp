// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/map/MapFile.h"
#include "compiler/emit/Emit.h"
#include "dialects/pe/Pe.h"
#include "dialects/wse/Wse.h"

using namespace mlir;
using namespace wsec;

void map::MapFile::view(wse::ProgramOp program) {
  viewed = viewPlacement(program);
}

/// Words that cross links are in the code.
LogicalResult map::MapFile::write(ModuleOp module) {
  if (!viewed)
    return success();
  if (!module.getOps<pe::ProgramOp>().empty()) {
    FailureOr<runtime::LinkWords> words = countLinkWords(module);
    if (failed(words))
      return failure();
    addLinkWords(*words, *viewed);
  }
  std::string problem = writePlacement(*viewed, path, measured);
  return problem.empty()
             ? success()
             : LogicalResult(emitError(UnknownLoc::get(module.getContext()))
                             << problem);
}
