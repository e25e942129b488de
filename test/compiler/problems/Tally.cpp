// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/compiler/problems/Problems.h"

#include <cinttypes>
#include <cstdio>

using namespace wsec::test;

void Tally::begin(uint32_t of) { seed = of; }

void Tally::expect(bool holds, const std::string &otherwise) {
  if (holds)
    return;
  ++failed;
  if (failures.size() < 10)
    failures.push_back("seed " + std::to_string(seed) + ": " + otherwise);
}

void Tally::judge(const std::string &text,
                  const std::set<std::string> &broken) {
  std::string list;
  for (const std::string &rule : broken)
    list += (list.empty() ? "" : ", ") + rule;
  if (text.empty()) {
    ++events["harmless changes"];
    return expect(broken.empty(), "verify finds nothing, broken are " + list);
  }
  const Complaint *found = nullptr;
  for (const Complaint &complaint : complaints)
    if (text.find(complaint.words) != std::string::npos)
      found = found ? found : &complaint;
  if (!found)
    return expect(false, "unknown complaint: " + text);
  ++said[found->words];
  ++(broken.size() == 1 ? alone : beside)[found->rule];
  expect(broken.count(found->rule), "verify says " + std::string(found->rule) +
                                        ", broken are {" + list + "}: " + text);
}

static bool line(const std::string &what, uint64_t count, bool must = true) {
  std::printf("%9" PRIu64 "  %s%s\n", count, what.c_str(),
              count || !must ? "" : "   <- never");
  return count > 0;
}

bool Tally::report() const {
  auto countIn = [](const auto &map, const std::string &key) {
    auto it = map.find(key);
    return it == map.end() ? uint64_t(0) : it->second;
  };
  bool good = failed == 0;
  for (const auto &[what, count] : events)
    good &= line(what, count);
  std::string last;
  for (const Complaint &complaint : complaints) {
    if (last != complaint.rule) {
      last = complaint.rule;
      good &= line(last + " broken alone", countIn(alone, last));
      line(last + " broken beside others", countIn(beside, last), false);
    }
    good &= line(last + ": '" + complaint.words + "'",
                 countIn(said, complaint.words));
  }
  for (const std::string &failure : failures)
    std::printf("%s\n", failure.c_str());
  std::printf("%" PRIu64 " failures\n", failed);
  return good;
}
