// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_ERRORS_H
#define RUNTIME_PROGRAM_ERRORS_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace wsec::runtime {

/// What the machine would not do, or what the host was not given. The names
/// are part of the interface: messages, reports and documentation use them.
enum class ErrorClass {
  // The machine refuses.
  SramOverflow,      ///< code and buffers exceed the SRAM of a PE
  MissingRoute,      ///< a wavelet arrives where its color has no rule
  RouteConflict,     ///< a color of a PE has two receive ports
  OutOfBounds,       ///< an operand leaves its buffer or tensor
  UninitializedRead, ///< a word is read that nothing has written
  Deadlock,          ///< everybody waits
  UnreadTraffic,     ///< wavelets are left over at the end
  PackingMismatch,   ///< sender and receiver pack elements differently
  MicrothreadBusy,   ///< a microthread is given work while it has some
  MissingTask,       ///< a control wavelet names a task its PE does not have
  DataRace,          ///< a value would depend on how fast a microthread is
  MachineLimit,      ///< more channels, queues, ids or registers than there are
  // The program or its surroundings are at fault.
  BadProgram,        ///< the file is not a program, or contradicts itself
  WeightFileChanged, ///< a weight file is not the one compiled against
  BadCall,           ///< no such entry or argument, or a value out of range
  BadState,          ///< a file of a state is none, damaged or foreign
  BadTensor,         ///< a tensor does not fit name, type, shape or range
  IoError,           ///< a file cannot be read or written
  WorkLimit,         ///< the run takes more work than the host allowed
  HostLimit,         ///< the run takes more memory than the host allowed
  IntegerError,      ///< a zero divisor, or a result that must not wrap does
  NotFinite,         ///< the loss or a gradient of a training step is no number
};

/// The name as printed, e.g. "SramOverflow".
std::string_view errorClassName(ErrorClass errorClass);

/// A step of the way to a place in a program: "statement 5", "class 'rows'".
struct PlaceStep {
  std::string what;
  int64_t index = -1;
  std::string name;
};
std::string toString(const PlaceStep &step);

/// The runtime's only exception. `what()` starts with the name of the class.
class Error : public std::runtime_error {
public:
  Error(ErrorClass errorClass, const std::string &message);
  /// At a place in the program, which the message begins with.
  Error(ErrorClass errorClass, std::vector<PlaceStep> place,
        const std::string &detail);

  ErrorClass errorClass() const { return kind; }
  /// The message without the name of the class.
  const std::string &message() const { return text; }
  /// From the outside in; empty where no single place is at fault.
  const std::vector<PlaceStep> &place() const { return steps; }
  /// The message without the place.
  const std::string &detail() const { return rest; }

private:
  ErrorClass kind;
  std::string text;
  std::vector<PlaceStep> steps;
  std::string rest;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_ERRORS_H
