// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Checker.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/RectSet.h"
#include "runtime/program/check/HostChecker.h"
#include "runtime/program/check/ScalarChecker.h"
#include "runtime/program/check/Where.h"
#include "runtime/program/facts/NamedBuffers.h"

#include <set>
#include <string_view>

namespace wsec::runtime {

using program::Tensor;
using program::TensorRole;

/// What the program says of a value; whether every element is somewhere, and
/// in its buffer, is found when it is read.
static void checkValue(const program::Value &value,
                       const program::Program &program,
                       const program::Entry &entry, CheckerWork &work,
                       const Where &where) {
  const program::Machine &machine = *program.machine();
  const program::Rect &rect = *value.rect();
  if (value.type() > program::ElementType::MAX)
    throw badProgram(where, "has the unknown element type " +
                                std::to_string(int(value.type())));
  checkShape(value.shape(), where);
  if (value.launch() >= entry.launches()->size())
    throw badProgram(where, "is made by launch " +
                                std::to_string(value.launch()) +
                                ", the entry has " +
                                std::to_string(entry.launches()->size()));
  if (!validRect(rect, machine.width(), machine.height()))
    throw badProgram(
        where, "the rectangle " + describeRect(rect) +
                   " is none: " + rectRule(machine.width(), machine.height()));
  checkAligned(*value.strides(), where);
  checkAligned(*value.places(), where);
  const size_t rank = value.extents()->size();
  if (rank != value.strides()->size() || rank != value.places()->size() ||
      rank > largestSegmentRank)
    throw badProgram(where, "has " + std::to_string(rank) + " extents, " +
                                std::to_string(value.strides()->size()) +
                                " strides and " +
                                std::to_string(value.places()->size()) +
                                " places, expected as many, at most " +
                                std::to_string(largestSegmentRank));
  const auto scalars = checkScalars(value.scalars(), {{rect}, {}}, work, where);
  checkAffine(value.offset(), scalars, {}, {&where, "offset"});
  checkAffine(value.place(), scalars, {}, {&where, "place"});
  for (const program::Affine *extent : *value.extents())
    checkAffine(extent, scalars, {}, {&where, "extent"});
  for (unsigned d = 0; d < rank; ++d) {
    checkStride("stride", value.strides()->Get(d), where);
    checkStride("place", value.places()->Get(d), where);
  }
}

/// Of one entry.
static void checkValues(const program::Program &program,
                        const program::Entry &entry,
                        const NamedBuffers &buffers, const Where *outer,
                        CheckerWork &work) {
  std::set<std::string_view> names;
  for (const Tensor *tensor : *program.tensors())
    if (tensor->role() == TensorRole::Input ||
        tensor->role() == TensorRole::Output)
      names.insert(tensor->name()->string_view());
  int64_t index = 0;
  uint32_t launch = 0;
  for (const program::Value *value : *entry.values()) {
    Where where{outer, "value", index++, value->name()};
    if (!names.insert(value->name()->string_view()).second)
      throw badProgram(where, "has the name of another value, or of an input "
                              "or output");
    checkValue(*value, program, entry, work, where);
    if (value->launch() < launch)
      throw badProgram(where, "is made before the value that stands before it");
    launch = value->launch();
    const int64_t covered = buffers.visit(
        *value->buffer(), *value->rect(), work, where,
        [&](const program::PEClass &peClass, const program::Buffer &buffer) {
          if (buffer.type() != value->type())
            throw badProgram(where, "buffer " + inQuotes(buffer.name()->str()) +
                                        " of class " +
                                        inQuotes(peClass.name()->str()) +
                                        " has other elements");
        });
    if (covered != rectSize(*value->rect()))
      throw badProgram(where,
                       "buffer " + inQuotes(value->buffer()->str()) +
                           " is in " + std::to_string(covered) + " of the " +
                           std::to_string(rectSize(*value->rect())) + " PEs " +
                           describeRect(*value->rect()) +
                           (covered ? "; a value takes all of a rectangle"
                                    : buffers.nearest(*value->buffer())));
  }
}

void checkValues(const program::Program &program, CheckerWork &work) {
  const NamedBuffers buffers(program);
  for (const program::Entry *entry : *program.entries()) {
    const Where whose{nullptr, "entry", -1, entry->name()};
    if (entry->values())
      checkValues(program, *entry, buffers, isPlain(program) ? nullptr : &whose,
                  work);
  }
}

} // namespace wsec::runtime
