// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_MAP_PASSES_H
#define WSEC_TOOLS_MAP_PASSES_H

#include "mlir/Pass/Pass.h"

namespace wsec::map {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tools/map/Passes.h.inc"

} // namespace wsec::map

#endif // WSEC_TOOLS_MAP_PASSES_H
