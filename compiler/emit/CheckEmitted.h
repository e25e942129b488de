// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_EMIT_CHECKEMITTED_H
#define COMPILER_EMIT_CHECKEMITTED_H

#include <optional>
#include <string>
#include <string_view>

namespace wsec::emit {

/// Asks the loader's own checker about a flatbuffer. Returns what it would
/// refuse, starting with the name of the error class.
std::optional<std::string> findLoadError(std::string_view flatbuffer);

} // namespace wsec::emit

#endif // COMPILER_EMIT_CHECKEMITTED_H
