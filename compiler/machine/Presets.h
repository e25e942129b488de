// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machines that come with the compiler, as the JSON text of their files.

#ifndef WSEC_COMPILER_MACHINE_PRESETS_H
#define WSEC_COMPILER_MACHINE_PRESETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace wsec {

struct PresetText {
  llvm::StringRef name;
  llvm::StringRef json;
};

/// In the order in which messages name them.
llvm::ArrayRef<PresetText> presetTexts();

} // namespace wsec

#endif // WSEC_COMPILER_MACHINE_PRESETS_H
