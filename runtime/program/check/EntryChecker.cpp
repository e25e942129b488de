// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/EntryChecker.h"
#include "runtime/program/Call.h"
#include "runtime/program/Checker.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/check/HostChecker.h"
#include "runtime/program/check/ScalarChecker.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace wsec::runtime {

namespace {

/// They stand in text.
bool isIdentifier(std::string_view name) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && isLetter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return isLetter(c) || (c >= '0' && c <= '9');
         });
}

/// Arguments of the routines that some class has.
using RoutineArguments = std::map<uint32_t, uint32_t>;

/// A routine takes the same of its launches in every class.
RoutineArguments routineArguments(const program::Program &program) {
  RoutineArguments taken;
  for (const program::PEClass *peClass : *program.classes()) {
    if (!peClass->routines())
      continue;
    Where where{nullptr, "class", -1, peClass->name()};
    for (const program::Routine *routine : *peClass->routines()) {
      auto [known, isNew] = taken.emplace(routine->id(), routine->arguments());
      if (known->second != routine->arguments())
        throw badProgram({&where, "routine", routine->id()},
                         "takes " + std::to_string(routine->arguments()) +
                             " arguments, in another class " +
                             std::to_string(known->second));
    }
  }
  return taken;
}

class EntryChecker {
public:
  EntryChecker(const program::Program &program, CheckerWork &work)
      : program(program), work(work), taken(routineArguments(program)) {}

  void check(const program::Entry &entry, const Where *where);
  CarriedRanges carried;

private:
  void checkLength(const program::Argument &argument, const Where &where) const;
  std::vector<Interval> checkArguments(const program::Entry &entry,
                                       const Where &where) const;
  void checkLaunch(const program::Launch &launch,
                   const std::vector<Interval> &scalars, const Where &where);
  std::vector<Interval> checkCarried(const program::Launch &launch,
                                     const std::vector<Interval> &scalars,
                                     const Where &where) const;
  void checkSharing(const program::Launch &launch, uint32_t stream,
                    const Where &where);
  void checkSlots(const program::Launch &launch, const Where &where);
  void checkFollower(bool isFirst, const Where &where) const;

  const program::Program &program;
  CheckerWork &work;
  /// What the first launch of the entry carries that feeds on a stream.
  std::map<uint32_t, std::vector<uint16_t>> feeding;
  /// The last slot of each color and direction, in the entry.
  std::map<std::pair<uint8_t, program::Direction>, uint32_t> lastSlot;
  const RoutineArguments taken;
};

/// Tensors with length axes have the most along them.
void EntryChecker::checkLength(const program::Argument &argument,
                               const Where &where) const {
  if (argument.length_tensor() < 0)
    return;
  const program::Tensor &number =
      tensorAt(program, argument.length_tensor(), "is the length in", where);
  const bool isInteger = number.type() == program::ElementType::I32 ||
                         number.type() == program::ElementType::I64;
  if (number.role() != program::TensorRole::Input || !isInteger ||
      elementCount(number) != 1 || argument.from() < 1 ||
      argument.length_parts() < 1)
    throw badProgram(where, "is a length, from 1 on, whose tensor is no input "
                            "of one integer");
  for (const program::Tensor *tensor : *program.tensors())
    if (const auto *axes = tensor->length_axes())
      for (const uint8_t axis : *axes)
        if (tensor->shape()->Get(axis) != argument.to())
          throw badProgram(
              where, "is a length to " + std::to_string(argument.to()) +
                         ", and tensor " + inQuotes(tensor->name()->str()) +
                         " has another extent");
}

std::vector<Interval> EntryChecker::checkArguments(const program::Entry &entry,
                                                   const Where &where) const {
  std::vector<Interval> ranges;
  if (!entry.arguments())
    return ranges;
  if (entry.arguments()->size() > largestArgumentList)
    throw badProgram(where, "has " + std::to_string(entry.arguments()->size()) +
                                " arguments, at most " +
                                std::to_string(largestArgumentList));
  std::set<std::string_view> names;
  for (const program::Argument *argument : *entry.arguments()) {
    Where here{&where, "argument", -1, argument->name()};
    if (!names.insert(argument->name()->string_view()).second)
      throw badProgram(here, "has the name of another one");
    if (!isIdentifier(argument->name()->string_view()))
      throw badProgram(here,
                       "has a name that is no identifier: letters, digits "
                       "and _");
    if (argument->from() > argument->to())
      throw badProgram(here, "has no value from " +
                                 std::to_string(argument->from()) + " to " +
                                 std::to_string(argument->to()));
    checkLength(*argument, here);
    ranges.push_back({argument->from(), argument->to()});
  }
  return ranges;
}

void EntryChecker::check(const program::Entry &entry, const Where *outer) {
  Where whole{nullptr, "program"};
  const Where &where = outer ? *outer : whole;
  const std::vector<Interval> arguments = checkArguments(entry, where);
  const std::vector<Interval> scalars =
      checkScalars(entry.scalars(), {{}, arguments}, work, where);
  int64_t index = 0;
  feeding.clear();
  lastSlot.clear();
  for (const program::Launch *launch : *entry.launches()) {
    const Where here{outer, "launch", index++};
    checkLaunch(*launch, scalars, here);
    if (launch->follows())
      checkFollower(launch == entry.launches()->Get(0), here);
  }
}

/// Its PEs find out by themselves that it is next.
void EntryChecker::checkFollower(bool isFirst, const Where &where) const {
  if (program.launch_color() == noLaunchColor)
    throw badProgram(where, "follows the one before, but the host calls the "
                            "launches of this program");
  if (isFirst)
    throw badProgram(where, "follows the one before, but is the first");
}

/// It starts a routine that some class has.
void EntryChecker::checkLaunch(const program::Launch &launch,
                               const std::vector<Interval> &scalars,
                               const Where &where) {
  const size_t kernels = program.kernels() ? program.kernels()->size() : 0;
  const size_t streams = program.streams() ? program.streams()->size() : 0;
  if (!taken.count(launch.routine()))
    throw badProgram(where, "no class has routine " +
                                std::to_string(launch.routine()));
  if (launch.kernel() >= kernels)
    throw badProgram(where, "belongs to kernel " +
                                std::to_string(launch.kernel()) +
                                ", which does not exist");
  if (launch.streams())
    work.add(1, launch.streams()->size(), "to check its streams", where);
  std::set<uint32_t> listed;
  for (unsigned i = 0; launch.streams() && i < launch.streams()->size(); ++i) {
    const uint32_t stream = launch.streams()->Get(i);
    if (stream >= streams)
      throw badProgram(where, "feeds on stream " + std::to_string(stream) +
                                  ", which does not exist");
    if (!listed.insert(stream).second)
      throw badProgram(where, "feeds on stream " + std::to_string(stream) +
                                  " twice; a stream flows once for a launch");
    checkSharing(launch, stream, where);
  }
  checkSlots(launch, where);
  carried.add(launch, checkCarried(launch, scalars, where));
}

/// Words of one color can't overtake one another.
void EntryChecker::checkSlots(const program::Launch &launch,
                              const Where &where) {
  if (!launch.slots())
    return;
  checkAligned(*launch.slots(), where);
  const size_t streams = launch.streams() ? launch.streams()->size() : 0;
  if (launch.slots()->size() != streams)
    throw badProgram(where, "has " + std::to_string(launch.slots()->size()) +
                                " slots for " + std::to_string(streams) +
                                " streams");
  for (unsigned i = 0; i < streams; ++i) {
    const program::Slot &slot = *launch.slots()->Get(i);
    const program::HostStream &stream =
        *program.streams()->Get(launch.streams()->Get(i));
    const auto [last, isNew] = lastSlot.try_emplace(
        {stream.color(), stream.direction()}, slot.order());
    if (slot.end() < slot.begin() ||
        (!isNew && slot.order() <= std::exchange(last->second, slot.order())))
      throw badProgram(where, "has slot " + std::to_string(slot.order()) +
                                  " for stream " +
                                  std::to_string(launch.streams()->Get(i)) +
                                  ", behind a later one of its color or "
                                  "ending before it begins");
  }
}

/// A stream has one set of arguments in a call.
void EntryChecker::checkSharing(const program::Launch &launch, uint32_t stream,
                                const Where &where) {
  std::vector<uint16_t> carries;
  if (launch.arguments())
    carries.assign(launch.arguments()->begin(), launch.arguments()->end());
  const auto [first, isNew] = feeding.try_emplace(stream, carries);
  const auto *scalars = program.streams()->Get(stream)->scalars();
  if (isNew || !scalars)
    return;
  work.add(1, scalars->size(), "to look for arguments", where);
  for (unsigned i = 0; i < scalars->size(); ++i)
    if (scalars->Get(i)->op() == program::ScalarOp::Argument &&
        first->second != carries)
      throw badProgram(where, "feeds on stream " + std::to_string(stream) +
                                  ", which has arguments, and carries others "
                                  "than an earlier launch that does; give it "
                                  "a stream of its own");
}

/// As many words as the routine takes.
std::vector<Interval>
EntryChecker::checkCarried(const program::Launch &launch,
                           const std::vector<Interval> &scalars,
                           const Where &where) const {
  const uint32_t count = launch.arguments() ? launch.arguments()->size() : 0;
  const uint32_t wanted = taken.at(launch.routine());
  if (count != wanted)
    throw badProgram(where, "carries " + std::to_string(count) +
                                " arguments, routine " +
                                std::to_string(launch.routine()) + " takes " +
                                std::to_string(wanted));
  std::vector<Interval> values;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t scalar = launch.arguments()->Get(i);
    if (scalar >= scalars.size())
      throw badProgram(where, "carries scalar " + std::to_string(scalar) +
                                  " of its entry, which does not exist");
    if (!scalars[scalar].inside(INT32_MIN, INT32_MAX))
      throw badProgram(where, "carries scalar " + std::to_string(scalar) +
                                  ", which may be " +
                                  std::to_string(scalars[scalar].low) + " to " +
                                  std::to_string(scalars[scalar].high) +
                                  ": a wavelet has 32 bits");
    values.push_back(scalars[scalar]);
  }
  return values;
}

} // namespace

void CarriedRanges::add(const program::Launch &launch,
                        const std::vector<Interval> &values) {
  auto join = [&](std::map<uint32_t, std::vector<Interval>> &map,
                  uint32_t key) {
    auto [known, isNew] = map.emplace(key, values);
    if (isNew)
      return;
    std::vector<Interval> &ranges = known->second;
    ranges.resize(std::min(ranges.size(), values.size()));
    for (size_t i = 0; i < ranges.size(); ++i)
      ranges[i] = unite(ranges[i], values[i]);
  };
  join(routines, launch.routine());
  if (launch.streams())
    for (uint32_t stream : *launch.streams())
      join(streams, stream);
}

std::vector<Interval> CarriedRanges::ofRoutine(uint32_t id,
                                               uint32_t count) const {
  auto known = routines.find(id);
  return known == routines.end()
             ? std::vector<Interval>(count, {INT32_MIN, INT32_MAX})
             : known->second;
}

std::vector<Interval> CarriedRanges::ofStream(uint32_t stream) const {
  auto known = streams.find(stream);
  return known == streams.end() ? std::vector<Interval>() : known->second;
}

bool isPlain(const program::Program &program) {
  const program::Entry &first = *program.entries()->Get(0);
  return program.entries()->size() == 1 &&
         first.name()->string_view() == mainEntry &&
         (!first.arguments() || first.arguments()->size() == 0) &&
         (!first.scalars() || first.scalars()->size() == 0);
}

CarriedRanges checkEntries(const program::Program &program, CheckerWork &work) {
  const uint32_t count = program.entries()->size();
  if (count == 0 || count > largestEntryList)
    throw badProgram({nullptr, "program"},
                     "has " + std::to_string(count) +
                         " entries, expected 1 to " +
                         std::to_string(largestEntryList));
  EntryChecker checker(program, work);
  std::set<std::string_view> names;
  for (const program::Entry *entry : *program.entries()) {
    Where where{nullptr, "entry", -1, entry->name()};
    if (!names.insert(entry->name()->string_view()).second)
      throw badProgram(where, "has the name of another one");
    checker.check(*entry, isPlain(program) ? nullptr : &where);
  }
  return std::move(checker.carried);
}

} // namespace wsec::runtime
