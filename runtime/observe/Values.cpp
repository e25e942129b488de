// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/observe/Values.h"

#include "runtime/pe/Code.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"

#include <algorithm>

namespace wsec::runtime {

Values::Values(const Call &which)
    : call(which), program(call.program()), width(program.machine()->width()) {}

int Values::find(const std::string &name) const {
  const auto *values = call.entry().values();
  for (unsigned i = 0; values && i < values->size(); ++i)
    if (values->Get(i)->name()->string_view() == name)
      return int(i);
  return -1;
}

std::vector<std::string> Values::names() const {
  std::vector<std::string> names;
  if (call.entry().values())
    for (const program::Value *value : *call.entry().values())
      names.push_back(value->name()->str());
  return names;
}

void Values::want(uint32_t index) {
  if (wanted.try_emplace(index).second)
    byLaunch.emplace(value(index).launch(), index);
}

// ---------------------------------------------------------------- pieces

/// visit(element of the tensor, element of the buffer) for all that a PE holds.
template <class Visit>
void Values::visitPiece(const program::Value &value, int pe,
                        const Visit &visit) const {
  std::vector<int64_t> scalars;
  evaluateScalars(value.scalars(), pe % width, pe / width, scalars);
  const size_t rank = value.extents()->size();
  std::vector<int64_t> extents, index(rank);
  for (const program::Affine *extent : *value.extents())
    extents.push_back(evaluateAffine(*extent, scalars));
  if (std::any_of(extents.begin(), extents.end(),
                  [](int64_t extent) { return extent <= 0; }))
    return;
  const int64_t offset = evaluateAffine(*value.offset(), scalars);
  const int64_t place = evaluateAffine(*value.place(), scalars);
  for (size_t d = 0;;) {
    int64_t element = offset, at = place;
    for (size_t i = 0; i < rank; ++i) {
      element += index[i] * value.strides()->Get(unsigned(i));
      at += index[i] * value.places()->Get(unsigned(i));
    }
    if (!visit(element, at))
      return;
    for (d = rank; d > 0 && ++index[d - 1] == extents[d - 1]; --d)
      index[d - 1] = 0;
    if (d == 0)
      return;
  }
}

static bool holds(const program::Rect &rect, int x, int y) {
  return x >= rect.x0() && x < rect.x1() &&
         (x - rect.x0()) % rect.xstep() == 0 && y >= rect.y0() &&
         y < rect.y1() && (y - rect.y0()) % rect.ystep() == 0;
}

static uint64_t countElements(const program::Value &value) {
  uint64_t count = 1;
  if (value.shape())
    for (int64_t extent : *value.shape())
      count *= uint64_t(extent);
  return count;
}

void Values::read(uint32_t index, Wanted &into, int pe) const {
  const program::Value &value = this->value(index);
  const auto size = int64_t(elementBytes(value.type()));
  const BufferCode *buffer = nullptr;
  for (const BufferCode &candidate : state->code(pe)->buffers)
    if (candidate.name == value.buffer()->string_view())
      buffer = &candidate;
  visitPiece(value, pe, [&](int64_t element, int64_t at) {
    const bool inside = element >= 0 && uint64_t(element) < into.known.size() &&
                        at >= 0 && at < buffer->elements;
    if (inside && state->read(pe, buffer->address + at * size, size_t(size),
                              into.elements.data() + element * size)) {
      into.known[size_t(element)] = true;
      return true;
    }
    if (into.problem.empty())
      into.problem = "element " + std::to_string(element) + " of value " +
                     inQuotes(value.name()->string_view()) +
                     " is to be element " + std::to_string(at) + " of buffer " +
                     inQuotes(value.buffer()->str()) + " of PE (" +
                     std::to_string(pe % width) + ", " +
                     std::to_string(pe / width) + "), " +
                     (inside ? "which nobody has written"
                             : "which lies outside of one of them");
    return false;
  });
}

// ---------------------------------------------------------------- the run

void Values::begin(const Inspection &inspection) {
  state = &inspection;
  next.assign(size_t(width) * size_t(program.machine()->height()), 0);
  for (auto &[index, its] : wanted) {
    const program::Value &value = this->value(index);
    const uint64_t count = countElements(value);
    its.elements.assign(count * elementBytes(value.type()), 0);
    its.known.assign(count, false);
    its.problem.clear();
  }
}

void Values::readBefore(int pe, size_t before) {
  auto from = byLaunch.lower_bound(next[size_t(pe)]);
  for (; from != byLaunch.end() && from->first < before; ++from)
    if (holds(*value(from->second).rect(), pe % width, pe / width))
      read(from->second, wanted.at(from->second), pe);
  next[size_t(pe)] = std::max(next[size_t(pe)], before);
}

void Values::enter(ObservedPes pes, size_t launch, int task, double) {
  if (task >= 0 || wanted.empty())
    return;
  for (int pe : pes)
    readBefore(pe, launch);
}

void Values::inspect(const Inspection &inspection, RunEnd end) {
  // Launches that are over in all PEs.
  size_t over = end == RunEnd::Done ? call.launches() : 0;
  if (end == RunEnd::Stopped && untilLaunch < call.launches())
    over = untilLaunch;
  if (!wanted.empty())
    for (int pe = 0; pe < int(next.size()); ++pe)
      if (inspection.code(pe))
        readBefore(pe, over);
  state = nullptr;
}

// ---------------------------------------------------------------- afterwards

const std::vector<uint8_t> &Values::elements(uint32_t index) const {
  const Wanted &its = wanted.at(index);
  const std::string name = inQuotes(value(index).name()->string_view());
  if (!its.problem.empty())
    throw Error(ErrorClass::OutOfBounds, its.problem);
  const auto missing = std::find(its.known.begin(), its.known.end(), false);
  if (missing != its.known.end())
    throw Error(ErrorClass::BadTensor,
                "element " + std::to_string(missing - its.known.begin()) +
                    " of value " + name + " was on no PE when the run ended");
  return its.elements;
}

Values::Place Values::placeOf(uint32_t index, uint64_t wantedElement) const {
  const program::Value &value = this->value(index);
  Place found;
  for (int pe = 0; found.pe < 0 && pe < width * program.machine()->height();
       ++pe)
    if (holds(*value.rect(), pe % width, pe / width))
      visitPiece(value, pe, [&](int64_t element, int64_t at) {
        if (uint64_t(element) == wantedElement)
          found = {pe, at};
        return found.pe < 0;
      });
  return found;
}

} // namespace wsec::runtime
