// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Strip.h"

#include "runtime/program/Errors.h"
#include "runtime/program/Scalars.h"

#include <algorithm>
#include <bit>

namespace wsec::runtime {

using program::Port;

Strip::Strip(int index, int classIndex, const ClassCode &code, Coordinate first,
             int yStep, std::vector<int64_t> values)
    : index(index), classIndex(classIndex), code(code), first(first),
      yStep(yStep), scalars(std::move(values)), varying(scalars.size()),
      active(code.instructions) {}

std::vector<int64_t> Strip::laneScalars(int lane) const {
  std::vector<int64_t> values;
  Coordinate at = pe(lane);
  evaluateScalars(code.source->scalars(), at.x, at.y, values);
  return values;
}

bool Strip::uniform(const InstructionCode &instruction) const {
  return std::none_of(instruction.looseScalars.begin(),
                      instruction.looseScalars.end(),
                      [&](uint16_t scalar) { return varying[scalar]; });
}

const std::vector<int> &Strip::activeLanes(const InstructionCode &instruction) {
  std::unique_ptr<std::vector<int>> &lanesOf = active[instruction.index];
  if (!lanesOf) {
    lanesOf = std::make_unique<std::vector<int>>();
    bool varies = instruction.guard >= 0 && varying[instruction.guard];
    for (int lane = 0; lane < lanes; ++lane)
      if (instruction.guard < 0 ||
          (varies ? laneScalars(lane) : scalars)[instruction.guard] != 0)
        lanesOf->push_back(lane);
  }
  return *lanesOf;
}

void Strip::reset() {
  size_t words = size_t(code.endDataWord - code.firstDataWord);
  memory.reset(new float[words * size_t(lanes)]);
  written.assign((words + 63) / 64, 0);
}

/// Bits [from % 64, ...) of the word of 64 that holds bit `from`, at most
/// `count`; returns how many.
static int64_t bitRun(int64_t from, int64_t count, uint64_t &mask) {
  int64_t shift = from % 64, bits = std::min<int64_t>(count, 64 - shift);
  mask = (bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1) << shift;
  return bits;
}

int64_t Strip::firstUninitialised(int64_t word, int64_t count) const {
  int64_t at = word - code.firstDataWord, end = at + count;
  while (at < end) {
    uint64_t mask;
    int64_t bits = bitRun(at, end - at, mask);
    uint64_t missing = mask & ~written[size_t(at / 64)];
    if (missing)
      return code.firstDataWord + at / 64 * 64 + std::countr_zero(missing);
    at += bits;
  }
  return word + count;
}

void Strip::markInitialised(int64_t word, int64_t count) {
  int64_t at = word - code.firstDataWord, end = at + count;
  while (at < end) {
    uint64_t mask;
    int64_t bits = bitRun(at, end - at, mask);
    written[size_t(at / 64)] |= mask;
    at += bits;
  }
}

/// Whether PEs (x, y) and (x, y + 1) get one color from different senders
/// along the column. A strip across them would receive different words in one
/// vector.
static bool differentCasts(const RouterTables &router, int colors, int x,
                           int y) {
  auto vertical = [](Port port) {
    return port == Port::North || port == Port::South;
  };
  Coordinate upper{x, y}, lower{x, y + 1};
  for (int color = 0; color < colors; ++color) {
    if (!router.transmits(color, upper, Port::Ramp) ||
        !router.transmits(color, lower, Port::Ramp))
      continue;
    Port up = router.receive(color, upper), low = router.receive(color, lower);
    bool same =
        (low == Port::North && router.transmits(color, upper, Port::South)) ||
        (up == Port::South && router.transmits(color, lower, Port::North));
    if (!same && (vertical(up) || vertical(low)))
      return true;
  }
  return false;
}

namespace {

class StripMaker {
public:
  StripMaker(const program::Program &program,
             const std::vector<ClassCode> &classes, const RouterTables &router)
      : program(program), classes(classes), router(router) {}

  std::vector<std::unique_ptr<Strip>> make() {
    for (size_t c = 0; c < classes.size(); ++c)
      for (const program::Rect *rect : *classes[c].source->rects()) {
        if (rect->xstep() < 1 || rect->ystep() < 1 || rect->x0() < 0 ||
            rect->y0() < 0 || rect->x1() > router.width() ||
            rect->y1() > router.height())
          throw Error(ErrorClass::BadProgram,
                      "class '" + classes[c].name + "' leaves the mesh");
        for (int x = rect->x0(); x < rect->x1(); x += rect->xstep())
          cutColumn(int(c), *rect, x);
      }
    return std::move(strips);
  }

private:
  void cutColumn(int c, const program::Rect &rect, int x) {
    const ClassCode &code = classes[c];
    Strip *open = nullptr;
    std::vector<int64_t> values;
    for (int y = rect.y0(); y < rect.y1(); y += rect.ystep()) {
      evaluateScalars(code.source->scalars(), x, y, values);
      if (!open || !continues(*open, values, x, y)) {
        strips.push_back(std::make_unique<Strip>(int(strips.size()), c, code,
                                                 Coordinate{x, y}, rect.ystep(),
                                                 values));
        open = strips.back().get();
        continue;
      }
      ++open->lanes;
      for (size_t i = 0; i < values.size(); ++i)
        if (values[i] != open->scalars[i])
          open->varying[i] = true;
    }
  }

  bool continues(const Strip &strip, const std::vector<int64_t> &values, int x,
                 int y) const {
    for (uint16_t scalar : strip.code.strictScalars)
      if (values[scalar] != strip.scalars[scalar])
        return false;
    return strip.yStep != 1 ||
           !differentCasts(router, program.machine()->colors(), x, y - 1);
  }

  const program::Program &program;
  const std::vector<ClassCode> &classes;
  const RouterTables &router;
  std::vector<std::unique_ptr<Strip>> strips;
};

} // namespace

std::vector<std::unique_ptr<Strip>>
makeStrips(const program::Program &program,
           const std::vector<ClassCode> &classes, const RouterTables &router) {
  return StripMaker(program, classes, router).make();
}

} // namespace wsec::runtime
