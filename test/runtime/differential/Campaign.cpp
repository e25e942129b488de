// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/Campaign.h"

#include "test/runtime/differential/Shrink.h"

#include <algorithm>
#include <cstdio>

namespace wsec::runtime::test {

bool Campaign::setKind(const std::string &name) {
  strips = name == "strips" || name == "broken-strips";
  if (strips || name == "commands" || name == "broken-commands") {
    launching = Launching::Commands;
    broken = name.starts_with("broken");
    return true;
  }
  broken = name != "well-formed";
  kind = Break::Nothing;
  if (!broken || name == "broken")
    return true;
  for (int b = 1; b < breaks; ++b)
    if (name == breakName(Break(b))) {
      kind = Break(b);
      return true;
    }
  return false;
}

RandomProgram Campaign::program(Choices &choices, uint64_t seed) const {
  Break what = kind;
  if (broken && what == Break::Nothing)
    what = Break(1 + seed % (breaks - 1));
  return randomProgram(choices, what, launching);
}

std::string Campaign::text(uint64_t seed) const {
  Choices choices(seed);
  return "// seed " + std::to_string(seed) + "\n" +
         program(choices, seed).text();
}

/// A small program with the same disagreement.
std::string Campaign::report(const Choices::Lists &lists, uint64_t seed,
                             Verdict verdict) const {
  auto fails = [&](Choices::Lists given) {
    Choices choices(std::move(given));
    RandomProgram its = program(choices, seed);
    return compare(its, strips).verdict == verdict ? choices.lists()
                                                   : Choices::Lists();
  };
  Choices small(shrink(lists, tries, fails));
  RandomProgram its = program(small, seed);
  const Comparison comparison = compare(its, strips);
  return "seed " + std::to_string(seed) + ", broken: " + breakName(its.broken) +
         ": " + comparison.describe() + its.text();
}

Tally Campaign::run() const {
  Tally tally;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Choices choices(seed);
    RandomProgram its = program(choices, seed);
    const Comparison comparison = compare(its, strips);
    const Verdict verdict = comparison.verdict;
    ++tally.verdicts[verdict];
    if (verdict == Verdict::Refused)
      ++tally.errors[std::string(errorClassName(*comparison.other.error))];
    if (verdict == Verdict::Same || verdict == Verdict::CyclesDiffer)
      tally.offBy.push_back({comparison.offBy(), seed});
    tally.digest = tally.digest * 31 + comparison.wavelet.digest();
    const bool slow = verdict == Verdict::CyclesDiffer;
    // Nothing may be wrong with a well-formed program, but that it asks for
    // more queues at a time than a PE has.
    const bool sound = verdict < Verdict::Refused ||
                       its.broken != Break::Nothing ||
                       comparison.other.error == ErrorClass::MachineLimit;
    if (!disagrees(verdict) && !slow && sound && verdict != Verdict::Invalid)
      continue;
    std::string text = "seed " + std::to_string(seed) +
                       ", broken: " + breakName(its.broken) + ": " +
                       comparison.describe();
    if (tries > 0 && (!slow || shrinksCycles))
      text = report(choices.lists(), seed, verdict);
    if (disagreed)
      disagreed(text);
    (slow ? tally.slow : tally.disagreements)
        .push_back({seed, verdict, std::move(text)});
  }
  std::sort(tally.offBy.begin(), tally.offBy.end());
  return tally;
}

std::string Tally::describe() const {
  std::string text;
  for (const auto &[verdict, n] : verdicts)
    text += std::to_string(n) + " " + verdictName(verdict) + "\n";
  for (const auto &[name, n] : errors)
    text += "  " + std::to_string(n) + " refused: " + name + "\n";
  if (!offBy.empty()) {
    text += "cycles, by which they are off:";
    for (double part : {0.0, 0.01, 0.05, 0.5, 0.95, 0.99, 1.0}) {
      const auto &[off, seed] = offBy[size_t(part * double(offBy.size() - 1))];
      char entry[80];
      std::snprintf(entry, sizeof entry, " %g %%: %+.2f %% (seed %llu)",
                    100 * part, 100 * off, (unsigned long long)seed);
      text += entry;
    }
    text += "\n";
  }
  return text;
}

} // namespace wsec::runtime::test
