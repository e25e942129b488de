// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a fuzz target defines. FuzzMain.cpp makes two programs of it:
//
// - in every build NAME COUNT [SEED [FILE ...]], which tries COUNT random
//   mutations of each file, or of the target's own examples, with seeds from
//   SEED on, and tells how they ended. Repeatable: it is what tests run.
// - with -DWSEC_FUZZ=ON a libFuzzer program, which is led by coverage:
//   NAME [libFuzzer options] [CORPUS ...]. It starts from the examples.
//
// An input must be accepted or be refused with an error. Anything else is a
// bug, and shows as a crash or a hang.
#ifndef TEST_RUNTIME_FUZZ_FUZZTARGET_H
#define TEST_RUNTIME_FUZZ_FUZZTARGET_H

#include <cstdint>
#include <string>
#include <vector>

namespace wsec::test {

using Bytes = std::vector<uint8_t>;

struct Example {
  std::string name;
  Bytes bytes;
  /// Folder that paths inside are relative to.
  std::string folder = {};
};

class FuzzTarget {
public:
  virtual ~FuzzTarget() = default;
  /// Small, valid and different from one another.
  virtual std::vector<Example> examples() { return {}; }
  /// How much of an input, from its start, is worth changing.
  virtual uint64_t interesting(const Bytes &input) { return input.size(); }
  /// Whether inputs are lines of text.
  virtual bool text() const { return false; }
  /// Half of the mutations keep an input sound, so that more of it is reached
  /// than the first check: all changes that make it unsound are undone, and
  /// `mend` puts right what follows from the others (sizes, sums).
  virtual bool isSound(const Bytes &) const { return true; }
  virtual void mend(Bytes &) const {}
  /// Tries an input; says in a few words how it ended, the same words for the
  /// same kind of end. Aborts where a bug shows otherwise.
  virtual std::string run(Bytes input, const std::string &folder) = 0;
};

/// Defined once by every target.
FuzzTarget &fuzzTarget();

/// For bugs that do not crash by themselves.
[[noreturn]] void foundBug(const std::string &what);

} // namespace wsec::test

#endif // TEST_RUNTIME_FUZZ_FUZZTARGET_H
