// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Replay.h"

#include "runtime/program/Errors.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace wsec::runtime {

using Kind = Recording::Operation::Kind;
using BufferKind = Recording::Buffer::Kind;

// ---------------------------------------------------------------- building

/// Lays the tasks out for the workers and finds memory for their buffers.
class Replay::Builder {
public:
  Builder(Replay &replay, const Recording &recording, unsigned workers,
          const Lasting &lasting)
      : replay(replay), recording(recording), lasting(lasting),
        tasks(makeTasks(recording)), order(scheduleTasks(tasks, workers)),
        places(recording.buffers.size()), ordinals(tasks.size()),
        known(workers, std::vector<uint32_t>(workers)), pools(workers) {
    replay.workers.resize(workers);
    replay.viewUses.resize(recording.views.size());
  }

  void build() {
    placeLasting();
    findLastUses();
    for (uint32_t i = 0; i < order.size(); ++i)
      addTask(i);
    for (Worker &worker : replay.workers)
      findReaders(worker.steps);
  }

private:
  /// Memory that was used, and by which tasks: the last of each worker.
  struct Block {
    float *data;
    std::vector<uint32_t> users;
    double free = 0; ///< as planned
  };
  struct Place {
    float *data = nullptr;
    uint32_t lastUse = 0; ///< in the order of the plan
    std::vector<uint32_t> users;
  };
  using Pool = std::map<size_t, std::vector<Block>>; ///< by size

  float *allocate(size_t floats) {
    constexpr size_t line = 64 / sizeof(float);
    replay.memory.emplace_back(new float[floats + line]());
    replay.floats += floats + line;
    auto address = reinterpret_cast<uintptr_t>(replay.memory.back().get());
    return reinterpret_cast<float *>((address + 63) / 64 * 64);
  }

  void placeLasting() {
    replay.constants.reserve(recording.constants.size());
    for (size_t i = 0; i < places.size(); ++i) {
      const Recording::Buffer &buffer = recording.buffers[i];
      if (buffer.kind == BufferKind::Constant) {
        replay.constants.push_back(*buffer.base);
        places[i].data = &replay.constants.back();
      } else if (buffer.kind == BufferKind::External ||
                 buffer.kind == BufferKind::Sram) {
        const auto moved = lasting.before.find(Recording::BufferId(i));
        places[i].data = const_cast<float *>(
            moved == lasting.before.end() ? buffer.base : moved->second);
      }
    }
    for (auto &[buffer, its] : replay.kept)
      keep(buffer, its);
  }

  void keep(Recording::BufferId index, Kept &its) {
    const Recording::Buffer &buffer = recording.buffers[index];
    if (buffer.kind == BufferKind::View) {
      its.view = buffer.viewIndex + 1;
      ++replay.viewUses[buffer.viewIndex];
    } else if (buffer.kind == BufferKind::Scratch) {
      its.data = places[index].data = allocate(buffer.floats);
      its.owner = replay.memory.back();
    } else {
      its.data = places[index].data;
    }
  }

  template <class Visit>
  void forEachBuffer(const ReplayTask &task, const Visit &visit) {
    for (uint32_t index : task.operations) {
      const Recording::Operation &operation = recording.operations[index];
      visit(operation.dst.buffer);
      forEachSource(
          recording, operation,
          [&](const Recording::Operand &source) { visit(source.buffer); });
    }
  }

  void findLastUses() {
    for (uint32_t i = 0; i < order.size(); ++i)
      forEachBuffer(tasks[order[i]],
                    [&](uint32_t buffer) { places[buffer].lastUse = i; });
  }

  void addTask(uint32_t position) {
    const uint32_t index = order[position];
    const ReplayTask &task = tasks[index];
    Worker &worker = replay.workers[task.worker];
    ordinals[index] = uint32_t(worker.tasks.size());
    for (uint32_t other : task.before)
      waitFor(task.worker, other);
    forEachBuffer(task, [&](uint32_t buffer) {
      if (isReused(buffer))
        useScratch(buffer, index);
    });
    for (uint32_t operation : task.operations)
      addStep(worker, recording.operations[operation]);
    addViews(task, worker);
    worker.tasks.push_back({position, uint32_t(worker.steps.size()),
                            uint32_t(worker.waits.size()),
                            uint32_t(worker.lastViews.size()), false});
    forEachBuffer(task, [&](uint32_t buffer) {
      Place &place = places[buffer];
      if (isReused(buffer) && place.lastUse == position && !place.users.empty())
        release(buffer, task);
    });
  }

  void waitFor(unsigned worker, uint32_t other) {
    const unsigned where = tasks[other].worker;
    uint32_t count = ordinals[other] + 1;
    if (where == worker || known[worker][where] >= count)
      return;
    known[worker][where] = count;
    replay.workers[worker].waits.push_back({where, count});
    replay.workers[where].tasks[count - 1].awaited = true;
  }

  bool isReused(Recording::BufferId buffer) const {
    return recording.buffers[buffer].kind == BufferKind::Scratch &&
           !replay.kept.contains(buffer);
  }

  static size_t roundedSize(size_t floats) {
    return std::bit_ceil(std::max<size_t>(floats, 64));
  }

  void useScratch(uint32_t buffer, uint32_t taskIndex) {
    const ReplayTask &task = tasks[taskIndex];
    Place &place = places[buffer];
    if (!place.data)
      place.data = findBlock(recording.buffers[buffer].floats, task);
    auto same = std::find_if(
        place.users.begin(), place.users.end(),
        [&](uint32_t user) { return tasks[user].worker == task.worker; });
    if (same == place.users.end())
      place.users.push_back(taskIndex);
    else
      *same = taskIndex;
  }

  /// Memory that nobody uses any more when the task is planned to start, the
  /// last of it first, since it is in the cache; else new.
  float *findBlock(size_t floats, const ReplayTask &task) {
    constexpr size_t looksAt = 8;
    std::vector<Block> &blocks = pools[task.worker][roundedSize(floats)];
    for (size_t i = blocks.size(), end = i - std::min(i, looksAt); i-- > end;) {
      if (blocks[i].free > task.start)
        continue;
      Block block = std::move(blocks[i]);
      blocks.erase(blocks.begin() + ptrdiff_t(i));
      for (uint32_t user : block.users)
        waitFor(task.worker, user);
      return block.data;
    }
    return allocate(roundedSize(floats));
  }

  void release(uint32_t buffer, const ReplayTask &task) {
    Place &place = places[buffer];
    Block block{place.data, std::move(place.users)};
    place.users.clear();
    for (uint32_t user : block.users)
      block.free = std::max(block.free, tasks[user].end);
    pools[task.worker][roundedSize(recording.buffers[buffer].floats)].push_back(
        std::move(block));
  }

  /// Address of an operand and view that it is relative to.
  std::pair<uintptr_t, uint32_t> locate(const Recording::Operand &operand) {
    const Recording::Buffer &buffer = recording.buffers[operand.buffer];
    if (buffer.kind == BufferKind::Nothing)
      return {0, 0};
    if (buffer.kind == BufferKind::View)
      return {uintptr_t(operand.offset) * sizeof(float), buffer.viewIndex + 1};
    return {reinterpret_cast<uintptr_t>(places[operand.buffer].data +
                                        operand.offset),
            0};
  }

  void addStep(Worker &worker, const Recording::Operation &operation) {
    auto [a, aView] = locate(operation.a);
    auto [b, bView] = locate(operation.b);
    if (operation.kind == Kind::Compute) {
      float *dst = places[operation.dst.buffer].data + operation.dst.offset;
      worker.steps.push_back(
          {&replay.nests[operation.index], dst, a, b, aView, bView});
      if (operation.parts)
        addParts(worker, recording.joined[operation.parts - 1]);
      return;
    }
    worker.steps.push_back(
        {nullptr, nullptr, 0, 0, uint32_t(replay.events.size()), 0});
    uint32_t index = operation.index;
    if (operation.kind == Kind::Interleave)
      index = addInterleaved(operation);
    replay.events.push_back({operation.kind, index, a, aView});
  }

  uint32_t addInterleaved(const Recording::Operation &operation) {
    const Recording::Interleaved &its = recording.interleaved[operation.index];
    float *dst = places[operation.dst.buffer].data + operation.dst.offset;
    replay.interleaved.push_back({its.problem, dst, {}});
    for (const Recording::Operand &source : its.sources)
      replay.interleaved.back().sources.push_back(locate(source));
    return uint32_t(replay.interleaved.size() - 1);
  }

  void addParts(Worker &worker, const std::vector<Recording::Part> &parts) {
    worker.steps.back().partBegin = uint32_t(worker.parts.size());
    for (const Recording::Part &part : parts) {
      const auto [a, aView] = locate(part.a);
      const auto [b, bView] = locate(part.b);
      worker.parts.push_back({&replay.nests[part.index], a, b, aView, bView,
                              part.aOffset, part.bOffset});
    }
    worker.steps.back().partEnd = uint32_t(worker.parts.size());
  }

  /// Products and interleavings read words of the host, those behind before
  /// they run.
  void findReaders(std::vector<Step> &steps) const {
    uint32_t next = 0;
    for (size_t i = steps.size(); i-- > 0;) {
      const Step &step = steps[i];
      const bool reads =
          step.nest ? step.nest->isProduct()
                    : replay.events[step.aView].kind == Kind::Interleave;
      if (reads)
        steps[i].ahead = std::exchange(next, uint32_t(i));
    }
  }

  /// Views the task uses, each once: the last task of all lets go of it.
  void addViews(const ReplayTask &task, Worker &worker) {
    std::vector<uint32_t> used;
    forEachBuffer(task, [&](uint32_t buffer) {
      if (recording.buffers[buffer].kind == BufferKind::View)
        used.push_back(recording.buffers[buffer].viewIndex);
    });
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (uint32_t view : used) {
      ++replay.viewUses[view];
      worker.lastViews.push_back(view);
    }
  }

  Replay &replay;
  const Recording &recording;
  const Lasting &lasting;
  std::vector<ReplayTask> tasks;
  std::vector<uint32_t> order;
  std::vector<Place> places;
  std::vector<uint32_t> ordinals; ///< of a task among those of its worker
  /// Tasks of another worker that a worker knows to be complete.
  std::vector<std::vector<uint32_t>> known;
  std::vector<Pool> pools; ///< of each worker
};

Replay::Replay(const Recording &recording, WorkerPool &pool,
               const Lasting &lasting)
    : pool(pool), nests(recording.nests), views(recording.views) {
  for (Recording::BufferId buffer : lasting.after)
    kept[buffer] = {};
  Builder(*this, recording, pool.size(), lasting).build();
}

Replay::~Replay() = default;

size_t Replay::bytes() const {
  size_t sum = floats * sizeof(float) + nests.size() * sizeof(PreparedNest);
  for (const Worker &worker : workers)
    sum += worker.steps.size() * sizeof(Step) +
           worker.parts.size() * sizeof(Part) +
           worker.tasks.size() * sizeof(Task);
  for (const Interleaved &its : interleaved)
    sum += sizeof(Interleaved) +
           its.sources.size() * sizeof(std::pair<uintptr_t, uint32_t>);
  return sum;
}

// ---------------------------------------------------------------- running

class Replay::Execution {
public:
  Execution(Replay &replay, HostPort &host,
            std::atomic<uint64_t> *furthestLaunch, const Shift *shift)
      : replay(replay), host(host), furthestLaunch(furthestLaunch),
        shift(shift), bases(replay.views.size() + 1),
        owners(replay.views.size()), uses(replay.views.size()),
        progress(replay.workers.size()) {
    for (size_t i = 0; i < uses.size(); ++i)
      uses[i] = replay.viewUses[i];
  }

  void run() {
    replay.pool.run(unsigned(replay.workers.size()),
                    [this](unsigned index) { work(index); });
    if (error)
      std::rethrow_exception(error);
    for (auto &[buffer, its] : replay.kept)
      if (its.view > 0) {
        its.data = reinterpret_cast<const float *>(base(its.view));
        its.owner = std::move(owners[its.view - 1]);
      }
  }

private:
  /// Tasks that a worker has completed; alone in its cache line.
  struct alignas(64) Progress {
    std::atomic<uint32_t> count{0};
  };

  void work(unsigned index) {
    const Worker &worker = replay.workers[index];
    uint32_t step = 0, wait = 0, view = 0, done = 0;
    for (const Task &task : worker.tasks) {
      for (; wait < task.waitEnd; ++wait)
        if (!await(worker.waits[wait], task.order))
          return;
      if (task.order > failed.load(std::memory_order_relaxed))
        return;
      try {
        for (; step < task.stepEnd; ++step) {
          if (const uint32_t ahead = worker.steps[step].ahead)
            prefetch(worker.steps[ahead]);
          execute(worker, worker.steps[step]);
        }
      } catch (...) {
        return fail(task.order);
      }
      for (; view < task.viewEnd; ++view)
        letGo(worker.lastViews[view]);
      ++done;
      if (task.awaited)
        progress[index].count.store(done, std::memory_order_release);
    }
  }

  /// False if what it waits for will not come.
  bool await(const Wait &wait, uint32_t order) {
    const std::atomic<uint32_t> &count = progress[wait.worker].count;
    for (unsigned tries = 0; count.load(std::memory_order_acquire) < wait.count;
         ++tries) {
      if (order > failed.load(std::memory_order_relaxed))
        return false;
      constexpr unsigned patience = 4000;
      if (tries < patience)
        __builtin_ia32_pause();
      else
        std::this_thread::yield();
    }
    return true;
  }

  /// Earlier tasks go on, so that the first error of all is found.
  void fail(uint32_t order) {
    std::lock_guard<std::mutex> guard(lock);
    if (order > failed)
      return;
    failed = order;
    error = std::current_exception();
  }

  uintptr_t base(uint32_t view) const {
    return bases[view].load(std::memory_order_relaxed);
  }

  const float *address(uintptr_t data, uint32_t view) const {
    return reinterpret_cast<const float *>(base(view) + data);
  }

  /// Of a product that reads a view that is there.
  void prefetch(const Step &step) const {
    if (!step.nest)
      return prefetchWords(replay.interleaved[replay.events[step.aView].index]);
    const bool reads = (step.aView || step.bView) &&
                       (!step.aView || base(step.aView)) &&
                       (!step.bView || base(step.bView));
    if (reads)
      step.nest->prefetch(address(step.a, step.aView),
                          address(step.b, step.bView));
  }

  void prefetchWords(const Interleaved &its) const {
    constexpr ptrdiff_t line = 16; // floats
    constexpr size_t most = 256;   // lines
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

  void execute(const Worker &worker, const Step &step) {
    if (!step.nest)
      return handle(replay.events[step.aView]);
    const float *a = address(step.a, step.aView),
                *b = address(step.b, step.bView);
    const Part *first = worker.parts.data() + step.partBegin,
               *end = worker.parts.data() + step.partEnd;
    const bool together = std::all_of(first, end, [&](const Part &part) {
      return liesBehind(address(part.a, part.aView), a, part.aOffset) &&
             liesBehind(address(part.b, part.bView), b, part.bOffset);
    });
    if (together)
      return step.nest->run(step.dst, a, b);
    for (const Part *part = first; part != end; ++part)
      part->nest->run(step.dst, address(part->a, part->aView),
                      address(part->b, part->bView));
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
    if (event.kind == Kind::Store) {
      const Recording::View &view = replay.views[event.index];
      return host.store(streamOf(view), view.channel,
                        {address(event.data, event.dataView), view.rows,
                         view.length, view.stride, nullptr});
    }
    const uint64_t launch = event.index + (shift ? shift->launches : 0);
    if (furthestLaunch)
      for (uint64_t seen = *furthestLaunch;
           seen < launch &&
           !furthestLaunch->compare_exchange_weak(seen, launch);) {
      }
  }

  uint32_t streamOf(const Recording::View &view) const {
    return shift ? shift->streams[view.stream] : view.stream;
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
    interleave(its.problem, its.dst, at);
  }

  void take(uint32_t index) {
    const Recording::View &view = replay.views[index];
    WordView words = host.next(streamOf(view), view.channel, view.maxWords);
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
        words = host.next(streamOf(view), view.channel, most - i);
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
    if (uses[view].fetch_sub(1) == 1)
      owners[view].reset();
  }

  Replay &replay;
  HostPort &host;
  std::atomic<uint64_t> *furthestLaunch;
  const Shift *shift;           ///< or null
  /// Of views; 0 for addresses. What a worker uses it has waited for; to
  /// prefetch it looks at those that another is about to write, too.
  std::vector<std::atomic<uintptr_t>> bases;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<std::atomic<uint32_t>> uses; ///< of views, still to come
  std::vector<Progress> progress;
  std::atomic<uint32_t> failed{UINT32_MAX}; ///< the first task that threw
  std::mutex lock;
  std::exception_ptr error;
};

void Replay::run(HostPort &host, std::atomic<uint64_t> *furthestLaunch,
                 const Shift *shift) {
  Execution(*this, host, furthestLaunch, shift).run();
}

} // namespace wsec::runtime
