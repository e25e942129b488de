// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/RandomProgram.h"

#include "runtime/program/PeText.h"
#include "test/runtime/differential/Patterns.h"

namespace wsec::runtime::test {

std::string RandomProgram::text() const {
  TextOptions options;
  options.machine = source.machine->name;
  return peText(source, options);
}

RandomProgram randomProgram(Choices &choices, Break broken,
                            Launching launching) {
  using Make = Emit (*)(Assembly &);
  static constexpr Make makers[] = {
      vectors,     stream,       chain,       exchange,
      merge,       scalarCode,   localTasks,  dataTask,
      controlTask, endAtControl, rangeFilter, counterFilter,
      gather,      distribute,   takeTurns,   teardown};
  // Without tasks, switches and scalar code there are the first five.
  const uint32_t kinds =
      launching == Launching::Commands ? 5 : uint32_t(std::size(makers));
  constexpr size_t most = 12;
  Assembly a(choices, launching, broken);
  struct Pattern {
    size_t section;
    int home; ///< the routine that has it for sure
    Emit emit;
  };
  std::vector<Pattern> patterns;
  for (size_t part = 1; part <= most; ++part) {
    choices.enter(part);
    const int home = choices.between(0, a.routines - 1);
    if (Emit emit = makers[choices.draw(kinds)](a))
      patterns.push_back({part, home, std::move(emit)});
    if (!choices.another())
      break;
  }
  for (int r = 0; r < a.routines; ++r)
    for (const Pattern &pattern : patterns) {
      choices.enter(pattern.section);
      if (pattern.home == r || choices.draw(2))
        pattern.emit(r);
    }
  choices.enter(0);
  return a.finish();
}

} // namespace wsec::runtime::test
