// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How words of the SRAM come from one form to another.
#include "runtime/strips/StripMemoryRuns.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace wsec::runtime {

using program::ElementType;
using program::Opcode;

namespace {

/// Words of one lane and the next, as rows and columns; or elements, the two of
/// a word `half` apart.
struct WordGrid {
  const float *data;
  ptrdiff_t row, column, half, lane;
};

Nest copyNest(int64_t rows, int64_t columns, size_t halves, size_t width,
              float *to, const WordGrid &target, const WordGrid &from) {
  Nest nest;
  nest.op = Opcode::Mov;
  nest.dimensions = 4;
  nest.extent[0] = size_t(rows);
  nest.extent[1] = size_t(columns);
  nest.extent[2] = halves;
  nest.extent[3] = width;
  nest.dst = {to, {target.row, target.column, target.half, target.lane}};
  nest.a = {from.data, {from.row, from.column, from.half, from.lane}};
  return nest;
}

} // namespace

/// Gives words [from, to) of one form another: words become elements, elements
/// words, either once for all lanes or for each.
void StripMemory::move(int64_t from, int64_t to, Form its) {
  const Form old = form(from);
  const bool toElements = isElements(its), ofElements = isElements(old);
  if (toElements && ofElements && typeOf(its) != typeOf(old)) {
    move(from, to, isAlike(old) && isAlike(its) ? Alike : Home);
    return move(from, to, its);
  }
  const bool once = isAlike(its);
  const Area &target = area(areaOf(its));
  const ptrdiff_t pitch = once ? 1 : lanes;
  View source; // Of words; elements of 16 bits lie half of `stride` apart.
  source.origin = from;
  source.length = to - from;
  const ptrdiff_t perWord = ofElements ? 2 : 1;
  if (old >= Views) {
    source = viewOf(old);
    source.origin /= perWord;
    source.length /= perWord;
    source.stride *= perWord;
  } else {
    const Area &at = area(areaOf(old));
    const ptrdiff_t lane = isAlike(old) ? 1 : lanes;
    source.data = at.data.get() + (from - first) * perWord * lane;
    source.stride = perWord * lane;
    source.laneStride = isAlike(old) ? 0 : 1;
    source.buffer = at.buffer;
  }
  if (its == Alike)
    forgetFill(from, to);
  const bool fills =
      old == Alike && its == Home && filled.from <= from && to <= filled.to;
  if (fills) {
    source.data = &filled.value;
    source.stride = 0;
    if (Recording *recording = nests.recording())
      std::tie(source.buffer, source.data) =
          recording->addConstant(filled.value);
  }
  const ElementType type = typeOf(toElements ? its : old);
  const NumberKind numbers =
      isInteger(type) ? NumberKind::Integer : NumberKind::Single;
  const ptrdiff_t wordPitch = toElements ? 2 * pitch : pitch;
  const ptrdiff_t half = ofElements ? source.stride / 2 : 0;
  forEachRectangle(
      from - source.origin, to - source.origin, source.length,
      [&](int64_t word, int64_t rows, int64_t columns) {
        const float *data = source.data +
                            word / source.length * source.rowStride +
                            word % source.length * source.stride;
        float *at =
            target.data.get() + (word + source.origin - first) * wordPitch;
        const bool converts = toElements != ofElements;
        // Both halves of a word at once, if elements lie side by side.
        const bool both = converts && once && numbers == NumberKind::Single &&
                          (columns > 1 || rows == 1) &&
                          (toElements ? source.stride == 1 : half == 1);
        const bool each = (toElements || ofElements) && !both;
        Nest nest = copyNest(
            rows, columns, each ? 2 : 1, once ? 1 : size_t(lanes), at,
            {nullptr, columns * wordPitch, wordPitch, toElements ? pitch : 0,
             1},
            {data, source.rowStride, source.stride, half, source.laneStride});
        if (converts) {
          const WordPart words{type, both ? HalfOf::Both : HalfOf::Apart};
          nest.types = {numbers,
                        toElements ? WordPart{takenOut(type)} : words,
                        toElements ? words : WordPart{takenOut(type)},
                        {}};
        }
        nests.run(nest, {target.buffer,
                         source.buffer,
                         Recording::nothing,
                         source.owner,
                         {},
                         true,
                         fills});
      });
  set(from, to, its);
}

float *StripMemory::take(size_t floats) {
  constexpr size_t most = 1 << 13; // as many as stay in the cache
  if (!pool.memory || pool.floats - pool.used < floats) {
    pool = {nullptr, 0, std::max(floats, most), Recording::nothing};
    pool.memory.reset(new float[pool.floats]);
    if (Recording *recording = nests.recording())
      pool.buffer = recording->addScratch(pool.memory.get(), pool.floats);
  }
  pool.used += floats;
  return pool.memory.get() + pool.used - floats;
}

/// Takes the elements of 16 bits out of the words of a whole view that are the
/// same for all lanes, if vectors of it lie side by side; false if there are
/// none. What is held back reads none of them.
///
///   words of a row side by side:   element [row][2 * word + half]
///   those of a column:             element [2 * word + half][row]
bool StripMemory::decode(const Runs &runs, ElementType type) {
  const Form old = formOf(runs);
  if (old == Mixed || old < Views || type == ElementType::I16)
    return false;
  const View view = viewOf(old);
  const int64_t end = view.origin + view.words;
  const bool columns = view.stride != 1;
  if (view.type != ElementType::F32 || view.laneStride != 0 ||
      (columns && view.rowStride != 1) || view.words % view.length != 0 ||
      form(view.origin) != old || sameForm(view.origin, end) != end)
    return false;
  const int64_t rows = view.words / view.length;
  View its = view;
  its.type = type;
  its.origin = 2 * view.origin;
  its.length = 2 * view.length;
  its.rowStride = columns ? 1 : its.length;
  its.stride = columns ? rows : 1;
  float *to = take(size_t(2 * view.words));
  its.data = to;
  its.owner = pool.memory;
  its.buffer = pool.buffer;
  Nest nest = copyNest(view.length, rows, columns ? 2 : 1, 1, to,
                       {nullptr, 2 * its.stride, its.rowStride, its.stride, 0},
                       {view.data, view.stride, view.rowStride, 0, 0});
  nest.types = {NumberKind::Single,
                WordPart{takenOut(type)},
                {type, columns ? HalfOf::Apart : HalfOf::Both},
                {}};
  nests.runApart(nest, {pool.buffer, view.buffer, Recording::nothing});
  set(view.origin, end, Home);
  const Form form = newView();
  viewOf(form) = its;
  set(its.origin / 2, end, form);
  return true;
}

/// Lets all words have a form. Those that become elements take words beside
/// them along, from `begin` to `last`, which are likely to be read next.
void StripMemory::bring(const Runs &runs, Form to, int64_t begin,
                        int64_t last) {
  runs.all([&](int64_t from, int64_t end) {
    for (int64_t until; from < end; from = until) {
      until = sameForm(from, end);
      const Form old = form(from);
      if (old == to)
        continue;
      if (isElements(to) && !isElements(old)) {
        while (begin < last && from > begin && form(from - 1) == old)
          --from;
        until = sameForm(from, std::max(until, last));
      }
      move(from, until, to);
    }
    return true;
  });
}

/// Copies words that only some lanes have as a view to where those of all have
/// an address.
void StripMemory::settle(int64_t from, int64_t to) {
  for (size_t i = 0; i < laneViews.size();) {
    const int64_t begin = laneViews[i].view.origin;
    const int64_t last = begin + laneViews[i].view.words;
    if (last <= from || to <= begin) {
      ++i;
      continue;
    }
    const LaneView its = std::move(laneViews[i]);
    laneViews.erase(laneViews.begin() + ptrdiff_t(i));
    bringHome(begin, last); // Which settles all others that overlap it.
    i = 0;
    const View &view = its.view;
    forEachRectangle(
        0, view.words, view.length,
        [&](int64_t word, int64_t rows, int64_t columns) {
          const float *data = view.data + word / view.length * view.rowStride +
                              word % view.length * view.stride;
          for (int lane = 0; lane < lanes; ++lane)
            if (its.has[size_t(lane)])
              nests.run(copyNest(rows, columns, 1, 1, home(begin + word) + lane,
                                 {nullptr, columns * lanes, lanes, 0, 0},
                                 {data, view.rowStride, view.stride, 0, 0}),
                        {areas[Words].buffer,
                         view.buffer,
                         Recording::nothing,
                         view.owner,
                         {}});
        });
  }
}

void StripMemory::settle(const Runs &runs) {
  if (!laneViews.empty())
    settle(runs.firstWord(), runs.endWord());
}

void StripMemory::bringHome(int64_t from, int64_t to) {
  settle(from, to);
  for (int64_t until; from < to; from = until) {
    until = sameForm(from, to);
    if (form(from) != Home)
      move(from, until, Home);
  }
}

} // namespace wsec::runtime
