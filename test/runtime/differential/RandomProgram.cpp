// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/RandomProgram.h"

#include "test/runtime/differential/Patterns.h"

namespace wsec::runtime::test {

RandomProgram randomProgram(Choices &choices, Break broken) {
  using Make = Emit (*)(Assembly &);
  static constexpr Make makers[] = {
      vectors,     stream,        chain,    exchange,    merge,
      scalarCode,  localTasks,    dataTask, controlTask, endAtControl,
      rangeFilter, counterFilter, gather,   distribute,  teardown};
  constexpr int most = 12;
  Assembly a(choices, broken);
  std::vector<Emit> patterns;
  do {
    if (Emit emit = makers[choices.draw(std::size(makers))](a))
      patterns.push_back(std::move(emit));
  } while (choices.draw(4) != 0 && patterns.size() < most);
  for (int r = 0; r < a.routines; ++r)
    for (size_t i = 0; i < patterns.size(); ++i)
      if (int(i) % a.routines == r || choices.draw(2))
        patterns[i](r);
  return a.finish();
}

} // namespace wsec::runtime::test
