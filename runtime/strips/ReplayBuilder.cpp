// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a recording to what the workers of its replays do, and where.
#include "runtime/strips/NewLines.h"
#include "runtime/strips/Replay.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>

namespace wsec::runtime {

using Kind = Recording::Operation::Kind;
using BufferKind = Recording::Buffer::Kind;

/// Lays the tasks out for the workers and finds memory for their buffers.
class Replay::Builder {
public:
  Builder(Replay &replay, const Recording &recording, unsigned workers,
          const Lasting &lasting)
      : replay(replay), recording(recording), lasting(lasting),
        constant(recording, lasting.after, replay.room),
        tasks(makeTasks(recording, workers, constant.words())),
        order(scheduleTasks(tasks, workers)), places(recording.buffers.size()),
        positions(tasks.size()), pools(workers) {
    replay.workers.resize(workers);
    replay.viewUses.resize(recording.views.size());
  }

  void build() {
    placeConstants();
    placeLasting();
    for (const auto &[area, move] : recording.movings)
      replay.movings.push_back(
          {reinterpret_cast<uintptr_t>(recording.buffers[area].base), move});
    findLastUses();
    reserveSteps();
    for (uint32_t i = 0; i < order.size(); ++i)
      addTask(i);
    for (Worker &worker : replay.workers) {
      worker.steps.shrink_to_fit(); // Some were joined.
      findReaders(worker.steps);
    }
  }

private:
  /// Memory that was used, and by which tasks.
  struct Block {
    float *data;
    std::vector<uint32_t> users;
    double free = 0; ///< as planned
  };
  struct Place {
    float *data = nullptr;
    uint32_t lastUse = 0; ///< in the order of the plan
    std::vector<uint32_t> users;
    uint32_t family = 0; ///< one more than its index; 0: it is in none
  };
  /// Buffers that are used alike, such as those of what each lane sends: they
  /// lie side by side in one block, so that what they do can be one nest.
  struct Family {
    size_t floats; ///< of the block
    size_t left;   ///< buffers still in use
    Block block;
  };
  using Pool = std::map<size_t, std::vector<Block>>; ///< by size

  /// In the order in which they are used.
  void placeConstants() {
    std::vector<uint32_t> operations;
    for (uint32_t index : order)
      operations.insert(operations.end(), tasks[index].operations.begin(),
                        tasks[index].operations.end());
    constant.place(operations);
    replay.constantFloats = constant.floats();
    replay.known = constant.known();
    replay.forConstants = constant.onlyTaken();
  }

  /// New if nobody else has it yet.
  float *allocate(std::shared_ptr<float[]> its, size_t floats) {
    if (its.use_count() == 1) {
      replay.floats += floats;
      std::fill_n(its.get(), floats, 0.0f);
    }
    return replay.memory.emplace_back(std::move(its)).get();
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
      replay.keptViews.push_back(&its);
      ++replay.viewUses[buffer.viewIndex];
    } else if (buffer.kind == BufferKind::Scratch) {
      its.data = places[index].data =
          allocate(newLines(buffer.floats), buffer.floats);
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

  void reserveSteps() {
    std::vector<size_t> steps(replay.workers.size());
    for (const ReplayTask &task : tasks)
      steps[task.worker] += task.operations.size();
    for (size_t i = 0; i < steps.size(); ++i)
      replay.workers[i].steps.reserve(steps[i]);
  }

  void addTask(uint32_t position) {
    const uint32_t index = order[position];
    const ReplayTask &task = tasks[index];
    Worker &worker = replay.workers[task.worker];
    positions[index] = position;
    for (uint32_t other : task.before)
      waitFor(other);
    placeFamilies(task);
    forEachBuffer(task, [&](uint32_t buffer) {
      if (isReused(buffer))
        useScratch(buffer, index);
    });
    const size_t begin = worker.steps.size();
    for (uint32_t operation : task.operations)
      addStep(worker, recording.operations[operation]);
    joinElements(worker.steps, begin);
    joinSteps(worker.steps, begin);
    addChecks(worker);
    addViews(task);
    worker.tasks.push_back(position);
    const auto [constantBegin, constantEnd] =
        constantSteps(worker.steps, begin);
    replay.tasks.push_back({task.worker, uint32_t(begin),
                            uint32_t(worker.steps.size()), constantBegin,
                            constantEnd, endWaits(),
                            uint32_t(replay.lastViews.size())});
    forEachBuffer(task, [&](uint32_t buffer) {
      Place &place = places[buffer];
      if (isReused(buffer) && place.lastUse == position && !place.users.empty())
        release(buffer, task.worker);
    });
  }

  /// Those that make constant words, which follow one another.
  std::pair<uint32_t, uint32_t> constantSteps(const std::vector<Step> &steps,
                                              size_t begin) const {
    auto makes = [&](const Step &step) { return replay.makesConstant(step); };
    const auto first =
        std::find_if(steps.begin() + ptrdiff_t(begin), steps.end(), makes);
    const auto end = std::find_if_not(first, steps.end(), makes);
    return {uint32_t(first - steps.begin()), uint32_t(end - steps.begin())};
  }

  void waitFor(uint32_t other) { replay.before.push_back(positions[other]); }

  /// What the task that is added waits for, each once, without what others of
  /// these wait for. Returns the end.
  uint32_t endWaits() {
    std::vector<uint32_t> &all = replay.before;
    const auto beforeOf = [&](size_t task) {
      return all.begin() + (task ? replay.tasks[task - 1].beforeEnd : 0);
    };
    const auto begin = beforeOf(replay.tasks.size());
    std::sort(begin, all.end());
    all.erase(std::unique(begin, all.end()), all.end());
    const std::vector<uint32_t> found(begin, all.end());
    all.erase(
        std::remove_if(begin, all.end(),
                       [&](uint32_t its) {
                         return std::any_of(
                             found.begin(), found.end(), [&](uint32_t other) {
                               return std::binary_search(
                                   beforeOf(other), beforeOf(other + 1), its);
                             });
                       }),
        all.end());
    return uint32_t(all.size());
  }

  bool isReused(Recording::BufferId buffer) const {
    return recording.buffers[buffer].kind == BufferKind::Scratch &&
           !replay.kept.contains(buffer) && !constant.contains(buffer);
  }

  /// Whether an operation is a nest that is the first to use scratch memory.
  bool beginsScratch(const Recording::Operation &operation) const {
    return operation.kind == Kind::Compute && operation.parts == 0 &&
           isReused(operation.dst.buffer) && operation.dst.offset == 0 &&
           !places[operation.dst.buffer].data;
  }

  void placeFamilies(const ReplayTask &task) {
    const std::vector<uint32_t> &all = task.operations;
    for (size_t i = 0, end; i < all.size(); i = end) {
      end = i + 1;
      const Recording::Operation &first = recording.operations[all[i]];
      if (!beginsScratch(first))
        continue;
      for (; end < all.size(); ++end) {
        const Recording::Operation &before = recording.operations[all[end - 1]];
        const Recording::Operation &its = recording.operations[all[end]];
        const Recording::Operation &second = recording.operations[all[i + 1]];
        if (!beginsScratch(its) || its.index != first.index ||
            its.dst.buffer == before.dst.buffer ||
            recording.buffers[its.dst.buffer].floats !=
                recording.buffers[first.dst.buffer].floats ||
            its.a.buffer != first.a.buffer ||
            its.a.offset - before.a.offset != second.a.offset - first.a.offset)
          break;
      }
      if (end - i >= fewest)
        placeFamily(task, i, end);
    }
  }

  /// Of the operations [begin, end) of a task.
  void placeFamily(const ReplayTask &task, size_t begin, size_t end) {
    constexpr size_t line = 64 / sizeof(float);
    auto bufferOf = [&](size_t i) {
      return recording.operations[task.operations[i]].dst.buffer;
    };
    const size_t pitch =
        (recording.buffers[bufferOf(begin)].floats + line - 1) / line * line;
    const size_t floats = pitch * (end - begin);
    float *data = findBlock(floats, task);
    families.push_back({floats, end - begin, {data, {}}});
    for (size_t i = begin; i < end; ++i, data += pitch) {
      places[bufferOf(i)].data = data;
      places[bufferOf(i)].family = uint32_t(families.size());
    }
  }

  static size_t roundedSize(size_t floats) {
    return std::bit_ceil(std::max<size_t>(floats, 64));
  }

  void useScratch(uint32_t buffer, uint32_t taskIndex) {
    const ReplayTask &task = tasks[taskIndex];
    Place &place = places[buffer];
    if (!place.data)
      place.data = findBlock(recording.buffers[buffer].floats, task);
    if (place.users.empty() || place.users.back() != taskIndex)
      place.users.push_back(taskIndex);
  }

  /// Memory that nobody uses any more when the task is planned to start, the
  /// last of it first, since it is in the cache; else such as no other block
  /// has, which other replays use, too.
  float *findBlock(size_t floats, const ReplayTask &task) {
    constexpr size_t looksAt = 8;
    std::vector<Block> &blocks = pools[task.worker][roundedSize(floats)];
    for (size_t i = blocks.size(), end = i - std::min(i, looksAt); i-- > end;) {
      if (blocks[i].free > task.start)
        continue;
      Block block = std::move(blocks[i]);
      blocks.erase(blocks.begin() + ptrdiff_t(i));
      for (uint32_t user : block.users)
        waitFor(user);
      return block.data;
    }
    const size_t size = roundedSize(floats);
    return allocate(replay.pool.scratch(size, blocksOf[size]++), size);
  }

  void release(uint32_t buffer, unsigned worker) {
    Place &place = places[buffer];
    Block block{place.data, std::exchange(place.users, {})};
    size_t floats = recording.buffers[buffer].floats;
    if (place.family) {
      Family &family = families[place.family - 1];
      std::vector<uint32_t> &users = family.block.users;
      users.insert(users.end(), block.users.begin(), block.users.end());
      if (--family.left > 0)
        return;
      block = std::move(family.block);
      floats = family.floats;
    }
    for (uint32_t user : block.users)
      block.free = std::max(block.free, tasks[user].end);
    pools[worker][roundedSize(floats)].push_back(std::move(block));
  }

  /// Address of an operand and view that it is relative to.
  std::pair<uintptr_t, uint32_t> locate(const Recording::Operand &operand) {
    const Recording::Buffer &buffer = recording.buffers[operand.buffer];
    if (buffer.kind == BufferKind::Nothing)
      return {0, 0};
    if (buffer.kind == BufferKind::View)
      return {uintptr_t(operand.offset) * sizeof(float), buffer.viewIndex + 1};
    if (buffer.kind == BufferKind::Moving)
      return {uintptr_t(operand.offset) * sizeof(float),
              uint32_t(recording.views.size()) + buffer.viewIndex + 1};
    const Place &place = places[operand.buffer];
    if (constant.contains(operand.buffer))
      return {(constant.at(operand.buffer) + size_t(operand.offset)) *
                  sizeof(float),
              uint32_t(recording.views.size()) + constantMoving()};
    return {reinterpret_cast<uintptr_t>(place.data + operand.offset), 0};
  }

  /// Constant words come behind the memory that moves.
  uint32_t constantMoving() const {
    return uint32_t(recording.movings.size()) + 1;
  }

  /// One more than the moving memory that an operand lies in; 0: in none.
  uint32_t movingOf(const Recording::Operand &operand) const {
    if (constant.contains(operand.buffer))
      return constantMoving();
    const Recording::Buffer &buffer = recording.buffers[operand.buffer];
    return buffer.kind == BufferKind::Moving ? buffer.viewIndex + 1 : 0;
  }

  void addStep(Worker &worker, const Recording::Operation &operation) {
    if (operation.kind == Kind::Expect &&
        recording.buffers[operation.a.buffer].kind == BufferKind::View) {
      addExpectation(checks[operation.a.buffer], operation, operation.a.offset);
      return;
    }
    auto [a, aView] = locate(operation.a);
    auto [b, bView] = locate(operation.b);
    if (operation.kind == Kind::Compute) {
      worker.steps.push_back({&replay.nests[operation.index],
                              locate(operation.dst).first, a, b, aView, bView});
      worker.steps.back().dstMoving = movingOf(operation.dst);
      if (operation.parts)
        addParts(worker, recording.joined[operation.parts - 1]);
      return;
    }
    worker.steps.push_back(
        {nullptr, 0, 0, 0, uint32_t(replay.events.size()), 0});
    uint32_t index = operation.index;
    if (operation.kind == Kind::Interleave)
      index = addInterleaved(operation);
    if (operation.kind == Kind::Expect) {
      index = uint32_t(replay.expectations.size());
      addExpectation(replay.expectations.emplace_back(), operation, 0);
    }
    replay.events.push_back({operation.kind, index, a, aView});
  }

  void addExpectation(std::vector<Expectation> &to,
                      const Recording::Operation &operation,
                      ptrdiff_t offset) const {
    const Recording::Expectation &its = recording.expectations[operation.index];
    to.push_back({offset, its.bits, its.mask});
  }

  /// Words of the host are there until the end of the task: what it expects of
  /// them is looked at together.
  void addChecks(Worker &worker) {
    for (auto &[buffer, its] : checks) {
      const auto [data, view] = locate({buffer, 0});
      worker.steps.push_back(
          {nullptr, 0, 0, 0, uint32_t(replay.events.size()), 0});
      replay.events.push_back(
          {Kind::Expect, uint32_t(replay.expectations.size()), data, view});
      replay.expectations.push_back(std::move(its));
    }
    checks.clear();
  }

  uint32_t addInterleaved(const Recording::Operation &operation) {
    const Recording::Interleaved &its = recording.interleaved[operation.index];
    replay.interleaved.push_back({its.problem,
                                  locate(operation.dst).first,
                                  movingOf(operation.dst),
                                  {}});
    for (const Recording::Operand &source : its.sources)
      replay.interleaved.back().sources.push_back(locate(source));
    return uint32_t(replay.interleaved.size() - 1);
  }

  /// Equal nests that lie evenly apart, such as those of one lane after the
  /// other, become one.
  void joinElements(std::vector<Step> &steps, size_t begin) {
    size_t used = begin;
    for (size_t i = begin, end; i < steps.size();) {
      end = i + evenlyApart(steps, i);
      if (const PreparedNest *joined = findRepeated(steps, i, end)) {
        steps[used] = steps[i];
        steps[used++].nest = joined;
        i = end;
      }
      while (i < end)
        steps[used++] = steps[i++];
    }
    steps.resize(used);
  }

  /// From one step to the next, in floats; of addresses.
  static ptrdiff_t distance(uintptr_t from, uintptr_t to) {
    return ptrdiff_t(to - from) / ptrdiff_t(sizeof(float));
  }

  static size_t evenlyApart(const std::vector<Step> &steps, size_t first) {
    const Step &one = steps[first];
    size_t count = 1;
    for (; first + count < steps.size(); ++count) {
      const Step &before = steps[first + count - 1];
      const Step &next = steps[first + count];
      if (!one.nest || next.nest != one.nest || next.aView != one.aView ||
          next.bView != one.bView || next.dstMoving || one.dstMoving ||
          next.partBegin != next.partEnd || one.partBegin != one.partEnd)
        break;
      const Step &second = steps[first + 1];
      auto isAsFar = [&](uintptr_t Step::*its) {
        const uintptr_t by = second.*its - one.*its;
        return by % sizeof(float) == 0 && next.*its - before.*its == by;
      };
      if (!isAsFar(&Step::dst) || !isAsFar(&Step::a) || !isAsFar(&Step::b))
        break;
    }
    return count;
  }

  /// One that stands for steps [begin, end), if there is.
  const PreparedNest *findRepeated(const std::vector<Step> &steps, size_t begin,
                                   size_t end) {
    const size_t count = end - begin;
    const Step &one = steps[begin];
    auto moves = [&](uint32_t view) {
      return view > recording.views.size() && !replay.isConstant(view);
    };
    if (count < 2 || moves(one.aView) || moves(one.bView))
      return nullptr;
    const Step &next = steps[begin + 1];
    const PreparedNest::Dimension times{count, distance(one.dst, next.dst),
                                        distance(one.a, next.a),
                                        distance(one.b, next.b)};
    auto address = [](uintptr_t data, uint32_t view) {
      return reinterpret_cast<const float *>(view ? 0 : data);
    };
    std::optional<PreparedNest> found = one.nest->repeated(
        times, address(one.dst, 0), address(one.a, one.aView),
        address(one.b, one.bView));
    if (!found)
      return nullptr;
    return &replay.repeated
                .try_emplace({one.nest - replay.nests.data(), ptrdiff_t(count),
                              times.dst, times.a, times.b},
                             *found)
                .first->second;
  }

  /// Products into the same destination that follow one another are run as one.
  static void joinSteps(std::vector<Step> &steps, size_t begin) {
    for (size_t i = steps.size(); i-- > begin + 1;) {
      Step &before = steps[i - 1];
      const Step &step = steps[i];
      if (step.nest && before.nest == step.nest && before.dst == step.dst &&
          before.dstMoving == step.dstMoving && step.nest->joins() &&
          step.more + 1 < PreparedNest::mostJoined)
        before.more = step.more + 1;
    }
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

  /// Products, interleavings and what takes halves out of words ask for the
  /// words of the host that those behind them read, if these do.
  void findReaders(std::vector<Step> &steps) const {
    uint32_t next = 0;
    for (size_t i = steps.size(); i-- > 0;) {
      const Step &step = steps[i];
      if (replay.makesConstant(step))
        continue; // Once.
      const bool waits =
          step.nest ? step.nest->asks()
                    : replay.events[step.aView].kind == Kind::Interleave;
      if (waits)
        steps[i].ahead =
            std::exchange(next, readsViews(step) ? uint32_t(i) : 0);
    }
  }

  bool readsViews(const Step &step) const {
    if (step.nest)
      return step.aView || step.bView;
    const auto &sources =
        replay.interleaved[replay.events[step.aView].index].sources;
    return std::any_of(sources.begin(), sources.end(),
                       [](const auto &source) { return source.second > 0; });
  }

  /// Views the task uses, each once: the last task of all lets go of it.
  void addViews(const ReplayTask &task) {
    std::vector<uint32_t> used;
    forEachBuffer(task, [&](uint32_t buffer) {
      if (recording.buffers[buffer].kind == BufferKind::View)
        used.push_back(recording.buffers[buffer].viewIndex);
    });
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (uint32_t view : used) {
      if (replay.forConstants[view])
        continue; // They stay to the end.
      ++replay.viewUses[view];
      replay.lastViews.push_back(view);
    }
  }

  Replay &replay;
  const Recording &recording;
  const Lasting &lasting;
  ConstantPlaces constant;
  std::vector<ReplayTask> tasks;
  std::vector<uint32_t> order;
  std::vector<Place> places;
  static constexpr size_t fewest = 4; ///< buffers of a family
  std::vector<Family> families;
  std::vector<uint32_t> positions;   ///< of tasks, in `order`
  std::vector<Pool> pools;           ///< of each worker
  std::map<size_t, size_t> blocksOf; ///< of a size, so far
  /// Of the task, by view.
  std::map<Recording::BufferId, std::vector<Expectation>> checks;
};

Replay::Replay(const Recording &recording, WorkerPool &pool,
               const Lasting &lasting, MemoryRoom *room)
    : pool(pool), room(room), nests(recording.nests), views(recording.views) {
  for (Recording::BufferId buffer : lasting.after)
    kept[buffer] = {};
  Builder(*this, recording, pool.size(), lasting).build();
}

} // namespace wsec::runtime
