// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Checker.h"
#include "runtime/program/EntryChecker.h"
#include "runtime/program/HostChecker.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/RectSet.h"
#include "runtime/program/Where.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace wsec::runtime {

namespace {

using program::HostCopy;
using program::Tensor;

/// The number below `modulus` that, times `a`, leaves 1; the two share no
/// divisor.
int64_t inverse(int64_t a, int64_t modulus) {
  int64_t r = modulus, next = a % modulus, t = 0, inverse = 1;
  while (next != 0) {
    const int64_t quotient = r / next;
    r = std::exchange(next, r - quotient * next);
    t = std::exchange(inverse, t - quotient * inverse);
  }
  return (t % modulus + modulus) % modulus;
}

/// Coordinates that two strided ranges share: every lcm(astep, bstep) from the
/// first one on, by the Chinese remainder theorem.
int64_t commonCount(int64_t a0, int64_t a1, int64_t astep, int64_t b0,
                    int64_t b1, int64_t bstep) {
  const int64_t divisor = std::gcd(astep, bstep);
  if ((b0 - a0) % divisor != 0)
    return 0;
  const int64_t modulus = bstep / divisor, period = astep * modulus;
  const int64_t wanted = ((b0 - a0) / divisor % modulus + modulus) % modulus;
  int64_t first =
      a0 + wanted * inverse(astep / divisor, modulus) % modulus * astep;
  const int64_t low = std::max(a0, b0), high = std::min(a1, b1);
  if (first < low)
    first += (low - first + period - 1) / period * period;
  return first < high ? (high - 1 - first) / period + 1 : 0;
}

int64_t commonPes(const program::Rect &a, const program::Rect &b) {
  return commonCount(a.x0(), a.x1(), a.xstep(), b.x0(), b.x1(), b.xstep()) *
         commonCount(a.y0(), a.y1(), a.ystep(), b.y0(), b.y1(), b.ystep());
}

/// Buffers by name, with their classes.
using Buffers =
    std::multimap<std::string_view,
                  std::pair<const program::PEClass *, const program::Buffer *>>;

Buffers buffersOf(const program::Program &program) {
  Buffers buffers;
  for (const program::PEClass *peClass : *program.classes())
    if (peClass->buffers())
      for (const program::Buffer *buffer : *peClass->buffers())
        buffers.insert({buffer->name()->string_view(), {peClass, buffer}});
  return buffers;
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

/// A class has one buffer of a name that is copied.
void requireOneEach(Buffers::const_iterator named, Buffers::const_iterator end,
                    const Where &where) {
  const program::PEClass *before = nullptr;
  for (; named != end; ++named) {
    auto [peClass, buffer] = named->second;
    if (std::exchange(before, peClass) == peClass)
      throw badProgram(where, "class '" + peClass->name()->str() +
                                  "' has two buffers '" +
                                  buffer->name()->str() + "'");
  }
}

void checkCopy(const HostCopy &copy, const program::Program &program,
               const program::Entry &entry, const Buffers &buffers,
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
  int64_t covered = 0;
  auto [named, end] = buffers.equal_range(copy.buffer()->string_view());
  requireOneEach(named, end, where);
  for (; named != end; ++named) {
    auto [peClass, buffer] = named->second;
    work.add(1, peClass->rects()->size(), "to find who has its buffer", where);
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

void checkCopies(const program::Program &program, CheckerWork &work) {
  size_t copies = 0;
  for (const program::Entry *entry : *program.entries())
    copies += entry->copies() ? entry->copies()->size() : 0;
  if (copies > largestCopyList)
    throw badProgram({nullptr, "program"}, "has too many copies");
  if (copies == 0)
    return;
  const Buffers buffers = buffersOf(program);
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
