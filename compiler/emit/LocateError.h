// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_EMIT_LOCATEERROR_H
#define COMPILER_EMIT_LOCATEERROR_H

#include "compiler/emit/CheckEmitted.h"
#include "dialects/pe/Pe.h"

namespace wsec::emit {

/// Reports what the loader would refuse at the op that says it: the statement,
/// buffer or copy, so that whoever wrote the text finds the line.
void reportLoadError(pe::ProgramOp program, const LoadError &error);

} // namespace wsec::emit

#endif // COMPILER_EMIT_LOCATEERROR_H
