// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/PrecisionLevel.h"

using namespace mlir;

namespace wsec {

bool hasPrecisionLevel(Operation *op, PrecisionLevel level) {
  auto program = op->getParentOfType<wse::ProgramOp>();
  auto has = program
                 ? program->getAttrOfType<IntegerAttr>(precisionLevelAttrName)
                 : IntegerAttr();
  return has && has.getInt() >= int64_t(level);
}

std::string problemOfPrecisionLevel(int64_t level, StringRef precision) {
  const std::string said = "precision-opt-level=" + std::to_string(level);
  const auto most = int64_t(PrecisionLevel::NarrowAttention);
  if (level < 0 || level > most)
    return said + ": expected 0 to " + std::to_string(most);
  if (level > 0 && precision == "f32")
    return said + ": says what of 16 bits is summed in as many, and "
                  "everything is f32; give --precision=f16, bf16 or cb16";
  return "";
}

} // namespace wsec
