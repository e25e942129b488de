// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any number of random problems of one phase, from the command line.
#include "test/CommandLine.h"
#include "test/compiler/problems/Problems.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace wsec::test;

static const char usage[] =
    "usage: RandomProblems --phase=place|route|path|schedule [--seed=FIRST] "
    "[--count=N]\n"
    "Problem FIRST + i is made from that seed alone.\n";

int main(int argc, char **argv) {
  const Phase phases[] = {placements(), routings(), paths(), schedules()};
  const Phase *phase = nullptr;
  uint32_t first = 1, count = 1000;
  for (int i = 1; i < argc; ++i) {
    const char *text = nullptr;
    if (optionValue(argv[i], "--seed", text))
      first = uint32_t(std::strtoul(text, nullptr, 10));
    else if (optionValue(argv[i], "--count", text))
      count = uint32_t(std::strtoul(text, nullptr, 10));
    else if (optionValue(argv[i], "--phase", text))
      for (const Phase &candidate : phases)
        phase = std::strcmp(candidate.name, text) ? phase : &candidate;
  }
  if (!phase) {
    std::fputs(usage, stderr);
    return 2;
  }
  Tally tally(phase->complaints);
  for (uint32_t i = 0; i < count; ++i) {
    Random random(first + i);
    tally.begin(first + i);
    phase->run(random, tally);
  }
  return tally.report() ? 0 : 1;
}
