// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Checker.h"
#include "runtime/program/HostChecker.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/RectSet.h"
#include "runtime/program/Where.h"

#include <algorithm>

namespace wsec::runtime {

namespace {

using program::HostCopy;
using program::Tensor;

/// Coordinates that two strided ranges share.
int64_t commonCount(int32_t a0, int32_t a1, int32_t astep, int32_t b0,
                    int32_t b1, int32_t bstep) {
  if (astep < bstep)
    return commonCount(b0, b1, bstep, a0, a1, astep);
  if (astep == 1)
    return std::max(0, std::min(a1, b1) - std::max(a0, b0));
  int64_t count = 0;
  for (int32_t a = a0; a < a1; a += astep)
    count += a >= b0 && a < b1 && (a - b0) % bstep == 0;
  return count;
}

int64_t commonPes(const program::Rect &a, const program::Rect &b) {
  return commonCount(a.x0(), a.x1(), a.xstep(), b.x0(), b.x1(), b.xstep()) *
         commonCount(a.y0(), a.y1(), a.ystep(), b.y0(), b.y1(), b.ystep());
}

const program::Buffer *findBuffer(const program::PEClass &peClass,
                                  const HostCopy &copy) {
  if (peClass.buffers())
    for (const program::Buffer *buffer : *peClass.buffers())
      if (buffer->name()->string_view() == copy.buffer()->string_view())
        return buffer;
  return nullptr;
}

std::vector<std::string> bufferNames(const program::Program &program) {
  std::vector<std::string> names;
  for (const program::PEClass *peClass : *program.classes())
    if (peClass->buffers())
      for (const program::Buffer *buffer : *peClass->buffers())
        names.push_back(buffer->name()->str());
  return names;
}

const Tensor &checkTensor(const HostCopy &copy, const program::Program &program,
                          const Where &where) {
  if (copy.tensor() >= program.tensors()->size())
    throw badProgram(where, "refers to tensor " +
                                std::to_string(copy.tensor()) +
                                ", which does not exist");
  const Tensor &tensor = *program.tensors()->Get(copy.tensor());
  bool out = copy.direction() == program::Direction::Out;
  if (out != (tensor.role() == program::TensorRole::Output))
    throw badProgram(where, std::string(out ? "writes" : "reads") +
                                " tensor '" + tensor.name()->str() +
                                "', which is " + (out ? "not " : "") +
                                "an output");
  if (out && tensor.alias() >= 0)
    throw badProgram(where, "writes output '" + tensor.name()->str() +
                                "', which equals another tensor");
  uint64_t elements = copy.elements() * uint64_t(rectSize(*copy.rect()));
  if (elements != elementCount(tensor))
    throw badProgram(where, "copies " + std::to_string(elements) +
                                " elements, tensor '" + tensor.name()->str() +
                                "' has " +
                                std::to_string(elementCount(tensor)));
  return tensor;
}

void checkShare(const HostCopy &copy, const program::Buffer &buffer,
                const Tensor &tensor, const program::PEClass &peClass,
                const Where &where) {
  std::string name = "buffer '" + buffer.name()->str() + "' of class '" +
                     peClass.name()->str() + "'";
  if (buffer.type() != tensor.type())
    throw badProgram(where, name + " has other elements than tensor '" +
                                tensor.name()->str() + "'");
  uint32_t elements = buffer.bytes() / elementBytes(buffer.type());
  if (copy.elements() > elements)
    throw errorAt(ErrorClass::OutOfBounds, where,
                  "copies " + std::to_string(copy.elements()) +
                      " elements of " + name + ", which has " +
                      std::to_string(elements));
}

void checkCopy(const HostCopy &copy, const program::Program &program,
               const Where &where) {
  const program::Machine &machine = *program.machine();
  if (copy.direction() > program::Direction::MAX)
    throw badProgram(where, "has an unknown direction");
  if (copy.order() > program::CopyOrder::MAX)
    throw badProgram(where, "has an unknown order");
  if (!validRect(*copy.rect(), machine.width(), machine.height()))
    throw badProgram(
        where, "the rectangle " + describeRect(*copy.rect()) +
                   " is none: " + rectRule(machine.width(), machine.height()));
  if (copy.launch() > program.launches()->size())
    throw badProgram(where, "comes before launch " +
                                std::to_string(copy.launch()) +
                                ", which does not exist");
  const Tensor &tensor = checkTensor(copy, program, where);
  int64_t covered = 0;
  for (const program::PEClass *peClass : *program.classes()) {
    const program::Buffer *buffer = findBuffer(*peClass, copy);
    if (!buffer)
      continue;
    int64_t common = 0;
    for (const program::Rect *rect : *peClass->rects())
      common += commonPes(*rect, *copy.rect());
    if (common > 0)
      checkShare(copy, *buffer, tensor, *peClass, where);
    covered += common;
  }
  if (covered == rectSize(*copy.rect()))
    return;
  const std::string name = copy.buffer()->str();
  throw badProgram(where,
                   "buffer '" + name + "' is in " + std::to_string(covered) +
                       " of the " + std::to_string(rectSize(*copy.rect())) +
                       " PEs " + describeRect(*copy.rect()) +
                       (covered ? "; a copy takes all of a rectangle"
                                : nearestNames(name, bufferNames(program))));
}

} // namespace

void checkCopies(const program::Program &program, bool remoteCalls) {
  if (!program.copies())
    return;
  if (program.copies()->size() > largestCopyList)
    throw badProgram({nullptr, "program"}, "has too many copies");
  int64_t index = 0;
  for (const HostCopy *copy : *program.copies()) {
    Where where{nullptr, "copy", index++};
    if (!remoteCalls)
      throw badProgram(where, "needs remote calls");
    checkCopy(*copy, program, where);
  }
}

} // namespace wsec::runtime
