// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_MODULENAMES_H
#define COMPILER_IMPORT_MODULENAMES_H

#include "compiler/import/ModelFile.h"
#include <map>
#include <string>

namespace wsec {

/// By initializer, layers.0.q_proj.weight of one that is called val_12: so
/// PyTorch's exporter numbers what it computes, such as the transposed weight
/// of a product, and beside the product it writes whose module that is. Only
/// where one module has one of them, and nothing else is called so.
///
/// Patterns match either name. The parameter keeps that of its initializer: it
/// is not the tensor, [out, in], that PyTorch calls by the other one.
using ModuleNames = std::map<std::string, std::string>;
ModuleNames moduleNames(const GraphProto &graph);

} // namespace wsec

#endif // COMPILER_IMPORT_MODULENAMES_H
