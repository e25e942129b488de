// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The SRAM of the PEs of a strip. At home, word w of lane l lies beside that of
// lane l + 1, so one instruction on all PEs is one long vector operation. What
// need not lie there does not. A word has one form:
//
//   home      [word][lane]
//   alike     all lanes hold the same: it lies once
//   elements  two elements of 16 bits, one to a float: [element][lane], or once
//             if all lanes hold the same; made when they are first read as such
//   view      it was copied from the fabric and stays where it came from, such
//             as a block of weights in its file; elements of 16 bits out of it
//             are a view, too
//
// Words that lanes copy one after the other, such as what one of them sends to
// all others, are a view of all once the last one has them.
//
// Which form a word has does not change what a PE reads. Operands are found
// where they are if all their words have one form, and else brought together.
#ifndef RUNTIME_STRIPS_STRIPMEMORY_H
#define RUNTIME_STRIPS_STRIPMEMORY_H

#include "runtime/strips/NestExecutor.h"
#include "runtime/strips/StripQueue.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Elements in SRAM that a nest walks over with its dimensions but for the
/// lanes; in units of their size.
struct SramElements {
  program::ElementType type = program::ElementType::F32;
  int64_t first = 0;
  int64_t stride[maxDimensions] = {};
  /// Words of the buffer, which may change their form together.
  int64_t bufferBegin = 0, bufferEnd = 0;
  uint32_t move = 0; ///< how arguments move it, in the recording

  bool halves() const { return elementSize(type) == 2; }
};

class StripMemory {
public:
  /// Words [first, end) of each PE.
  StripMemory(int64_t first, int64_t end, int lanes)
      : first(first), end(end), lanes(lanes) {}
  /// These words stay at home, but for elements of 16 bits: they last, and
  /// arguments may say which of them an operand is. In order.
  void keepHome(std::vector<std::pair<int64_t, int64_t>> words) {
    lasting = std::move(words);
  }
  /// Whether some of words [from, to) stay at home.
  bool staysHome(int64_t from, int64_t to) const {
    return std::any_of(lasting.begin(), lasting.end(), [&](const auto &its) {
      return its.first < to && from < its.second;
    });
  }

  /// Forgets all contents. Operations are noted as those of `actor`.
  void reset(Recording *recording, uint32_t actor);
  NestExecutor &executor() { return nests; }
  /// Notes operations from now on, or no longer. What there is gets buffers of
  /// the recording. Only while the executor holds nothing back.
  void record(Recording *into, uint32_t actor);

  /// The forms of all words, and where views lie.
  struct Layout;
  Layout layout() const;
  bool hasLayout(const Layout &layout) const;
  /// All words have these forms from now on; views get their places by
  /// `moveView`.
  void setLayout(const Layout &layout);
  /// Numbers the views in the order of their words. None is of some lanes then,
  /// and nothing is held back.
  void sortViews();

  /// Word of lane 0; of other lanes behind it.
  float *home(int64_t word) {
    return areas[Words].data.get() + (word - first) * lanes;
  }
  /// Brings words [from, to) home, for those who know no other form.
  void bringHome(int64_t from, int64_t to);
  void bringAllHome() { bringHome(first, end); }

  /// The bits of an element of a lane, in the lower ones. Unless that `isKnown`
  /// to be in all runs, what is recorded holds for those that find the same.
  uint32_t read(program::ElementType type, int64_t element, int lane,
                bool isKnown);
  /// Whether it is known to be the same in all lanes.
  bool isAlike(program::ElementType type, int64_t element);

  /// Where the elements of an operand lie.
  struct Place {
    const float *data = nullptr;
    ptrdiff_t stride[maxDimensions] = {};
    ptrdiff_t laneStride = 0;
    Recording::BufferId buffer = Recording::nothing;
    std::shared_ptr<const void> owner;
    bool lasts = true; ///< beyond the nest: in SRAM, or as long as its owner
    bool constant = false; ///< one value, of the program
  };
  /// Where a nest of all lanes, or of `lane`, reads elements of lane 0; none if
  /// they lie in several places.
  std::optional<Place> find(const SramElements &elements, const Nest &nest,
                            int lane);
  /// Brings them together, and finds them.
  Place gather(const SramElements &elements, const Nest &nest);

  /// How elements are written.
  struct Writing {
    bool alike;    ///< the same in all lanes
    bool readsOld; ///< the result depends on what is there
    bool allLanes;
    bool ordered; ///< others read them as they are written
  };
  /// Where a nest writes elements, which have no other form from now on. They
  /// lie once for all lanes if `laneStride` is 0.
  Place write(const SramElements &elements, const Nest &nest, Writing how);
  /// Notes that a nest gives all elements that it writes, words that lie once,
  /// one value.
  void noteFill(const SramElements &elements, const Nest &nest, float value);
  /// Lets words that last be those that a nest would copy to `elements` of all
  /// lanes, or of `lane`; false if these do not fill a piece of the SRAM.
  bool view(const SramElements &elements, const Nest &nest, const Place &from,
            int lane);

  /// A view, by its place among the views.
  struct ViewPlace {
    size_t index;
    const float *data;
    Recording::BufferId buffer;
    size_t floats; ///< that its words lie in, from `data` on; 0: before it, too
  };
  std::vector<ViewPlace> viewPlaces() const;
  /// What keeps the words of a view where they lie; null: all that runs does.
  const std::shared_ptr<const void> &ownerOf(size_t index) const {
    return views[index].owner;
  }
  /// The words of a view lie elsewhere from now on.
  void moveView(size_t index, const float *data,
                std::shared_ptr<const void> owner);

private:
  /// The form of a word. Elements of each type have two, from `Elements` on;
  /// views one each, from `Views` on.
  using Form = uint8_t;
  enum : Form { Home, Alike, Elements, Views = 10, Mixed = 255 };
  static Form elementsOf(program::ElementType type, bool alike);
  /// F32: none of 16 bits.
  program::ElementType typeOf(Form form) const;
  bool isElements(Form form) const {
    return typeOf(form) != program::ElementType::F32;
  }
  bool isAlike(Form form) const;

  /// The memory of a form.
  enum AreaKind { Words, Once, Halves, HalvesOnce };
  struct Area {
    std::shared_ptr<float[]> data;
    Recording::BufferId buffer = Recording::nothing;
  };
  /// Element i, counted from `origin`, lies at i / length rows and i % length
  /// columns. Elements are words, or two to a word.
  struct ViewForm {
    program::ElementType type = program::ElementType::F32;
    int64_t words = 0; ///< that have this form; 0: there is none
    int64_t origin = 0, length = 1;
    ptrdiff_t rowStride = 0, stride = 0, laneStride = 0;
    bool operator==(const ViewForm &) const = default;
  };
  struct View : ViewForm {
    const float *data = nullptr;
    Recording::BufferId buffer = Recording::nothing;
    std::shared_ptr<const void> owner = {};
  };
  /// A view of words that some lanes have. Those of the others have their form.
  struct LaneView {
    View view;
    std::vector<bool> has;
    int count = 0; ///< of the lanes that have it
  };
  /// The words of an operand, as runs.
  struct Runs;

  /// Memory for elements that are taken out of views. Those that follow one
  /// another lie so here, too.
  struct Pool {
    std::shared_ptr<float[]> memory;
    size_t used = 0, floats = 0;
    Recording::BufferId buffer = Recording::nothing;
  };
  float *take(size_t floats);
  bool decode(const Runs &runs, program::ElementType type);

  Area &area(AreaKind which);
  size_t floatsPerWord(AreaKind which) const;
  size_t spanOf(const View &view, int64_t wordEnd) const;
  AreaKind areaOf(Form form) const;
  Place placeIn(AreaKind which, const SramElements &elements, const Nest &nest);
  bool placeInView(const View &view, const SramElements &elements,
                   const Nest &nest, Place &place) const;
  static bool viewOf(const SramElements &elements, const Nest &nest,
                     const Place &from, View &view);
  bool setView(const View &view);
  void overwrite(const View &view, int lane);
  bool addLane(const View &view, int lane);
  std::vector<LaneView>::iterator findLaneView(const View &view);
  bool giveLane(const View &view, int lane);
  void settle(int64_t from, int64_t to);
  void settle(const Runs &runs);
  View &viewOf(Form form) { return views[size_t(form - Views)]; }
  Form newView();

  Form &form(int64_t word) { return forms[size_t(word - first)]; }
  int64_t sameForm(int64_t from, int64_t to) const;
  Form formOf(const Runs &runs);
  void letGo(int64_t from, int64_t to);
  void set(int64_t from, int64_t to, Form its);
  template <class Visit>
  void forEachForm(const Runs &runs, const Visit &visit);
  bool allAlike(const Runs &runs);
  void bring(const Runs &runs, Form to, int64_t begin, int64_t last);
  void move(int64_t from, int64_t to, Form its);

  const int64_t first, end;
  const int lanes;
  std::vector<std::pair<int64_t, int64_t>> lasting;
  Area areas[4];
  std::vector<Form> forms; ///< by word
  std::vector<View> views;
  std::vector<LaneView> laneViews; ///< no lane has a word of two
  /// Words that have held one value since they became alike, of those that
  /// still are: others take it from the program.
  struct Filled {
    int64_t from = 0, to = 0;
    float value = 0;
  };
  Filled filled;
  void forgetFill(int64_t from, int64_t to);
  Pool pool;
  NestExecutor nests;
};

struct StripMemory::Layout {
  std::vector<Form> forms;
  std::vector<ViewForm> views;
  bool operator==(const Layout &) const = default;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_STRIPMEMORY_H
