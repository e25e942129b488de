// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/CodeChecker.h"
#include "runtime/program/Checker.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Wire.h"
#include "runtime/program/check/InFlight.h"
#include "runtime/program/check/MachineChecker.h"
#include "runtime/program/check/ScalarChecker.h"
#include "runtime/program/check/StatementChecker.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace wsec::runtime {

namespace {

using program::TaskKind;

/// Checks the members of one class.
class CodeChecker {
public:
  CodeChecker(const program::PEClass &peClass, const program::Machine &machine,
              uint8_t launchColor, const CarriedRanges &carried,
              CheckerWork &work, const Where &where)
      : peClass(peClass), machine(machine), carried(carried), where(where),
        scalars(classScalars(peClass, work, where)),
        context{peClass, machine, launchColor, scalars}, work(work) {}

  void check();

private:
  static std::vector<Interval> classScalars(const program::PEClass &peClass,
                                            CheckerWork &work,
                                            const Where &where);
  void checkCodeFits();
  void checkBuffers();
  void checkPersistent() const;
  void checkInitial() const;
  void checkBuffer(const program::Buffer &buffer, const Where &where);
  void checkInSram(const program::Buffer &buffer, const Where &where);
  void checkNoCommands(int color, const Where &where) const;
  void checkQueues();
  void checkFilters();
  void checkFilter(const program::Filter &filter, const Where &where);
  void checkTasks();
  void checkTaskId(const program::Task &task, const Where &where);
  void checkNotReserved(int id, const Where &where) const;
  void checkTaskBuffers(const program::Task &task, const Where &where);
  void checkRoutines();

  const program::PEClass &peClass;
  const program::Machine &machine;
  const CarriedRanges &carried;
  const Where &where;
  std::vector<Interval> scalars;
  CodeContext context;
  CheckerWork &work;
};

std::vector<Interval> CodeChecker::classScalars(const program::PEClass &peClass,
                                                CheckerWork &work,
                                                const Where &where) {
  std::vector<program::Rect> rects;
  for (const program::Rect *rect : *peClass.rects())
    rects.push_back(*rect);
  return checkScalars(peClass.scalars(), {rects}, work, where);
}

void CodeChecker::check() {
  checkCodeFits();
  checkBuffers();
  checkQueues();
  checkFilters();
  checkTasks();
  checkRoutines();
  checkInFlight(context, work, where);
}

// -------------------------------------------------------------------- buffers

void CodeChecker::checkCodeFits() {
  uint64_t code = codeBytes(peClass);
  if (peClass.code_bytes() < code)
    throw badProgram(where, "states " + std::to_string(peClass.code_bytes()) +
                                " bytes of code, its routines take " +
                                std::to_string(code));
  uint64_t used = uint64_t(machine.runtime_bytes()) + peClass.code_bytes();
  if (used > uint64_t(machine.sram_bytes()))
    throw errorAt(ErrorClass::SramOverflow, where,
                  std::to_string(peClass.code_bytes()) + " bytes of code and " +
                      std::to_string(machine.runtime_bytes()) +
                      " of the host runtime exceed the " +
                      std::to_string(machine.sram_bytes()) + " bytes of a PE");
}

void CodeChecker::checkBuffers() {
  if (!peClass.buffers())
    return;
  if (peClass.buffers()->size() > UINT16_MAX)
    throw badProgram(where, "has " + std::to_string(peClass.buffers()->size()) +
                                " buffers, at most " +
                                std::to_string(UINT16_MAX));
  for (const program::Buffer *buffer : *peClass.buffers()) {
    Where here{&where, "buffer", -1, buffer->name()};
    checkBuffer(*buffer, here);
    checkInSram(*buffer, here);
  }
  checkPersistent();
  checkInitial();
}

/// A persistent buffer shares no byte with another one, unless that is not
/// persistent and is the bytes of one, or of several that follow one another.
void CodeChecker::checkPersistent() const {
  std::map<uint64_t, const program::Buffer *> kept; // by address
  auto end = [](const program::Buffer &buffer) {
    return uint64_t(buffer.address()) + buffer.bytes();
  };
  /// The last that begins below `address`; null: none does.
  auto lastBelow = [&](uint64_t address) {
    auto next = kept.lower_bound(address);
    return next == kept.begin() ? nullptr : std::prev(next)->second;
  };
  auto refuse = [&](const program::Buffer &its, const program::Buffer &other) {
    throw badProgram(
        {&where, "buffer", -1, its.name()},
        "is persistent, and shares bytes with buffer " +
            inQuotes(other.name()->string_view()) + " at " +
            std::to_string(std::max(its.address(), other.address())) +
            "; a persistent buffer has its own");
  };
  for (const program::Buffer *buffer : *peClass.buffers()) {
    if (!buffer->persistent() || buffer->bytes() == 0)
      continue;
    const program::Buffer *before = lastBelow(end(*buffer));
    if (before && end(*before) > buffer->address())
      refuse(*before, *buffer);
    kept[buffer->address()] = buffer;
  }
  for (const program::Buffer *buffer : *peClass.buffers()) {
    if (buffer->persistent())
      continue;
    const program::Buffer *shared = nullptr;
    uint64_t rest = end(*buffer); // bytes from here on are of whole ones
    while (rest > buffer->address()) {
      const program::Buffer *before = lastBelow(rest);
      if (!before || end(*before) <= buffer->address())
        break;
      shared = before;
      if (end(*before) != rest)
        break;
      rest = before->address();
    }
    if (shared && rest != buffer->address())
      refuse(*shared, *buffer);
  }
}

/// A buffer that holds something first holds all its bytes, is not persistent,
/// and shares none with others that do or are.
void CodeChecker::checkInitial() const {
  std::multimap<uint64_t, const program::Buffer *> kept; // by address
  for (const program::Buffer *buffer : *peClass.buffers()) {
    const Where here{&where, "buffer", -1, buffer->name()};
    if (buffer->initial() && buffer->persistent())
      throw badProgram(here, "is persistent, and holds something first");
    if (buffer->initial() && buffer->initial()->size() != buffer->bytes())
      throw badProgram(
          here, "of " + std::to_string(buffer->bytes()) + " bytes holds " +
                    std::to_string(buffer->initial()->size()) + " first");
    if (buffer->bytes() > 0 && (buffer->initial() || buffer->persistent()))
      kept.emplace(buffer->address(), buffer);
  }
  const program::Buffer *before = nullptr;
  for (const auto &[address, buffer] : kept) {
    if (before && (before->initial() || buffer->initial()) &&
        uint64_t(before->address()) + before->bytes() > address)
      throw badProgram({&where, "buffer", -1, buffer->name()},
                       "shares bytes with buffer " +
                           inQuotes(before->name()->string_view()) +
                           ", and one of them holds something first");
    before = buffer;
  }
}

void CodeChecker::checkBuffer(const program::Buffer &buffer,
                              const Where &where) {
  if (buffer.type() > program::ElementType::MAX)
    throw badProgram(where, "has the unknown element type " +
                                std::to_string(int(buffer.type())));
  if (!wireType(buffer.type()))
    throw badProgram(where, "has elements of a type that is for tensors of the "
                            "host");
  if (buffer.address() % std::min(elementBytes(buffer.type()), 4u) != 0)
    throw badProgram(where, "address " + std::to_string(buffer.address()) +
                                " is not aligned to its elements");
}

void CodeChecker::checkInSram(const program::Buffer &buffer,
                              const Where &where) {
  uint64_t limit = uint64_t(machine.sram_bytes());
  uint64_t used = uint64_t(machine.runtime_bytes()) + peClass.code_bytes();
  if (buffer.address() < used)
    throw badProgram(where, "address " + std::to_string(buffer.address()) +
                                " lies in the first " + std::to_string(used) +
                                " bytes, which hold the host runtime and "
                                "code");
  uint64_t end = uint64_t(buffer.address()) + buffer.bytes();
  if (end <= limit)
    return;
  std::string owner = buffer.onnx_node() && buffer.onnx_node()->size() > 0
                          ? ", for node " + inQuotes(buffer.onnx_node()->str())
                          : "";
  throw errorAt(ErrorClass::SramOverflow, where,
                std::to_string(buffer.bytes()) + " bytes at address " +
                    std::to_string(buffer.address()) + owner + ", end at " +
                    std::to_string(end) + ", a PE has " +
                    std::to_string(limit));
}

// --------------------------------------------------------- queues and filters

/// Each way, a color is bound to one queue and a queue to one color.
void CodeChecker::checkQueues() {
  if (!peClass.queues())
    return;
  std::set<std::pair<bool, int>> colors, queues;
  int64_t index = 0;
  for (const program::QueueBinding *queue : *peClass.queues()) {
    Where here{&where, "queue binding", index++};
    checkUsableColor(machine, queue->color(), here);
    const auto *words = queue->output() ? machine.output_queue_words()
                                        : machine.input_queue_words();
    if (queue->queue() >= words->size())
      throw errorAt(ErrorClass::MachineLimit, here,
                    "binds queue " + std::to_string(queue->queue()) +
                        ", a PE has " + std::to_string(words->size()) +
                        ": use one below");
    if (!queue->output() && queue->queue() < machine.reserved_input_queues())
      throw errorAt(ErrorClass::MachineLimit, here,
                    "binds input queue " + std::to_string(queue->queue()) +
                        ", the first " +
                        std::to_string(machine.reserved_input_queues()) +
                        " belong to the host runtime: use one above");
    if (!colors.insert({queue->output(), queue->color()}).second)
      throw badProgram(here, "binds color " + std::to_string(queue->color()) +
                                 " a second time");
    if (!queues.insert({queue->output(), queue->queue()}).second)
      throw badProgram(here, "binds queue " + std::to_string(queue->queue()) +
                                 " a second time");
  }
}

/// PEs take launch wavelets to launch, and for nothing else.
void CodeChecker::checkNoCommands(int color, const Where &where) const {
  if (color == context.launchColor)
    throw badProgram(where, "is of color " + std::to_string(color) +
                                ", whose words are launches");
}

void CodeChecker::checkFilters() {
  if (!peClass.filters())
    return;
  std::set<int> colors;
  int64_t index = 0;
  for (const program::Filter *filter : *peClass.filters()) {
    Where here{&where, "filter", index++};
    checkFilter(*filter, here);
    if (!colors.insert(filter->color()).second)
      throw badProgram(here, "color " + std::to_string(filter->color()) +
                                 " has two filters");
  }
}

void CodeChecker::checkFilter(const program::Filter &filter,
                              const Where &where) {
  checkUsableColor(machine, filter.color(), where);
  checkNoCommands(filter.color(), where);
  if (filter.kind() > program::FilterKind::MAX)
    throw badProgram(where, "is of unknown kind");
  checkAffine(filter.min(), scalars, {}, {&where, "minimum"});
  checkAffine(filter.max(), scalars, {}, {&where, "maximum"});
  bool counter = filter.kind() == program::FilterKind::Counter;
  if (counter != (filter.limit() != nullptr))
    throw badProgram(where, counter ? "is a counter without a limit"
                                    : "has a limit, but is no counter");
  if (counter)
    checkAffine(filter.limit(), scalars, {}, {&where, "limit"});
}

// --------------------------------------------------------- tasks and routines

void CodeChecker::checkTasks() {
  if (!peClass.tasks())
    return;
  std::set<std::pair<int, int>> ids;
  for (const program::Task *task : *peClass.tasks()) {
    Where here{&where, "task", -1, task->name()};
    checkTaskId(*task, here);
    checkTaskBuffers(*task, here);
    if (!ids.insert({int(task->kind()), task->id()}).second)
      throw badProgram(here, "has the kind and id of another task");
  }
  // Whether and when a task runs is known only when it does.
  for (const program::Task *task : *peClass.tasks())
    checkBody(*task->body(), context, /*runs=*/false,
              {&where, "task", -1, task->name()});
}

void CodeChecker::checkTaskId(const program::Task &task, const Where &where) {
  int limit = 0;
  switch (task.kind()) {
  case TaskKind::Local:
    limit = machine.local_tasks();
    break;
  case TaskKind::Control:
    limit = machine.control_tasks();
    break;
  case TaskKind::Data:
    checkUsableColor(machine, task.id(), where);
    return checkNoCommands(task.id(), where);
  default:
    throw badProgram(where, "is of unknown kind");
  }
  if (task.id() >= limit)
    throw errorAt(ErrorClass::MachineLimit, where,
                  "has id " + std::to_string(task.id()) + ", a PE has " +
                      std::to_string(limit) +
                      " tasks of its kind: use an id below");
  if (task.kind() == TaskKind::Local)
    checkNotReserved(task.id(), where);
}

/// Some ids are those of the host runtime's own tasks.
void CodeChecker::checkNotReserved(int id, const Where &where) const {
  const auto *reserved = machine.reserved_tasks();
  auto isReserved = [&](int task) {
    return reserved && std::find(reserved->begin(), reserved->end(), task) !=
                           reserved->end();
  };
  if (!isReserved(id))
    return;
  std::string usable;
  for (int task = 0; task < machine.local_tasks(); ++task)
    if (!isReserved(task))
      usable += (usable.empty() ? "" : ", ") + std::to_string(task);
  throw errorAt(ErrorClass::MachineLimit, where,
                "has id " + std::to_string(id) +
                    ", which belongs to the host runtime: local tasks may be " +
                    (usable.empty() ? "none" : usable));
}

/// A wavelet's word goes to any buffer, its upper half to one of integers.
void CodeChecker::checkTaskBuffers(const program::Task &task,
                                   const Where &where) {
  for (int64_t index : {task.word_buffer(), task.index_buffer()}) {
    if (index == -1)
      continue;
    if (task.kind() == TaskKind::Local)
      throw badProgram(where, "stores a wavelet, but none starts it");
    if (index < 0 || !peClass.buffers() ||
        uint64_t(index) >= peClass.buffers()->size())
      throw badProgram(where, "stores a wavelet in buffer " +
                                  std::to_string(index) +
                                  ", which does not exist");
    const program::Buffer &buffer =
        *peClass.buffers()->Get(flatbuffers::uoffset_t(index));
    if (buffer.bytes() < elementBytes(buffer.type()))
      throw badProgram(where, "stores a wavelet in the empty buffer " +
                                  inQuotes(buffer.name()->str()));
  }
}

void CodeChecker::checkRoutines() {
  if (!peClass.routines())
    return;
  std::vector<uint32_t> ids;
  for (const program::Routine *routine : *peClass.routines()) {
    Where here{&where, "routine", routine->id()};
    ids.push_back(routine->id());
    if (routine->arguments() > largestArgumentList)
      throw badProgram(here, "takes " + std::to_string(routine->arguments()) +
                                 " arguments, at most " +
                                 std::to_string(largestArgumentList));
    checkBody(*routine->body(), context, /*runs=*/true, here,
              carried.ofRoutine(routine->id(), routine->arguments()));
  }
  std::sort(ids.begin(), ids.end());
  if (auto twin = std::adjacent_find(ids.begin(), ids.end()); twin != ids.end())
    throw badProgram(where, "has routine " + std::to_string(*twin) + " twice");
}

} // namespace

void checkCode(const program::PEClass &peClass, const program::Machine &machine,
               uint8_t launchColor, const CarriedRanges &carried,
               CheckerWork &work) {
  Where where{nullptr, "class", -1, peClass.name()};
  CodeChecker(peClass, machine, launchColor, carried, work, where).check();
}

} // namespace wsec::runtime
