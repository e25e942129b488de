// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/NewLines.h"
#include "runtime/strips/StripMemoryRuns.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace wsec::runtime {

using program::ElementType;
using program::Opcode;

void StripMemory::reset(Recording *recording, uint32_t actor) {
  nests.reset(recording, actor);
  for (Area &its : areas) // Replays find them where they were.
    its.buffer = Recording::nothing;
  forms.assign(size_t(end - first), Home);
  views.clear();
  laneViews.clear();
  pool = {};
  filled = {};
  area(Words);
}

void StripMemory::record(Recording *into, uint32_t actor) {
  nests.record(into, actor);
  filled = {}; // What is recorded may be replayed where words were not filled.
  const size_t words = size_t(end - first);
  for (size_t i = 0; i < std::size(areas); ++i) {
    Area &its = areas[i];
    its.buffer =
        into && its.data
            ? into->addSram(its.data.get(), words * floatsPerWord(AreaKind(i)))
            : Recording::nothing;
  }
  pool = {};
  for (View &view : views)
    view.buffer = into && view.words > 0 ? into->addExternal(view.data)
                                         : Recording::nothing;
}

void StripMemory::sortViews() {
  settle(first, end);
  nests.flush();
  std::vector<View> sorted;
  std::vector<Form> renamed(views.size(), Home);
  for (int64_t word = first, until; word < end; word = until) {
    until = sameForm(word, end);
    if (form(word) < Views)
      continue;
    Form &its = renamed[size_t(form(word) - Views)];
    if (its == Home) {
      its = Form(Views + sorted.size());
      sorted.push_back(std::move(viewOf(form(word))));
    }
    std::fill_n(&form(word), until - word, its);
  }
  views = std::move(sorted);
}

StripMemory::Layout StripMemory::layout() const {
  return {forms, {views.begin(), views.end()}};
}

bool StripMemory::hasLayout(const Layout &layout) const {
  return forms == layout.forms &&
         std::equal(
             views.begin(), views.end(), layout.views.begin(),
             layout.views.end(),
             [](const ViewForm &a, const ViewForm &b) { return a == b; });
}

void StripMemory::setLayout(const Layout &layout) {
  filled = {};
  forms = layout.forms;
  views.assign(layout.views.size(), {});
  for (size_t i = 0; i < views.size(); ++i)
    static_cast<ViewForm &>(views[i]) = layout.views[i];
}

std::vector<StripMemory::ViewPlace> StripMemory::viewPlaces() const {
  std::vector<int64_t> ends(views.size()); // behind the last word of each
  for (int64_t word = first, until; word < end; word = until) {
    until = sameForm(word, end);
    if (const Form its = forms[size_t(word - first)]; its >= Views)
      ends[size_t(its - Views)] = until;
  }
  std::vector<ViewPlace> places;
  for (size_t i = 0; i < views.size(); ++i)
    if (views[i].words > 0)
      places.push_back(
          {i, views[i].data, views[i].buffer, spanOf(views[i], ends[i])});
  return places;
}

size_t StripMemory::spanOf(const View &view, int64_t wordEnd) const {
  if (view.rowStride < 0 || view.stride < 0 || view.laneStride < 0)
    return 0;
  const int64_t perWord = view.type == ElementType::F32 ? 1 : 2;
  const int64_t element = wordEnd * perWord - 1 - view.origin;
  const int64_t row = element / view.length;
  int64_t end = row * view.rowStride + element % view.length * view.stride;
  if (row > 0)
    end = std::max(end, (row - 1) * view.rowStride +
                            (view.length - 1) * view.stride);
  return size_t(end + (lanes - 1) * view.laneStride + 1);
}

void StripMemory::moveView(size_t index, const float *data,
                           std::shared_ptr<const void> owner) {
  views[index].data = data;
  views[index].owner = std::move(owner);
}

size_t StripMemory::floatsPerWord(AreaKind which) const {
  const bool each = which == Words || which == Halves;
  return (each ? size_t(lanes) : 1) * (which >= Halves ? 2 : 1);
}

/// The memory of a form, which there is once something has it.
StripMemory::Area &StripMemory::area(AreaKind which) {
  Area &its = areas[which];
  if (its.data)
    return its;
  const size_t floats = size_t(end - first) * floatsPerWord(which);
  its.data = newLines(floats);
  if (Recording *recording = nests.recording())
    its.buffer = recording->addSram(its.data.get(), floats);
  return its;
}

// ---------------------------------------------------------------- forms

/// Types of 16 bits, in the order of their forms.
static constexpr ElementType elementTypes[] = {
    ElementType::F16, ElementType::BF16, ElementType::I16, ElementType::CB16};

/// The form of elements of a type, of each lane or the same in all.
StripMemory::Form StripMemory::elementsOf(ElementType type, bool alike) {
  const auto *kind =
      std::find(std::begin(elementTypes), std::end(elementTypes), type);
  return Form(Elements + 2 * (kind - elementTypes) + (alike ? 1 : 0));
}

ElementType StripMemory::typeOf(Form form) const {
  if (form >= Views)
    return form == Mixed ? ElementType::F32 : views[size_t(form - Views)].type;
  return form >= Elements ? elementTypes[(form - Elements) / 2]
                          : ElementType::F32;
}

/// Whether words of a form are known to be the same in all lanes.
bool StripMemory::isAlike(Form form) const {
  if (form >= Views)
    return views[size_t(form - Views)].laneStride == 0;
  return form == Alike || (form >= Elements && (form - Elements) % 2 != 0);
}

/// A form for a view; Home if there are too many of them.
StripMemory::Form StripMemory::newView() {
  constexpr size_t most = Mixed - Views;
  for (size_t i = 0; i < views.size(); ++i)
    if (views[i].words == 0)
      return Form(Views + i);
  if (views.size() == most)
    return Home;
  views.emplace_back();
  return Form(Views + views.size() - 1);
}

/// The end of the words from `from` on that have one form.
int64_t StripMemory::sameForm(int64_t from, int64_t to) const {
  if (from >= to)
    return from;
  constexpr ptrdiff_t block = 256;
  const Form *begin = forms.data() + (from - first), *at = begin;
  const Form *last = forms.data() + (to - first);
  while (last - at > block / 4) {
    const ptrdiff_t some = std::min(block, last - at - 1);
    if (std::memcmp(at, at + 1, size_t(some)) != 0)
      break;
    at += some;
  }
  uint64_t eight, same;
  std::memset(&same, *begin, sizeof same);
  for (; last - at >= 8; at += 8) {
    std::memcpy(&eight, at, sizeof eight);
    if (eight != same)
      return from + (at - begin) + std::countr_zero(eight ^ same) / 8;
  }
  return from +
         (std::find_if(at, last, [&](Form f) { return f != *begin; }) - begin);
}

/// Words of one form are about to get another.
void StripMemory::letGo(int64_t from, int64_t to) {
  if (form(from) < Views)
    return;
  View &view = viewOf(form(from));
  view.words -= to - from;
  if (view.words == 0)
    view = {};
}

void StripMemory::set(int64_t from, int64_t to, Form its) {
  if (to - from == 1) {
    Form &old = form(from);
    if (old >= Views)
      letGo(from, to);
    old = its;
    return;
  }
  for (int64_t until; from < to; from = until) {
    until = sameForm(from, to);
    if (form(from) == its && its < Views)
      continue;
    letGo(from, until);
    std::fill_n(&form(from), until - from, its);
  }
}

// ---------------------------------------------------------------- operands

/// The form that all words have, or Mixed.
StripMemory::Form StripMemory::formOf(const Runs &runs) {
  if (const int64_t from = runs.firstWord(), to = runs.endWord();
      sameForm(from, to) == to) // Those between the runs, too.
    return form(from);
  Form its = Mixed;
  const bool same = runs.all([&](int64_t from, int64_t to) {
    its = its == Mixed ? form(from) : its;
    return form(from) == its && (to - from == 1 || sameForm(from, to) == to);
  });
  return same ? its : Form(Mixed);
}

bool StripMemory::allAlike(const Runs &runs) {
  bool alike = lanes > 1;
  forEachForm(runs,
              [&](int64_t from, int64_t) { alike &= isAlike(form(from)); });
  return alike;
}

StripMemory::AreaKind StripMemory::areaOf(Form form) const {
  if (form < Elements)
    return form == Home ? Words : Once;
  return isAlike(form) ? HalvesOnce : Halves;
}

/// The place of an operand in memory that has an address for each element.
StripMemory::Place StripMemory::placeIn(AreaKind which,
                                        const SramElements &elements,
                                        const Nest &nest) {
  const Area &its = area(which);
  const bool each = which == Words || which == Halves;
  const ptrdiff_t pitch = each ? lanes : 1;
  const int64_t origin = which >= Halves ? 2 * first : first;
  Place place;
  place.data = its.data.get() + (elements.first - origin) * pitch;
  for (int d = 0; d + 1 < nest.dimensions; ++d)
    place.stride[d] = elements.stride[d] * pitch;
  place.laneStride = each ? 1 : 0;
  place.buffer = its.buffer;
  if (Recording *recording = nests.recording(); recording && elements.move) {
    if (which == Words)
      place.buffer = recording->moving(its.buffer, elements.move);
    else
      recording->pin(elements.move);
  }
  return place;
}

/// The place of words of a view: each dimension goes along its rows or along
/// its columns.
bool StripMemory::placeInView(const View &view, const SramElements &elements,
                              const Nest &nest, Place &place) const {
  const int64_t from = elements.first - view.origin;
  if (Recording *recording = nests.recording(); recording && elements.move)
    recording->pin(elements.move);
  place.laneStride = view.laneStride;
  place.buffer = view.buffer;
  place.owner = view.owner;
  if (view.rowStride == view.length * view.stride) {
    for (int d = 0; d + 1 < nest.dimensions; ++d)
      place.stride[d] = elements.stride[d] * view.stride;
    place.data = view.data + from * view.stride;
    return true;
  }
  const int64_t column = from % view.length;
  int64_t low = column, high = column;
  for (int d = 0; d + 1 < nest.dimensions; ++d) {
    const int64_t stride = elements.stride[d],
                  last = int64_t(nest.extent[d]) - 1;
    if (stride % view.length == 0) {
      place.stride[d] = stride / view.length * view.rowStride;
    } else {
      place.stride[d] = stride * view.stride;
      low += std::min<int64_t>(0, stride) * last;
      high += std::max<int64_t>(0, stride) * last;
    }
  }
  place.data =
      view.data + from / view.length * view.rowStride + column * view.stride;
  return 0 <= low && high < view.length;
}

std::optional<StripMemory::Place>
StripMemory::find(const SramElements &elements, const Nest &nest, int lane) {
  const Runs runs(elements, nest);
  if (lane >= 0 && !elements.halves())
    for (const LaneView &its : laneViews) {
      Place place;
      if (its.has[size_t(lane)] && its.view.origin <= runs.firstWord() &&
          runs.endWord() <= its.view.origin + its.view.words &&
          placeInView(its.view, elements, nest, place))
        return place;
    }
  settle(runs);
  const Form its = formOf(runs);
  const ElementType type = elements.halves() ? elements.type : ElementType::F32;
  if (its == Mixed || typeOf(its) != type)
    return {};
  if (its < Views)
    return placeIn(areaOf(its), elements, nest);
  Place place;
  if (!placeInView(viewOf(its), elements, nest, place))
    return {};
  return place;
}

bool StripMemory::isAlike(ElementType type, int64_t element) {
  const int64_t word = elementSize(type) == 2 ? element >> 1 : element;
  settle(word, word + 1);
  return isAlike(form(word));
}

uint32_t StripMemory::read(ElementType type, int64_t element, int lane,
                           bool isKnown) {
  const bool half = elementSize(type) == 2;
  const int64_t word = half ? element >> 1 : element;
  settle(word, word + 1);
  if (typeOf(form(word)) != ElementType::F32)
    bringHome(word, word + 1);
  nests.flush();
  Nest one;
  one.dimensions = 1;
  const Place place = *find({ElementType::F32, word}, one, -1);
  const float *at = place.data + lane * place.laneStride;
  const int shift = half && element % 2 ? 16 : 0;
  const uint32_t mask = half ? 0xffff : UINT32_MAX;
  if (!isKnown)
    nests.expect(at, place.buffer, mask << shift);
  uint32_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return bits >> shift & mask;
}

StripMemory::Place StripMemory::gather(const SramElements &elements,
                                       const Nest &nest) {
  Runs runs(elements, nest);
  if (elements.halves() && decode(runs, elements.type))
    if (std::optional<Place> found = find(elements, nest, -1))
      return *found;
  if (const int64_t from = runs.firstWord(), to = runs.endWord();
      !elements.halves() && isElements(form(from)) && sameForm(from, to) == to)
    runs.closeGaps(); // The next instruction is likely to read the others.
  const bool alike = allAlike(runs);
  bring(runs,
        elements.halves() ? elementsOf(elements.type, alike)
                          : Form(alike ? Alike : Home),
        elements.bufferBegin, elements.bufferEnd);
  return *find(elements, nest, -1);
}

StripMemory::Place StripMemory::write(const SramElements &elements,
                                      const Nest &nest, Writing how) {
  const Runs runs(elements, nest);
  settle(runs);
  const bool halves = elements.halves();
  const bool fills =
      how.allLanes && !how.readsOld && !how.ordered && runs.whole;
  const bool alike = how.alike && how.allLanes && !how.ordered && lanes > 1 &&
                     (fills || allAlike(runs)) &&
                     (halves || !staysHome(runs.firstWord(), runs.endWord()));
  const Form to =
      halves ? elementsOf(elements.type, alike) : Form(alike ? Alike : Home);
  if (to == Alike)
    forgetFill(runs.firstWord(), runs.endWord());
  const bool has = formOf(runs) == to;
  if (!has && fills)
    runs.all([&](int64_t from, int64_t until) {
      set(from, until, to);
      return true;
    });
  else if (!has)
    bring(runs, to, 0, 0); // No others: sources have been found among them.
  return placeIn(halves  ? (alike ? HalvesOnce : Halves)
                 : alike ? Once
                         : Words,
                 elements, nest);
}

void StripMemory::noteFill(const SramElements &elements, const Nest &nest,
                           float value) {
  const Runs runs(elements, nest);
  if (runs.loops == 0)
    filled = {runs.firstWord(), runs.endWord(), value};
}

void StripMemory::forgetFill(int64_t from, int64_t to) {
  if (from < filled.to && filled.from < to)
    filled = {};
}

/// The view that a nest would copy to `elements`, if these fill a piece of the
/// SRAM.
bool StripMemory::viewOf(const SramElements &elements, const Nest &nest,
                         const Place &from, View &view) {
  // The loops in the order of the SRAM, the innermost last.
  size_t extents[maxDimensions];
  ptrdiff_t strides[maxDimensions];
  int used = maxDimensions;
  int64_t words = 1, count = 1;
  for (int d = 0; d + 1 < nest.dimensions; ++d)
    count *= int64_t(nest.extent[d]);
  for (bool found = true; found && words < count;) {
    found = false;
    for (int d = 0; d + 1 < nest.dimensions && !found; ++d) {
      found = nest.extent[d] > 1 && elements.stride[d] == words;
      if (!found)
        continue;
      --used;
      extents[used] = nest.extent[d];
      strides[used] = from.stride[d];
      words *= int64_t(nest.extent[d]);
    }
  }
  const std::optional<WordRows> rows =
      rowsOf(extents + used, strides + used, maxDimensions - used);
  if (words < count || !rows)
    return false;
  view.words = words;
  view.origin = elements.first;
  view.data = from.data;
  view.length = int64_t(rows->length);
  view.stride = rows->wordStride;
  view.rowStride =
      rows->rows == 1 ? view.length * rows->wordStride : rows->rowStride;
  view.laneStride = from.laneStride;
  view.buffer = from.buffer;
  view.owner = from.owner;
  return true;
}

bool StripMemory::setView(const View &view) {
  const int64_t begin = view.origin, last = begin + view.words;
  for (int64_t word = begin, until; word < last; word = until) {
    until = sameForm(word, last);
    letGo(word, until);
  }
  const Form its = newView();
  std::fill_n(&form(begin), last - begin, its);
  if (its == Home)
    return false;
  viewOf(its) = view;
  return true;
}

/// A lane is about to have other words in place of those it has of views: of a
/// view that it has the whole of, such as the block of weights before, nothing
/// is left; of a longer one the lane keeps the rest.
void StripMemory::overwrite(const View &view, int lane) {
  const int64_t begin = view.origin, last = begin + view.words;
  for (size_t i = 0; i < laneViews.size();) {
    LaneView &its = laneViews[i];
    const int64_t from = its.view.origin, to = from + its.view.words;
    if (!its.has[size_t(lane)] || to <= begin || last <= from) {
      ++i;
      continue;
    }
    constexpr size_t many = 256;
    if ((from < begin || last < to) && laneViews.size() >= many)
      return settle(begin, last);
    const View old = its.view;
    its.has[size_t(lane)] = false;
    if (--its.count == 0)
      laneViews.erase(laneViews.begin() + ptrdiff_t(i));
    auto keep = [&](int64_t word, int64_t rows, int64_t columns) {
      View rest = old;
      rest.origin += word;
      rest.words = rows * columns;
      rest.length = columns;
      rest.data +=
          word / old.length * old.rowStride + word % old.length * old.stride;
      giveLane(rest, lane);
    };
    if (from < begin)
      forEachRectangle(0, begin - from, old.length, keep);
    if (last < to)
      forEachRectangle(last - from, to - from, old.length, keep);
    i = 0; // There are others now.
  }
}

/// Lets a lane have the words of a view, in place of those it had.
bool StripMemory::addLane(const View &view, int lane) {
  const auto found = findLaneView(view);
  if (found != laneViews.end() && found->has[size_t(lane)])
    return true;
  overwrite(view, lane);
  return giveLane(view, lane);
}

std::vector<StripMemory::LaneView>::iterator
StripMemory::findLaneView(const View &view) {
  return std::find_if(
      laneViews.begin(), laneViews.end(), [&](const LaneView &other) {
        const View &its = other.view;
        return its.origin == view.origin && its.words == view.words &&
               its.data == view.data && its.length == view.length &&
               its.rowStride == view.rowStride && its.stride == view.stride &&
               its.buffer == view.buffer;
      });
}

/// Lets a lane have the words of a view, of which it has none of any, and all,
/// once it is the last one.
bool StripMemory::giveLane(const View &view, int lane) {
  auto found = findLaneView(view);
  if (found == laneViews.end()) {
    found = laneViews.insert(found, {view, std::vector<bool>(size_t(lanes))});
    found->view.laneStride = 0;
  }
  found->has[size_t(lane)] = true;
  ++found->count;
  // Without a form for it, it stays one of some lanes, who are all.
  if (found->count < lanes || newView() == Home)
    return true;
  const View its = std::move(found->view);
  laneViews.erase(found);
  return setView(its);
}

bool StripMemory::view(const SramElements &elements, const Nest &nest,
                       const Place &from, int lane) {
  View view;
  if (!viewOf(elements, nest, from, view) ||
      staysHome(view.origin, view.origin + view.words))
    return false;
  if (lane >= 0 && lanes > 1)
    return addLane(view, lane);
  settle(view.origin, view.origin + view.words);
  return setView(view);
}

} // namespace wsec::runtime
