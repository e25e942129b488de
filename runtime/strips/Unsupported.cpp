// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of the language strips does not run.
#include "runtime/strips/StripsEngine.h"

#include "runtime/pe/Code.h"
#include "runtime/program/Wire.h"

#include <algorithm>
#include <string>

namespace wsec::runtime {

namespace {

/// Locals are arguments of a launch: nothing else that strips runs sets one.
bool sameInAllTurns(const AffineFunction &function) {
  return std::all_of(function.terms.begin(), function.terms.end(),
                     [](const AffineTerm &term) { return !term.loop; });
}

const char *unsupportedOperand(const OperandCode &operand) {
  if ((operand.memory() || operand.fabric()) &&
      elementSize(operand.type) != 4)
    return "elements of 16 bits";
  if (operand.packing != program::Packing::Single || operand.indexed)
    return "wavelets with pairs or indices";
  return nullptr;
}

const char *unsupportedStatements(const Body &body);

const char *unsupported(const InstructionCode &code) {
  if (code.activate >= 0 || code.unblock >= 0)
    return "tasks";
  if (code.advanceSwitch || code.onControl != program::OnControl::Task)
    return "switches and control wavelets";
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    if (const char *what = unsupportedOperand(*operand))
      return what;
  return nullptr;
}
const char *unsupported(const LoopCode &loop) {
  return unsupportedStatements(loop.body);
}
const char *unsupported(const AwaitCode &) { return nullptr; }
const char *unsupported(const IfCode &branch) {
  if (!sameInAllTurns(branch.condition))
    return "branches on loop variables";
  const char *what = unsupportedStatements(branch.then);
  return what ? what : unsupportedStatements(branch.otherwise);
}
template <class Statement>
const char *unsupported(const Statement &) {
  return "scalar code";
}

const char *unsupportedStatements(const Body &body) {
  for (const StatementCode &statement : body)
    if (const char *what = std::visit(
            [](const auto &code) { return unsupported(code); }, statement))
      return what;
  return nullptr;
}

const char *unsupported(const ClassCode &code) {
  if (!code.tasks.empty())
    return "tasks";
  if (!code.filters.empty())
    return "filters";
  if (code.resources)
    return "instructions that may hold more queues or descriptors than there "
           "are";
  for (const auto &[id, routine] : code.routines)
    if (const char *what = unsupportedStatements(routine.body))
      return what;
  return nullptr;
}

} // namespace

std::string StripsEngine::unsupported(const program::Program &program) {
  if (calledByHost(program))
    return "launches by calls of the host";
  for (const program::Entry *entry : *program.entries())
    if (entry->copies() && entry->copies()->size() > 0)
      return "copies of the host";
  for (const program::RouteRule *rule : *program.routes())
    if (rule->positions() || rule->pop() != program::PopMode::Never)
      return "switches and control wavelets";
  if (program.streams())
    for (const program::HostStream *stream : *program.streams())
      if (Wire(*stream).is16())
        return "host streams of elements of 16 bits";
  for (uint32_t i = 0; i < program.classes()->size(); ++i)
    if (const char *what = runtime::unsupported(decodeClass(program, i)))
      return what;
  return {};
}

} // namespace wsec::runtime
