// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Strip.h"

#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime {

using program::Port;

Strip::Strip(int index, int classIndex, const ClassCode &code, int column,
             std::vector<int> rowsOfLanes, std::vector<int64_t> values,
             std::vector<bool> varying, std::vector<Along> along)
    : index(index), classIndex(classIndex), code(code), column(column),
      rows(std::move(rowsOfLanes)), lanes(int(rows.size())),
      scalars(std::move(values)), varying(std::move(varying)),
      memory(code.firstDataWord, code.endDataWord, lanes),
      programWords(code, lanes), along(std::move(along)),
      alike(code.instructions), active(scalars.size() + 1) {}

int Strip::laneOf(Coordinate pe) const {
  return int(std::lower_bound(rows.begin(), rows.end(), pe.y) - rows.begin());
}

const std::vector<int64_t> &Strip::laneScalars(int lane) {
  if (scalarsOfLane.empty()) {
    scalarsOfLane = scalars;
    std::vector<size_t> indices;
    for (size_t i = 0; i < scalars.size(); ++i)
      if (varying[i])
        indices.push_back(i);
    std::vector<int64_t> values, all;
    for (int row : rows) {
      evaluateScalars(code.source->scalars(), column, row, values);
      for (size_t i : indices)
        all.push_back(values[i]);
    }
    varyingScalars = LaneScalars(indices, all);
  }
  varyingScalars.copyTo(scalarsOfLane, size_t(lane));
  return scalarsOfLane;
}

bool Strip::findUniform(const InstructionCode &instruction) {
  const bool isUniform = std::none_of(
      instruction.looseScalars.begin(), instruction.looseScalars.end(),
      [&](uint16_t scalar) { return varying[scalar]; });
  alike[size_t(instruction.index)] = isUniform ? Alike::Yes : Alike::No;
  return isUniform;
}

const std::vector<int> &Strip::activeLanes(const InstructionCode &instruction) {
  const int guard = instruction.guard;
  std::unique_ptr<std::vector<int>> &lanesOf = active[size_t(guard + 1)];
  if (!lanesOf) {
    lanesOf = std::make_unique<std::vector<int>>();
    const bool varies = guard >= 0 && varying[size_t(guard)];
    for (int lane = 0; lane < lanes; ++lane)
      if (guard < 0 ||
          (varies ? laneScalars(lane) : scalars)[size_t(guard)] != 0)
        lanesOf->push_back(lane);
    lanesOf->shrink_to_fit();
  }
  return *lanesOf;
}

void Strip::reset() {
  memory.reset(nullptr, uint32_t(index));
  written.reset(2 * (code.endDataWord - code.firstDataWord), lanes);
}

void Strip::fill() {
  for (const BufferCode &buffer : code.buffers) {
    if (!buffer.initial)
      continue;
    const int64_t units = buffer.initial->size() / 2;
    for (int lane = 0; lane < lanes; ++lane)
      for (int64_t unit = 0; unit < units; ++unit)
        std::memcpy(half(buffer.address / 2 + unit, lane),
                    buffer.initial->data() + 2 * unit, 2);
    markInitialised(buffer.address / 2, units, WrittenWords::everyLane);
  }
}

/// Calls `copy(in SRAM, offset, bytes)` for the words and halves of a piece
/// that are written.
template <class Copy>
void Strip::forEachWritten(const UnitSet &written,
                           const PersistentState::Piece &piece, int lane,
                           const Copy &copy) {
  const int64_t first = piece.address / 2 - piece.offset / 2;
  written.forEachRun(
      size_t(piece.offset / 2), size_t((piece.offset + piece.bytes) / 2),
      [&](size_t from, size_t to) {
        for (int64_t unit = int64_t(from); unit < int64_t(to);) {
          const bool word = (unit + first) % 2 == 0 && unit + 1 < int64_t(to);
          copy(half(unit + first, lane), 2 * unit, word ? 4 : 2);
          unit += word ? 2 : 1;
        }
      });
}

void Strip::load(const PersistentState &state, int meshWidth) {
  for (int lane = 0; lane < lanes; ++lane)
    if (const auto *held = state.of(rows[size_t(lane)] * meshWidth + column))
      for (const PersistentState::Piece &piece : state.pieces(classIndex))
        forEachWritten(held->written, piece, lane,
                       [&](uint8_t *sram, int64_t offset, size_t bytes) {
                         std::memcpy(sram, &held->bytes[size_t(offset)], bytes);
                       });
}

void Strip::initialise(const PersistentState &state, int meshWidth) {
  const UnitSet nothing(size_t(state.bytes(classIndex) / 2));
  auto writtenBy = [&](int lane) -> const UnitSet & {
    const auto *its = state.writtenOf(rows[size_t(lane)] * meshWidth + column);
    return its ? *its : nothing;
  };
  UnitSet common = writtenBy(0);
  for (int lane = 1; lane < lanes; ++lane)
    common = common & writtenBy(lane);
  auto mark = [&](const UnitSet &units, int lane) {
    for (const PersistentState::Piece &piece : state.pieces(classIndex))
      units.forEachRun(size_t(piece.offset / 2),
                       size_t((piece.offset + piece.bytes) / 2),
                       [&](size_t from, size_t to) {
                         markInitialised(piece.address / 2 + int64_t(from) -
                                             piece.offset / 2,
                                         int64_t(to - from), lane);
                       });
  };
  mark(common, -1);
  for (int lane = 0; lane < lanes; ++lane)
    mark(writtenBy(lane) - common, lane);
}

void Strip::bringHome(const Pieces &pieces) {
  for (const PersistentState::Piece &piece : pieces)
    memory.bringHome(piece.address / 4, (piece.address + piece.bytes + 3) / 4);
  memory.executor().flush();
}

void Strip::copyTo(PersistentState::Values &values, const Pieces &pieces,
                   int meshWidth) {
  for (int lane = 0; lane < lanes; ++lane) {
    const auto held = values.find(rows[size_t(lane)] * meshWidth + column);
    if (held == values.end())
      continue;
    auto &[bytes, written] = held->second;
    for (const PersistentState::Piece &piece : pieces)
      forEachWritten(written, piece, lane,
                     [&](const uint8_t *sram, int64_t offset, size_t count) {
                       std::memcpy(&bytes[size_t(offset)], sram, count);
                     });
  }
}

void Strip::addWritten(PersistentState::Written &result, const Pieces &pieces,
                       int meshWidth) {
  if (pieces.empty())
    return;
  const int64_t units = (pieces.back().offset + pieces.back().bytes) / 2;
  for (int lane = 0; lane < lanes; ++lane) {
    UnitSet its{size_t(units)};
    bool any = false;
    for (const PersistentState::Piece &piece : pieces) {
      const int64_t first = piece.address / 2, end = first + piece.bytes / 2;
      written.forEachRun(first - 2 * code.firstDataWord,
                         end - 2 * code.firstDataWord, lane,
                         [&](int64_t from, int64_t to) {
                           const int64_t shift = 2 * code.firstDataWord -
                                                 first + piece.offset / 2;
                           its.insert(size_t(from + shift), size_t(to + shift));
                           any = true;
                         });
    }
    if (any)
      result.emplace(rows[size_t(lane)] * meshWidth + column, std::move(its));
  }
}

int64_t Strip::firstUninitialised(int64_t half, int64_t count, int lane) {
  const int64_t first = 2 * code.firstDataWord;
  return first + written.firstMissing(half - first, count, lane);
}

void Strip::markInitialised(int64_t half, int64_t count, int lane) {
  written.mark(half - 2 * code.firstDataWord, count, lane);
}

/// Whether PEs (x, y) and (x, y + 1) get one color from different senders
/// along the column. A strip across them receives different words in one
/// vector, which is slow.
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

/// PEs of a column that will be one strip.
struct Segment {
  std::vector<int> rows;
  std::vector<int64_t> scalars; ///< of the first
  std::vector<bool> varying;
  bool apart = false; ///< others may lie between its rows

  void add(int row, const std::vector<int64_t> &values) {
    rows.push_back(row);
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] != scalars[i])
        varying[i] = true;
  }
  void join(const Segment &other) {
    apart = true;
    add(other.rows.front(), other.scalars);
    rows.insert(rows.end(), other.rows.begin() + 1, other.rows.end());
    for (size_t i = 0; i < varying.size(); ++i)
      varying[i] = varying[i] || other.varying[i];
  }
};

class StripMaker {
public:
  StripMaker(const program::Program &program,
             const std::vector<ClassCode> &classes, const RouterTables &router,
             bool joins)
      : program(program), classes(classes), router(router), joins(joins) {}

  std::vector<std::unique_ptr<Strip>> make() {
    for (size_t c = 0; c < classes.size(); ++c)
      for (const program::Rect *rect : *classes[c].source->rects()) {
        if (rect->xstep() < 1 || rect->ystep() < 1 || rect->x0() < 0 ||
            rect->y0() < 0 || rect->x1() > router.width() ||
            rect->y1() > router.height())
          throw Error(ErrorClass::BadProgram, "class " +
                                                  inQuotes(classes[c].name) +
                                                  " leaves the mesh");
        for (int x = rect->x0(); x < rect->x1(); x += rect->xstep())
          makeColumn(int(c), *rect, x);
      }
    return std::move(strips);
  }

private:
  void makeColumn(int c, const program::Rect &rect, int x) {
    const ClassCode &code = classes[size_t(c)];
    for (Segment &segment : joinNarrow(code, cut(code, rect, x)))
      strips.push_back(std::make_unique<Strip>(
          int(strips.size()), c, code, x, segment.rows,
          std::move(segment.scalars), std::move(segment.varying),
          segment.apart ? alongColumn(x, segment.rows) : std::vector<Along>()));
  }

  std::vector<Along> alongColumn(int x, const std::vector<int> &rows) const {
    std::vector<Along> along(program.machine()->colors());
    for (int y : rows)
      for (int color = 0; color < int(along.size()); ++color)
        for (Port port : {Port::North, Port::South}) {
          Along &its = along[size_t(color)];
          its.comes |= router.receive(color, {x, y}) == port;
          its.leaves |= router.transmits(color, {x, y}, port);
        }
    return along;
  }

  /// Neighbouring rows that can run together.
  std::vector<Segment> cut(const ClassCode &code, const program::Rect &rect,
                           int x) const {
    std::vector<Segment> segments;
    std::vector<int64_t> values;
    for (int y = rect.y0(); y < rect.y1(); y += rect.ystep()) {
      evaluateScalars(code.source->scalars(), x, y, values);
      bool continues =
          joins && !segments.empty() &&
          sameStrict(code, segments.back().scalars, values) &&
          (rect.ystep() != 1 ||
           !differentCasts(router, program.machine()->colors(), x, y - 1));
      if (continues)
        segments.back().add(y, values);
      else
        segments.push_back({{y}, values, std::vector<bool>(values.size())});
    }
    return segments;
  }

  /// Segments of few rows, one behind the other where the rows of batch
  /// elements follow one another, make one strip: gathering words that
  /// different senders cast costs less than running each alone.
  std::vector<Segment> joinNarrow(const ClassCode &code,
                                  std::vector<Segment> segments) const {
    constexpr size_t narrow = 8;
    std::vector<Segment> result;
    std::vector<size_t> open; ///< of `result`, narrow to begin with
    for (Segment &segment : segments) {
      bool isNarrow = segment.rows.size() < narrow;
      auto with = std::find_if(open.begin(), open.end(), [&](size_t i) {
        return joins && sameStrict(code, result[i].scalars, segment.scalars);
      });
      if (isNarrow && with != open.end()) {
        result[*with].join(segment);
        continue;
      }
      if (isNarrow)
        open.push_back(result.size());
      result.push_back(std::move(segment));
    }
    return result;
  }

  static bool sameStrict(const ClassCode &code, const std::vector<int64_t> &a,
                         const std::vector<int64_t> &b) {
    return std::all_of(code.strictScalars.begin(), code.strictScalars.end(),
                       [&](uint16_t scalar) { return a[scalar] == b[scalar]; });
  }

  const program::Program &program;
  const std::vector<ClassCode> &classes;
  const RouterTables &router;
  const bool joins;
  std::vector<std::unique_ptr<Strip>> strips;
};

} // namespace

std::vector<std::unique_ptr<Strip>>
makeStrips(const program::Program &program,
           const std::vector<ClassCode> &classes, const RouterTables &router,
           bool joins) {
  return StripMaker(program, classes, router, joins).make();
}

} // namespace wsec::runtime
