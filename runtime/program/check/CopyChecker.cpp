// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Checker.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/RectSet.h"
#include "runtime/program/check/EntryChecker.h"
#include "runtime/program/check/HostChecker.h"
#include "runtime/program/check/Where.h"
#include "runtime/program/facts/NamedBuffers.h"

#include <string>

namespace wsec::runtime {

namespace {

using program::HostCopy;
using program::Tensor;

const Tensor &checkTensor(const HostCopy &copy, const program::Program &program,
                          const Where &where) {
  const Tensor &tensor = tensorAt(program, copy.tensor(), "refers to", where);
  bool out = copy.direction() == program::Direction::Out;
  if (tensor.role() == program::TensorRole::Intermediate)
    throw badProgram(where, "copies " + inQuotes(tensor.name()->string_view()) +
                                ", which is an intermediate: only streams read "
                                "and write these");
  if (out != (tensor.role() == program::TensorRole::Output))
    throw badProgram(where, std::string(out ? "writes" : "reads") + " tensor " +
                                inQuotes(tensor.name()->str()) + ", which is " +
                                (out ? "not " : "") + "an output");
  if (out && tensor.alias() >= 0)
    throw badProgram(where, "writes output " + inQuotes(tensor.name()->str()) +
                                ", which equals another tensor");
  uint64_t elements = copy.elements() * uint64_t(rectSize(*copy.rect()));
  if (elements != elementCount(tensor))
    throw badProgram(where, "copies " + std::to_string(elements) +
                                " elements, tensor " +
                                inQuotes(tensor.name()->str()) + " has " +
                                std::to_string(elementCount(tensor)));
  return tensor;
}

void checkShare(const HostCopy &copy, const program::Buffer &buffer,
                const Tensor &tensor, const program::PEClass &peClass,
                const Where &where) {
  std::string name = "buffer " + inQuotes(buffer.name()->str()) + " of class " +
                     inQuotes(peClass.name()->str());
  if (buffer.type() != tensor.type())
    throw badProgram(where, name + " has other elements than tensor " +
                                inQuotes(tensor.name()->str()));
  uint32_t elements = buffer.bytes() / elementBytes(buffer.type());
  if (copy.elements() > elements)
    throw errorAt(ErrorClass::OutOfBounds, where,
                  "copies " + std::to_string(copy.elements()) +
                      " elements of " + name + ", which has " +
                      std::to_string(elements));
}

void checkCopy(const HostCopy &copy, const program::Program &program,
               const program::Entry &entry, const NamedBuffers &buffers,
               CheckerWork &work, const Where &where) {
  const program::Machine &machine = *program.machine();
  if (copy.direction() > program::Direction::MAX)
    throw badProgram(where, "has an unknown direction");
  if (copy.order() > program::CopyOrder::MAX)
    throw badProgram(where, "has an unknown order");
  if (!validRect(*copy.rect(), machine.width(), machine.height()))
    throw badProgram(
        where, "the rectangle " + describeRect(*copy.rect()) +
                   " is none: " + rectRule(machine.width(), machine.height()));
  const uint32_t launches = entry.launches()->size();
  if (copy.launch() > launches)
    throw badProgram(where, "comes before launch " +
                                std::to_string(copy.launch()) +
                                ", which does not exist");
  // Between launches that overlap there is no time at which to copy.
  if (program.launch_color() != noLaunchColor && copy.launch() != 0 &&
      copy.launch() != launches)
    throw badProgram(
        where, "comes before launch " + std::to_string(copy.launch()) + " of " +
                   std::to_string(launches) + ", which wavelets of color " +
                   std::to_string(program.launch_color()) +
                   " start: they overlap, so the host copies before the "
                   "first and after the last only; launch by calls of "
                   "the host to copy between them");
  const Tensor &tensor = checkTensor(copy, program, where);
  const int64_t covered = buffers.visit(
      *copy.buffer(), *copy.rect(), work, where,
      [&](const program::PEClass &peClass, const program::Buffer &buffer) {
        checkShare(copy, buffer, tensor, peClass, where);
      });
  if (covered == rectSize(*copy.rect()))
    return;
  const std::string name = copy.buffer()->str();
  throw badProgram(where, "buffer " + inQuotes(name) + " is in " +
                              std::to_string(covered) + " of the " +
                              std::to_string(rectSize(*copy.rect())) + " PEs " +
                              describeRect(*copy.rect()) +
                              (covered ? "; a copy takes all of a rectangle"
                                       : buffers.nearest(*copy.buffer())));
}

} // namespace

void checkCopies(const program::Program &program, CheckerWork &work) {
  size_t copies = 0;
  for (const program::Entry *entry : *program.entries())
    copies += entry->copies() ? entry->copies()->size() : 0;
  if (copies > largestCopyList)
    throw badProgram({nullptr, "program"}, "has too many copies");
  if (copies == 0)
    return;
  const NamedBuffers buffers(program);
  for (const program::Entry *entry : *program.entries()) {
    const Where whose{nullptr, "entry", -1, entry->name()};
    const Where *outer = isPlain(program) ? nullptr : &whose;
    int64_t index = 0;
    if (entry->copies())
      for (const HostCopy *copy : *entry->copies())
        checkCopy(*copy, program, *entry, buffers, work,
                  {outer, "copy", index++});
  }
}

} // namespace wsec::runtime
