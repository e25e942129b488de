// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_RUN_PARAMETERS_H
#define TOOLS_WSE_RUN_PARAMETERS_H

#include "runtime/host/Session.h"

#include <string>

namespace wsec::run {

/// Gives all parameters of a program, which `wsec --train` or `--lora` names,
/// what a safetensors file has by their names, an index, a folder or a
/// checkpoint (SafetensorsModel::open). Throws BadTensor where one is missing,
/// of another type or shape, or none of the program's.
void bindParameters(runtime::Session &session, const std::string &path);

} // namespace wsec::run

#endif // TOOLS_WSE_RUN_PARAMETERS_H
