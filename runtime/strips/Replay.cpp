// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Replay.h"

#include "hwy/cache_control.h"
#include "runtime/program/Errors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace wsec::runtime {

using Kind = Recording::Operation::Kind;

class Replay::Execution {
public:
  Execution(Replay &replay, HostPort &host,
            std::atomic<uint64_t> *furthestLaunch, const Shift *shift)
      : replay(replay), host(host), furthestLaunch(furthestLaunch),
        shift(shift), constants(replay.constantsOf(shift)),
        bases(replay.views.size() + 2 + replay.movings.size()),
        owners(replay.views.size()), uses(replay.views.size()),
        states(replay.tasks.size()) {
    for (size_t i = 0; i < uses.size(); ++i)
      uses[i] = replay.viewUses[i];
    for (size_t i = 0; i < replay.movings.size(); ++i) {
      const auto [data, move] = replay.movings[i];
      const ptrdiff_t by =
          shift && !shift->moved.empty() ? shift->moved[move] : 0;
      bases[replay.views.size() + 1 + i] = data + uintptr_t(by) * sizeof(float);
    }
    bases.back() = reinterpret_cast<uintptr_t>(constants.words.get());
  }

  void run() {
    replay.pool.run(unsigned(replay.workers.size()),
                    [this](unsigned index) { work(index); });
    if (error)
      std::rethrow_exception(error);
    if (std::exchange(constants.made, true))
      for (const auto &[stream, channel, words] : replay.known)
        host.countDelivered(streamOf(stream), channel, words);
    for (Kept *its : replay.keptViews) {
      its->data = reinterpret_cast<const float *>(base(its->view));
      its->owner = std::move(owners[its->view - 1]);
    }
  }

private:
  enum class State : uint8_t { Waits, Runs, Done }; ///< of a task
  static constexpr uint32_t none = UINT32_MAX;
  /// By worker, the first of its tasks that may not have been begun.
  using Firsts = std::vector<uint32_t>;

  /// Runs tasks until none is left that nobody has begun.
  void work(unsigned index) {
    constexpr unsigned patience = 4000;
    Firsts firsts(replay.workers.size());
    for (unsigned tries = 0;; ++tries) {
      const uint32_t seen = completed.load();
      if (const uint32_t task = next(index, firsts, tries); task != none) {
        run(task);
        tries = 0;
      } else if (allBegun(firsts)) {
        return;
      } else if (tries < patience) { // Another is about to be done, ...
        hwy::Pause();
      } else { // ... or has lost its core to somebody.
        completed.wait(seen);
      }
    }
  }

  bool allBegun(const Firsts &firsts) const {
    for (size_t i = 0; i < firsts.size(); ++i)
      if (firsts[i] < replay.workers[i].tasks.size())
        return false;
    return true;
  }

  /// Begins the next task of a worker; where that waits, one behind it, or one
  /// of another worker, which has found longer ones than was planned, or has
  /// lost its core. None, if all that it looks at wait.
  uint32_t next(unsigned index, Firsts &firsts, unsigned tries) {
    constexpr unsigned untilOwn = 8, untilOthers = 24; // tries
    constexpr size_t looksAt = 16;                     // tasks
    const auto workers = unsigned(firsts.size());
    for (unsigned i = 0; i < (tries < untilOthers ? 1 : workers); ++i) {
      const unsigned whose = (index + i) % workers;
      const std::vector<uint32_t> &all = replay.workers[whose].tasks;
      uint32_t &first = firsts[whose];
      while (first < all.size() && states[all[first]] != State::Waits)
        ++first;
      const size_t end = std::min(
          all.size(), first + (tries < untilOwn ? size_t(1) : looksAt));
      for (size_t at = first; at < end; ++at)
        if (begins(all[at]))
          return all[at];
    }
    return none;
  }

  /// Whether a task can begin and nobody else has begun it.
  bool begins(uint32_t task) {
    State waits = State::Waits;
    return std::all_of(
               replay.before.begin() + beforeBegin(task),
               replay.before.begin() + replay.tasks[task].beforeEnd,
               [&](uint32_t other) { return states[other] == State::Done; }) &&
           states[task].compare_exchange_strong(waits, State::Runs);
  }

  uint32_t beforeBegin(uint32_t task) const {
    return task ? replay.tasks[task - 1].beforeEnd : 0;
  }

  void run(uint32_t index) {
    const Task &task = replay.tasks[index];
    if (index < failed.load(std::memory_order_relaxed))
      try {
        const Worker &worker = replay.workers[task.worker];
        const uint32_t pause =
            constants.made ? task.constantBegin : task.constantEnd;
        execute(worker, task.stepBegin, pause);
        execute(worker, task.constantEnd, task.stepEnd);
        for (uint32_t view = index ? replay.tasks[index - 1].viewEnd : 0;
             view < task.viewEnd; ++view)
          letGo(replay.lastViews[view]);
      } catch (...) {
        fail(index);
      }
    // What comes behind a task that failed is left out.
    states[index] = State::Done;
    ++completed;
    completed.notify_all();
  }

  /// Earlier tasks go on, so that the first error of all is found.
  void fail(uint32_t task) {
    std::lock_guard<std::mutex> guard(lock);
    if (task > failed)
      return;
    failed = task;
    error = std::current_exception();
  }

  uintptr_t base(uint32_t view) const {
    return bases[view].load(std::memory_order_relaxed);
  }

  const float *address(uintptr_t data, uint32_t view) const {
    return reinterpret_cast<const float *>(base(view) + data);
  }
  float *target(uintptr_t data, uint32_t moving) const {
    const auto views = uint32_t(replay.views.size());
    return const_cast<float *>(address(data, moving ? views + moving : 0));
  }

  /// Of a product that reads a view that is there.
  void prefetch(const Step &step) const {
    if (!step.nest)
      return prefetchWords(replay.interleaved[replay.events[step.aView].index]);
    const bool reads = (step.aView || step.bView) &&
                       (!step.aView || base(step.aView)) &&
                       (!step.bView || base(step.bView));
    if (reads)
      step.nest->prefetch(
          address(step.a, step.aView), address(step.b, step.bView),
          replay.isConstant(step.aView), replay.isConstant(step.bView));
  }

  void prefetchWords(const Interleaved &its) const {
    constexpr ptrdiff_t line = 16; // floats
    constexpr size_t most = 1024;  // lines
    const InterleaveProblem &p = its.problem;
    const ptrdiff_t length = std::abs(p.column) * ptrdiff_t(p.columns - 1) + 1;
    if (p.rows * size_t(length / line + 1) * its.sources.size() > most)
      return;
    for (const auto &[data, view] : its.sources)
      if (view && base(view))
        for (size_t r = 0; r < p.rows; ++r)
          for (ptrdiff_t at = 0; at < length + line; at += line)
            __builtin_prefetch(address(data, view) + ptrdiff_t(r) * p.row + at,
                               0, 2);
  }

  void execute(const Worker &worker, uint32_t begin, uint32_t end) {
    for (uint32_t step = begin; step < end; step += 1 + worker.steps[step].more)
      execute(worker, step);
  }

  void execute(const Worker &worker, uint32_t index) {
    const Step &first = worker.steps[index];
    Factors sources[PreparedNest::mostJoined];
    size_t count = 0;
    float *const dst = target(first.dst, first.dstMoving);
    auto run = [&] {
      if (count == 1)
        first.nest->run(dst, sources->a, sources->b);
      else if (count > 1)
        first.nest->run(dst, sources, count);
      count = 0;
    };
    for (const Step *step = &first; step <= &first + first.more; ++step)
      if (step->ahead)
        prefetch(worker.steps[step->ahead]);
    if (!first.nest)
      return handle(replay.events[first.aView]);
    for (const Step *step = &first; step <= &first + first.more; ++step) {
      sources[count] = {address(step->a, step->aView),
                        address(step->b, step->bView)};
      if (lieTogether(worker, *step, sources[count])) {
        ++count;
        continue;
      }
      run();
      for (uint32_t i = step->partBegin; i < step->partEnd; ++i) {
        const Part &part = worker.parts[i];
        part.nest->run(dst, address(part.a, part.aView),
                       address(part.b, part.bView));
      }
    }
    run();
  }

  /// Whether the views of a nest that was joined lie as in the recorded run.
  bool lieTogether(const Worker &worker, const Step &step,
                   const Factors &at) const {
    return std::all_of(
        worker.parts.begin() + step.partBegin,
        worker.parts.begin() + step.partEnd, [&](const Part &part) {
          return liesBehind(address(part.a, part.aView), at.a, part.aOffset) &&
                 liesBehind(address(part.b, part.bView), at.b, part.bOffset);
        });
  }

  static bool liesBehind(const float *data, const float *first,
                         ptrdiff_t bytes) {
    return reinterpret_cast<uintptr_t>(data) ==
           reinterpret_cast<uintptr_t>(first) + uintptr_t(bytes);
  }

  void handle(const Event &event) {
    if (event.kind == Kind::Next)
      return take(event.index);
    if (event.kind == Kind::Interleave)
      return interleaveWords(replay.interleaved[event.index]);
    if (event.kind == Kind::Expect)
      return check(replay.expectations[event.index],
                   address(event.data, event.dataView));
    if (event.kind == Kind::Store) {
      const Recording::View &view = replay.views[event.index];
      return host.store(streamOf(view.stream), view.channel,
                        {address(event.data, event.dataView), view.rows,
                         view.length, view.stride, nullptr, view.wordStride});
    }
    const uint64_t launch = event.index + (shift ? shift->launches : 0);
    if (furthestLaunch)
      for (uint64_t seen = *furthestLaunch;
           seen < launch &&
           !furthestLaunch->compare_exchange_weak(seen, launch);) {
      }
  }

  static void check(const std::vector<Expectation> &expected,
                    const float *words) {
    for (const Expectation &its : expected) {
      uint32_t bits;
      std::memcpy(&bits, words + its.offset, sizeof bits);
      if ((bits & its.mask) != its.bits)
        throw Diverged{};
    }
  }

  uint32_t streamOf(uint32_t stream) const {
    return shift ? shift->streams[stream] : stream;
  }

  void interleaveWords(const Interleaved &its) const {
    constexpr size_t most = 64;
    const float *sources[most];
    std::vector<const float *> more;
    const float **at = sources;
    if (its.sources.size() > most) {
      more.resize(its.sources.size());
      at = more.data();
    }
    for (size_t i = 0; i < its.sources.size(); ++i)
      at[i] = address(its.sources[i].first, its.sources[i].second);
    interleave(its.problem, target(its.dst, its.dstMoving), at);
  }

  void take(uint32_t index) {
    const Recording::View &view = replay.views[index];
    WordView words =
        host.next(streamOf(view.stream), view.channel, view.maxWords);
    bool same = words.rows == view.rows && words.length == view.length &&
                (words.rows == 1 || words.stride == view.stride) &&
                (words.length == 1 || words.wordStride == view.wordStride);
    if (!same)
      words = rearrange(view, std::move(words));
    bases[index + 1].store(reinterpret_cast<uintptr_t>(words.data),
                           std::memory_order_relaxed);
    owners[index] = std::move(words.owner);
  }

  /// The words of a view in the form they had in the recorded run, if the host
  /// hands them out in another.
  WordView rearrange(const Recording::View &view, WordView words) {
    const size_t most = view.rows * view.length;
    const size_t floats =
        (view.rows - 1) * view.stride + (view.length - 1) * view.wordStride + 1;
    std::shared_ptr<float[]> copy(new float[floats]);
    size_t used = 0;
    for (size_t i = 0; i < most; ++i, ++used) {
      if (used == words.words()) {
        words = host.next(streamOf(view.stream), view.channel, most - i);
        used = 0;
        if (words.empty())
          throw Error(ErrorClass::BadProgram,
                      "a stream has fewer words than in an earlier run");
      }
      copy[i / view.length * view.stride + i % view.length * view.wordStride] =
          words.word(used);
    }
    if (used != words.words())
      throw Error(ErrorClass::BadProgram,
                  "a stream has more words at a time than in an earlier run");
    return {copy.get(),  view.rows, view.length,
            view.stride, copy,      view.wordStride};
  }

  void letGo(uint32_t view) {
    if (replay.viewUses[view] == 1 || uses[view].fetch_sub(1) == 1)
      owners[view].reset();
  }

  Replay &replay;
  HostPort &host;
  std::atomic<uint64_t> *furthestLaunch;
  const Shift *shift; ///< or null
  Constants &constants;
  /// Of views; 0 for addresses. What a worker uses it has waited for; to
  /// prefetch it looks at those that another is about to write, too.
  std::vector<std::atomic<uintptr_t>> bases;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<std::atomic<uint32_t>> uses;  ///< of views, still to come
  std::vector<std::atomic<State>> states;   ///< of tasks
  std::atomic<uint32_t> completed{0};       ///< of them
  std::atomic<uint32_t> failed{UINT32_MAX}; ///< the first task that threw
  std::mutex lock;
  std::exception_ptr error;
};

/// Memory of large pages, if the host has them: it is read from end to end.
static std::shared_ptr<float[]> allocatePages(size_t floats) {
  constexpr size_t page = size_t(1) << 21;
  const size_t bytes = (floats * sizeof(float) + page - 1) / page * page;
  void *words = std::aligned_alloc(page, bytes);
  if (!words)
    throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  ::madvise(words, bytes, MADV_HUGEPAGE);
#endif
  return {static_cast<float *>(words), std::free};
}

/// Those of a replay with such streams. Where there is no room for more, those
/// that were used last are made anew.
Replay::Constants &Replay::constantsOf(const Shift *shift) {
  const std::vector<uint32_t> streams =
      shift ? shift->streams : std::vector<uint32_t>();
  auto its = constantWords.find(streams);
  if (its == constantWords.end() && !constantWords.empty() && constantFloats &&
      !room->take(constantFloats * sizeof(float))) {
    auto node = constantWords.extract(lastConstants);
    node.key() = streams;
    node.mapped().made = false;
    its = constantWords.insert(std::move(node)).position;
  } else if (its == constantWords.end()) {
    Constants made; // there is no entry where there is no memory
    if (constantFloats)
      made.words = allocatePages(constantFloats);
    its = constantWords.emplace(streams, std::move(made)).first;
  }
  lastConstants = its;
  return its->second;
}

Replay::~Replay() {
  if (constantFloats)
    room->giveBack(std::max<size_t>(1, constantWords.size()) * constantFloats *
                   sizeof(float));
}

bool Replay::makesConstant(const Step &step) const {
  uint32_t moving = step.dstMoving;
  if (!step.nest) {
    const Event &event = events[step.aView];
    if (event.kind == Kind::Next)
      return forConstants[event.index];
    if (event.kind == Kind::Interleave)
      moving = interleaved[event.index].dstMoving;
  }
  return moving > movings.size();
}

size_t Replay::bytes() const {
  size_t sum = floats * sizeof(float) +
               (nests.size() + repeated.size()) * sizeof(PreparedNest) +
               views.size() * (sizeof(Recording::View) + sizeof(uint32_t)) +
               events.size() * sizeof(Event) +
               tasks.size() * (sizeof(Task) + sizeof(uint32_t)) +
               (before.size() + lastViews.size()) * sizeof(uint32_t);
  for (const Worker &worker : workers)
    sum +=
        worker.steps.size() * sizeof(Step) + worker.parts.size() * sizeof(Part);
  for (const std::vector<Expectation> &its : expectations)
    sum += sizeof(its) + its.size() * sizeof(Expectation);
  for (const Interleaved &its : interleaved)
    sum += sizeof(Interleaved) +
           its.sources.size() * sizeof(std::pair<uintptr_t, uint32_t>);
  return sum;
}

void Replay::run(HostPort &host, std::atomic<uint64_t> *furthestLaunch,
                 const Shift *shift) {
  Execution(*this, host, furthestLaunch, shift).run();
}

} // namespace wsec::runtime
