// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CALL_H
#define RUNTIME_PROGRAM_CALL_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// The entry that a program without entries of its own has.
inline constexpr std::string_view mainEntry = "main";

/// A call of a program: one of its entries, with values of its arguments.
class Call {
public:
  /// The program must have passed the checker, and must outlive the call.
  /// Throws BadCall unless there is a value in its range for each argument.
  explicit Call(const program::Program &program, uint32_t entry = 0,
                std::vector<int64_t> arguments = {});

  const program::Program &program() const { return *its; }
  uint32_t entryIndex() const { return index; }
  const program::Entry &entry() const { return *its->entries()->Get(index); }
  /// "entry 'attend', " where the program has more than one.
  std::string prefix() const;

  /// Its first launches only, as if the entry had no others.
  Call until(uint32_t launches) const;
  uint32_t launches() const { return count; }
  bool isWhole() const { return count == entry().launches()->size(); }
  const program::Launch &launch(size_t number) const {
    return *entry().launches()->Get(flatbuffers::uoffset_t(number));
  }
  const flatbuffers::Vector<flatbuffers::Offset<program::HostCopy>> *
  copies() const {
    return entry().copies();
  }

  std::vector<const program::Launch *> launchList() const;

  /// Whether PEs go on to it without a wavelet.
  bool follows(size_t number) const {
    return number < count && launch(number).follows();
  }
  /// Words of the launch color: its wavelet, if it has one, and what it
  /// carries.
  size_t commandWords(size_t number) const {
    const auto *scalars = launch(number).arguments();
    return (follows(number) ? 0 : 1) + (scalars ? scalars->size() : 0);
  }
  /// What a launch carries.
  std::vector<int64_t> carried(const program::Launch &launch) const;
  /// What the launch carries that feeds on a stream.
  std::vector<int64_t> carriedBy(uint32_t stream) const;

  const std::vector<int64_t> &arguments() const { return values; }
  bool operator==(const Call &other) const {
    return its == other.its && index == other.index && count == other.count &&
           values == other.values;
  }
  /// For maps of the calls of one program.
  bool operator<(const Call &other) const {
    return std::tie(index, count, values) <
           std::tie(other.index, other.count, other.values);
  }

private:
  const program::Program *its;
  uint32_t index;
  uint32_t count = 0;           ///< of launches
  std::vector<int64_t> values;  ///< of the arguments
  std::vector<int64_t> scalars; ///< of the entry
};

/// The entry of a program that has no other.
inline const program::Entry &onlyEntry(const program::Program &program) {
  return *program.entries()->Get(0);
}

/// With the largest value of each argument.
Call largestCall(const program::Program &program, uint32_t entry);

/// The entry of a name; an empty one means the only entry, or "main". Throws
/// BadCall, listing the entries.
uint32_t findEntry(const program::Program &program, const std::string &name);
/// The entry "load", if it has no arguments. Null: there is none.
const program::Entry *loadEntry(const program::Program &program);
/// What fills the weights that stay on the wafer before the entry at `index` is
/// called, unless a state is restored: the entry "load", before "main" whatever
/// it does, before others if it does nothing else. Null: nothing.
const program::Entry *loadingEntry(const program::Program &program,
                                   uint32_t index);

/// The values of an entry's arguments, each given by name; of a length, which
/// is that of the inputs, the most. Throws BadCall where one is missing,
/// unknown, given twice or out of range.
std::vector<int64_t>
argumentValues(const program::Entry &entry,
               const std::vector<std::pair<std::string, int64_t>> &given);

/// "attend(length from 1 to 64)", or with quotes around what is no identifier.
std::string describeEntry(const program::Entry &entry);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CALL_H
