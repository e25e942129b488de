// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What random programs are made of. A pattern takes colors, buffers, tasks and
// routes when it is made; its code goes into as many routines as the program
// wants. All PEs run their parts of the patterns of a routine in one order,
// so that a pattern never waits for a later one. Where tasks, which run when
// the routine is done, receive words, only microthreads that nobody awaits
// send them.
#ifndef TEST_RUNTIME_DIFFERENTIAL_PATTERNS_H
#define TEST_RUNTIME_DIFFERENTIAL_PATTERNS_H

#include "test/runtime/differential/Assembly.h"

#include <functional>

namespace wsec::runtime::test {

/// Adds a pattern's code to a routine; null: there was no room for it.
using Emit = std::function<void(int routine)>;

// LocalPatterns.cpp: one PE.
Emit vectors(Assembly &a);
Emit scalarCode(Assembly &a);
Emit localTasks(Assembly &a);
// StreamPatterns.cpp: words from PE to PE.
Emit stream(Assembly &a);
Emit chain(Assembly &a);
Emit exchange(Assembly &a);
Emit merge(Assembly &a);
// TaskPatterns.cpp: words that start tasks, or are filtered.
Emit dataTask(Assembly &a);
Emit controlTask(Assembly &a);
Emit endAtControl(Assembly &a);
Emit rangeFilter(Assembly &a);
Emit counterFilter(Assembly &a);
// SwitchPatterns.cpp: routes that change.
Emit gather(Assembly &a);
Emit distribute(Assembly &a);
Emit takeTurns(Assembly &a);
Emit teardown(Assembly &a);

/// Memory that an operand may lie in.
struct Space {
  uint16_t buffer = 0;
  program::ElementType type = program::ElementType::F32;
  int elements = 0;
};
Space space(Assembly &a, PE &pe, program::ElementType type, int elements,
            Assembly::Access access = Assembly::InOut);
/// An operand somewhere in it.
Operand somewhere(Assembly &a, const Space &space,
                  const std::vector<int> &extents);
Operand wire(int color, const Form &form);
/// May make an instruction asynchronous: awaited at once, or (`later`) by
/// nobody, with a task at its end or without.
void mayRunAside(Assembly &a, PE &pe, TaskBody body, int routine,
                 program::InstructionT &instruction, bool later);
/// Sends `words` elements. `body` is that of a routine, or inside it.
void send(Assembly &a, PE &pe, TaskBody body, int routine, int color,
          const Form &form, int words, const Space &from, bool later);
/// Receives `words` elements, in one of many ways.
void receive(Assembly &a, PE &pe, TaskBody body, int routine, int color,
             const Form &form, int words, const Space &into, bool later);
/// Memory that is enough to send or receive so many words.
Space endOfStream(Assembly &a, PE &pe, const Form &form, int words);

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_PATTERNS_H
