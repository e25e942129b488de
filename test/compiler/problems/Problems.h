// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random problems of place, route and schedule: solved, verified, and verified
// again with one thing changed. What the change breaks is found by an oracle
// that goes through all PEs, bytes or slots and shares no code with `verify`:
//
//   problem -> solver -> solution            verify finds nothing
//                           | one change
//                           v
//                  changed solution --+--> verify: "P2: region @r1, ..."
//                                     +--> oracle: {P2, P4}
//
// verify names one of the rules that the oracle finds broken, and none if the
// change is harmless.
#ifndef WSEC_TEST_COMPILER_PROBLEMS_PROBLEMS_H
#define WSEC_TEST_COMPILER_PROBLEMS_PROBLEMS_H

#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace wsec::test {

/// Small random numbers, the same on every machine.
class Random {
public:
  explicit Random(uint32_t seed) : engine(seed) {}
  int64_t below(int64_t limit) { return int64_t(engine() % uint64_t(limit)); }
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  bool oneIn(int64_t chances) { return below(chances) == 0; }
  template <typename List>
  auto &of(List &list) {
    return list[size_t(below(int64_t(std::size(list))))];
  }

private:
  std::mt19937 engine;
};

/// Words that stand in one complaint about a rule and in no other.
struct Complaint {
  const char *rule, *words;
};

/// What a campaign has seen so far.
class Tally {
public:
  explicit Tally(std::vector<Complaint> complaints)
      : complaints(std::move(complaints)) {}

  /// The seed of the problem that what follows is about.
  void begin(uint32_t seed);
  /// Holds what verify said against the rules that the oracle finds broken.
  void judge(const std::string &said, const std::set<std::string> &broken);
  /// A failure unless `holds`.
  void expect(bool holds, const std::string &otherwise);
  /// Counts something that a campaign must have met.
  void met(const std::string &what, bool happened = true) {
    events[what] += happened;
  }

  /// Prints the counts and the first failures. True if there are none and each
  /// event was met, each complaint was made, and each rule was broken alone.
  bool report() const;

private:
  std::vector<Complaint> complaints;
  std::map<std::string, uint64_t> said;          // by the words of a complaint
  std::map<std::string, uint64_t> alone, beside; // by rule
  std::map<std::string, uint64_t> events;
  std::vector<std::string> failures;
  uint64_t failed = 0;
  uint32_t seed = 0;
};

/// One phase: what its verify may say, and one random problem with changes.
struct Phase {
  const char *name;
  std::vector<Complaint> complaints;
  void (*run)(Random &random, Tally &tally);
};
Phase placements();
Phase routings();
Phase paths();
Phase schedules();

} // namespace wsec::test

#endif // WSEC_TEST_COMPILER_PROBLEMS_PROBLEMS_H
