// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Call.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"

#include <algorithm>

namespace wsec::runtime {

namespace {

uint32_t countArguments(const program::Entry &entry) {
  return entry.arguments() ? entry.arguments()->size() : 0;
}

std::string rangeOf(const program::Argument &argument) {
  return "from " + std::to_string(argument.from()) + " to " +
         std::to_string(argument.to());
}

Error badCall(const program::Entry &entry, const std::string &what) {
  return Error(ErrorClass::BadCall,
               "entry " + inQuotes(entry.name()->string_view()) + " " + what);
}

} // namespace

Call::Call(const program::Program &program, uint32_t entry,
           std::vector<int64_t> arguments)
    : its(&program), index(entry), values(std::move(arguments)) {
  if (entry >= program.entries()->size())
    throw Error(ErrorClass::BadCall,
                "there is no entry " + std::to_string(entry) +
                    ", the program has " +
                    std::to_string(program.entries()->size()));
  const program::Entry &called = this->entry();
  count = called.launches()->size();
  if (values.size() != countArguments(called))
    throw badCall(called, "takes " + std::to_string(countArguments(called)) +
                              " arguments, found " +
                              std::to_string(values.size()));
  for (uint32_t i = 0; i < values.size(); ++i) {
    const program::Argument &argument = *called.arguments()->Get(i);
    if (values[i] < argument.from() || values[i] > argument.to())
      throw badCall(called, "takes " +
                                inQuotes(argument.name()->string_view()) + " " +
                                rangeOf(argument) + ", found " +
                                std::to_string(values[i]));
  }
  evaluateScalars(called.scalars(), 0, 0, scalars, values.data());
}

Call Call::until(uint32_t launches) const {
  Call first = *this;
  first.count = std::min(count, launches);
  return first;
}

std::vector<const program::Launch *> Call::launchList() const {
  const auto &all = *entry().launches();
  return {all.begin(), all.begin() + count};
}

Call largestCall(const program::Program &program, uint32_t entry) {
  std::vector<int64_t> values;
  if (const auto *arguments = program.entries()->Get(entry)->arguments())
    for (const program::Argument *argument : *arguments)
      values.push_back(argument->to());
  return Call(program, entry, std::move(values));
}

std::string Call::prefix() const {
  return its->entries()->size() == 1
             ? ""
             : "entry " + inQuotes(entry().name()->string_view()) + ", ";
}

std::vector<int64_t> Call::carried(const program::Launch &launch) const {
  std::vector<int64_t> result;
  if (launch.arguments())
    for (uint16_t scalar : *launch.arguments())
      result.push_back(scalars[scalar]);
  return result;
}

std::vector<int64_t> Call::carriedBy(uint32_t stream) const {
  for (const program::Launch *launch : *entry().launches())
    if (launch->streams() && std::count(launch->streams()->begin(),
                                        launch->streams()->end(), stream))
      return carried(*launch);
  return {};
}

std::string describeEntry(const program::Entry &entry) {
  std::string text;
  for (uint32_t i = 0; i < countArguments(entry); ++i) {
    const program::Argument &argument = *entry.arguments()->Get(i);
    text += (text.empty() ? "" : ", ") +
            printable(argument.name()->string_view()) + " " + rangeOf(argument);
  }
  return printable(entry.name()->string_view()) +
         (text.empty() ? "" : "(" + text + ")");
}

const program::Entry *loadEntry(const program::Program &program) {
  for (const program::Entry *entry : *program.entries())
    if (entry->name()->string_view() == "load" &&
        (!entry->arguments() || entry->arguments()->size() == 0))
      return entry;
  return nullptr;
}

/// Whether all that an entry does is to bring weights that stay, as compiled
/// ones do; a person's may prepare what others go on with.
static bool onlyFills(const program::Program &program,
                      const program::Entry &entry) {
  for (const program::Launch *launch : *entry.launches())
    if (!program.kernels() || launch->kernel() >= program.kernels()->size() ||
        program.kernels()->Get(launch->kernel())->kind()->string_view() !=
            "fill")
      return false;
  return entry.launches()->size() > 0;
}

const program::Entry *loadingEntry(const program::Program &program,
                                   uint32_t index) {
  const program::Entry *load = loadEntry(program);
  const program::Entry *its = program.entries()->Get(index);
  return load && its != load &&
                 (its->name()->string_view() == mainEntry ||
                  onlyFills(program, *load))
             ? load
             : nullptr;
}

uint32_t findEntry(const program::Program &program, const std::string &name) {
  const auto &entries = *program.entries();
  std::vector<std::string> names;
  std::string list;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    names.push_back(entries.Get(i)->name()->str());
    if (names.back() == (name.empty() ? mainEntry : name))
      return i;
    list += "\n  " + describeEntry(*entries.Get(i));
  }
  if (name.empty() && entries.size() == 1)
    return 0;
  if (name.empty())
    throw Error(ErrorClass::BadCall,
                "the program has several entries, and none of them is 'main'; "
                "choose one:" +
                    list);
  throw Error(ErrorClass::BadCall, "the program has no entry " +
                                       inQuotes(name) +
                                       nearestNames(name, names));
}

std::vector<int64_t>
argumentValues(const program::Entry &entry,
               const std::vector<std::pair<std::string, int64_t>> &given) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < countArguments(entry); ++i)
    names.push_back(entry.arguments()->Get(i)->name()->str());
  std::vector<int64_t> values(names.size());
  std::vector<bool> known(names.size());
  for (const auto &[name, value] : given) {
    const auto at =
        size_t(std::find(names.begin(), names.end(), name) - names.begin());
    if (at == names.size())
      throw badCall(entry, "has no argument " + inQuotes(name) +
                               nearestNames(name, names));
    if (known[at])
      throw badCall(entry, "is given argument " + inQuotes(name) + " twice");
    values[at] = value;
    known[at] = true;
  }
  std::string missing;
  for (size_t i = 0; i < names.size(); ++i)
    if (const auto &argument = *entry.arguments()->Get(unsigned(i));
        !known[i] && argument.length_tensor() >= 0)
      values[i] = argument.to();
    else if (!known[i])
      missing += (missing.empty() ? "" : ", ") + inQuotes(names[i]) + " (" +
                 rangeOf(argument) + ")";
  if (!missing.empty())
    throw badCall(entry, "lacks a value for " + missing);
  return values;
}

} // namespace wsec::runtime
