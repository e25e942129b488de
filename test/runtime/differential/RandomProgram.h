// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs drawn by lot. What they compute does not depend on who is faster:
// each color is sent and received in an order that the program fixes, and
// tasks that may start in any order touch different memory.
#ifndef TEST_RUNTIME_DIFFERENTIAL_RANDOMPROGRAM_H
#define TEST_RUNTIME_DIFFERENTIAL_RANDOMPROGRAM_H

#include "test/runtime/TaskProgram.h"
#include "test/runtime/differential/Choices.h"

#include <memory>
#include <string>
#include <vector>

namespace wsec::runtime::test {

/// What is wrong with a program.
enum class Break {
  Nothing,
  MissingRoute, ///< a router on a path has no rule
  WrongPort,    ///< a router receives from another side
  TooManyWords, ///< more is sent than received
  TooFewWords,  ///< less
  NobodySends,  ///< all wait
  CyclicWait,   ///< two PEs, each for the other to begin
  WrongType,    ///< sender and receiver differ
  WrongPacking,
  OutOfBounds, ///< of a buffer, seen only as the program runs
  UninitializedRead,
  MicrothreadBusy,
  MissingTask,
  BlockedTask, ///< a data task that nobody unblocks
  DivisionByZero,
  NegativeExtent,
  NoAdvance, ///< a switch stays where it is
  NoQueue,   ///< all are bound to other colors
};
inline constexpr int breaks = int(Break::NoQueue) + 1;
const char *breakName(Break kind);

/// How routines are started: by calls of the host, with everything of the
/// language; by wavelets of a launch color, with what the compiler emits; or
/// one by a wavelet, with everything.
enum class Launching { RemoteCalls, Commands, OneCommand };

struct RandomProgram {
  program::ProgramT source;
  /// A channel of a stream, by the stream's index.
  struct Channel {
    bool in;
    int words;
  };
  std::vector<Channel> channels;
  std::vector<uint32_t> inputs, outputs; ///< tensors
  Break broken = Break::Nothing;         ///< what is, in fact

  /// Valid until the next call or the end of this.
  const program::Program &finish();
  /// Inputs and room for outputs; the same numbers for everyone.
  TensorHost host() const;
  /// In the pe dialect: for people, and for wsec.
  std::string text() const;

private:
  std::shared_ptr<flatbuffers::FlatBufferBuilder> builder;
};

/// With `broken`, something in it is wrong if there is a place for it.
RandomProgram randomProgram(Choices &choices, Break broken = Break::Nothing,
                            Launching launching = Launching::RemoteCalls);

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_RANDOMPROGRAM_H
