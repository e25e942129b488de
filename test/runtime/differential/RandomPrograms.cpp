// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any number of random programs on both engines, from the command line.
#include "test/CommandLine.h"
#include "test/runtime/differential/Campaign.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace wsec::runtime::test;
using wsec::test::optionValue;

static const char usage[] =
    "usage: RandomPrograms [--seed=FIRST] [--count=N] [--kind=KIND] "
    "[--shrink=TRIES]\n"
    "                      [--cycles] [--print]\n"
    "  --kind    well-formed (default), broken, or one of the breaks below;\n"
    "            commands, broken-commands: programs as the compiler emits "
    "them;\n"
    "            strips, broken-strips: those, on the engine of large meshes\n"
    "  --shrink  makes programs on which the engines disagree small and prints "
    "them\n"
    "  --cycles  does so for cycles, too\n"
    "  --print   prints the programs in the pe dialect instead of running "
    "them\n";

int main(int argc, char **argv) {
  Campaign campaign;
  bool prints = false;
  for (int i = 1; i < argc; ++i) {
    const char *text = nullptr;
    if (optionValue(argv[i], "--seed", text))
      campaign.first = std::strtoull(text, nullptr, 10);
    else if (optionValue(argv[i], "--count", text))
      campaign.count = std::strtoull(text, nullptr, 10);
    else if (optionValue(argv[i], "--shrink", text))
      campaign.tries = std::atoi(text);
    else if (std::strcmp(argv[i], "--cycles") == 0)
      campaign.shrinksCycles = true;
    else if (std::strcmp(argv[i], "--print") == 0)
      prints = true;
    else if (!optionValue(argv[i], "--kind", text) || !campaign.setKind(text)) {
      std::fputs(usage, stderr);
      for (int b = 1; b < breaks; ++b)
        std::fprintf(stderr, "  %s\n", breakName(Break(b)));
      return 2;
    }
  }
  if (prints) {
    for (uint64_t s = 0; s < campaign.count; ++s)
      std::fputs(campaign.text(campaign.first + s).c_str(), stdout);
    return 0;
  }
  campaign.disagreed = [](const std::string &text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  };
  const Tally tally = campaign.run();
  std::fputs(tally.describe().c_str(), stdout);
  return tally.disagreements.empty() ? 0 : 1;
}
