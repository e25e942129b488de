// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words and errors in messages.
#ifndef RUNTIME_SWARMX_WIREWORDS_H
#define RUNTIME_SWARMX_WIREWORDS_H

#include "runtime/engine/HostPort.h"
#include "runtime/swarmx/Link.h"

#include <exception>

namespace wsec::runtime {

/// Adds rows, length and whether there are halves; the words, and the halves.
void packWords(const WordView &view, Message &message);
/// The words whose numbers begin at `at`.
WordView unpackWords(const Message &message, size_t at);
/// Adds the class of an Error and one, else 0; the text.
void packError(std::exception_ptr why, Message &message);
/// The error whose number is at `at`.
std::exception_ptr unpackError(const Message &message, size_t at);

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_WIREWORDS_H
