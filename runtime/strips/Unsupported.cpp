// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of the language strips does not run.
#include "runtime/strips/StripsEngine.h"

#include "runtime/pe/Code.h"
#include "runtime/program/Wire.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

namespace {

using program::ElementType;

/// Whether a value depends on what code loaded. Then it may only say where
/// operands lie: all else has to follow from code and arguments alone.
bool loaded(const AffineFunction &function, int arguments) {
  return std::any_of(function.terms.begin(), function.terms.end(),
                     [&](const AffineTerm &term) {
                       return term.local && term.index >= arguments;
                     });
}

bool sameInAllTurns(const AffineFunction &function) {
  return std::all_of(function.terms.begin(), function.terms.end(),
                     [](const AffineTerm &term) { return !term.loop; });
}

const char *unsupportedOperand(const OperandCode &operand) {
  if (operand.fabric() && elementSize(operand.type) != 4)
    return "wavelets of 16 bits";
  if (operand.packing != program::Packing::Single || operand.indexed)
    return "wavelets with pairs or indices";
  return nullptr;
}

const char *unsupportedStatements(const Body &body, int arguments);

const char *unsupported(const InstructionCode &code, int arguments) {
  if (code.activate >= 0 || code.unblock >= 0)
    return "tasks";
  if (code.advanceSwitch || code.onControl != program::OnControl::Task)
    return "switches and control wavelets";
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    if (const char *what = unsupportedOperand(*operand))
      return what;
  auto isLoaded = [&](const AffineFunction &function) {
    return loaded(function, arguments);
  };
  bool any = std::any_of(code.extents.begin(), code.extents.end(), isLoaded);
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    any |= isLoaded(operand->color) || isLoaded(operand->windowOffset) ||
           isLoaded(operand->windowTotal);
  return any ? "scalar code that decides more than where operands lie"
             : nullptr;
}
const char *unsupported(const LoopCode &loop, int arguments) {
  return loaded(loop.count, arguments)
             ? "scalar code that decides more than where operands lie"
             : unsupportedStatements(loop.body, arguments);
}
const char *unsupported(const AwaitCode &, int) { return nullptr; }
const char *unsupported(const LoadCode &, int) { return nullptr; }
const char *unsupported(const IfCode &branch, int arguments) {
  if (!sameInAllTurns(branch.condition))
    return "branches on loop variables";
  if (loaded(branch.condition, arguments))
    return "scalar code that decides more than where operands lie";
  const char *what = unsupportedStatements(branch.then, arguments);
  return what ? what : unsupportedStatements(branch.otherwise, arguments);
}
template <class Statement>
const char *unsupported(const Statement &, int) {
  return "scalar code other than loads";
}

const char *unsupportedStatements(const Body &body, int arguments) {
  for (const StatementCode &statement : body)
    if (const char *what = std::visit(
            [&](const auto &code) { return unsupported(code, arguments); },
            statement))
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
    if (const char *what =
            unsupportedStatements(routine.body, routine.arguments))
      return what;
  return nullptr;
}

/// The types of the words of one launch, by color; -1: one that differs among
/// PEs or turns.
class WordTypes {
public:
  void add(int64_t color, ElementType type) {
    for (const auto &[other, known] : words)
      differ |= known != type && (other == color || other < 0 || color < 0);
    words.insert({color, type});
  }
  void add(const Body &body) {
    for (const StatementCode &statement : body) {
      if (const auto *code = std::get_if<InstructionCode>(&statement)) {
        for (const OperandCode *operand : {&code->dst, &code->a, &code->b})
          if (operand->fabric())
            add(operand->color.terms.empty() ? operand->color.constant : -1,
                operand->type);
      } else if (const auto *loop = std::get_if<LoopCode>(&statement)) {
        add(loop->body);
      } else if (const auto *branch = std::get_if<IfCode>(&statement)) {
        add(branch->then);
        add(branch->otherwise);
      }
    }
  }
  bool mixed() const { return differ; }

private:
  std::set<std::pair<int64_t, ElementType>> words;
  bool differ = false;
};

/// Words of a queue have no type here: whoever takes them must know it.
bool mixesTypes(const program::Program &program,
                const std::vector<ClassCode> &classes) {
  for (const program::Entry *entry : *program.entries())
    for (const program::Launch *launch : *entry->launches()) {
      WordTypes types;
      for (const ClassCode &code : classes)
        if (const RoutineCode *routine = code.routine(launch->routine()))
          types.add(routine->body);
      for (unsigned i = 0; launch->streams() && i < launch->streams()->size();
           ++i) {
        const program::HostStream &stream =
            *program.streams()->Get(launch->streams()->Get(i));
        types.add(stream.color(), stream.type());
      }
      if (types.mixed())
        return true;
    }
  return false;
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
  std::vector<ClassCode> classes;
  for (uint32_t i = 0; i < program.classes()->size(); ++i) {
    classes.push_back(decodeClass(program, i));
    if (const char *what = runtime::unsupported(classes.back()))
      return what;
  }
  if (mixesTypes(program, classes))
    return "words of two types on one color";
  return {};
}

} // namespace wsec::runtime
