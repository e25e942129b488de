// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words and errors in messages, and messages as bytes.
#ifndef RUNTIME_SWARMX_WIREWORDS_H
#define RUNTIME_SWARMX_WIREWORDS_H

#include "runtime/engine/HostPort.h"
#include "runtime/swarmx/Link.h"

#include <climits>
#include <exception>
#include <vector>

namespace wsec::runtime {

/// Adds rows, length and whether there are halves; the words, and the halves.
void packWords(const WordView &view, Message &message);
/// The words whose numbers begin at `at`.
WordView unpackWords(const Message &message, size_t at);
/// Adds the class of an Error and one, else 0; the text.
void packError(std::exception_ptr why, Message &message);
/// The error whose number is at `at`.
std::exception_ptr unpackError(const Message &message, size_t at);
/// Until all other processes have said that they found the program; throws what
/// one of them has found wrong with it. `ready` counts them, and this one.
void awaitOthers(Link &link, unsigned &ready);

/// What MPI counts in one message.
inline constexpr uint64_t mostMessageBytes = INT_MAX;
/// Kind, how many numbers, the numbers, the bytes. HostLimit where these are
/// more than `most`.
std::vector<uint8_t> encode(const Message &message,
                            uint64_t most = mostMessageBytes);
/// IoError for what `encode` has not made.
Message decode(const std::vector<uint8_t> &data);

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_WIREWORDS_H
