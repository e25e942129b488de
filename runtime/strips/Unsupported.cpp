// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of the language strips does not run.
#include "runtime/strips/StripsEngine.h"

#include "runtime/pe/Code.h"
#include "runtime/program/Scalars.h"
#include "runtime/program/Wire.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

namespace {

using program::ElementType;

const char *unsupportedOperand(const OperandCode &operand) {
  if (operand.fabric() && elementSize(operand.type) != 4)
    return "wavelets of 16 bits";
  if (isUnsigned(operand.type) && (operand.memory() || operand.fabric()))
    return "unsigned integers";
  if (operand.packing != program::Packing::Single || operand.indexed)
    return "wavelets with pairs or indices";
  return nullptr;
}

/// What a value follows from: the call, the same in all PEs of a strip; the row
/// of the PE, too; what code loaded, too. The less is known the more it is.
enum class Source : uint8_t { Call, Row, Data };

/// Walks the code of a class in program order.
class CodeCheck {
public:
  explicit CodeCheck(const ClassCode &code)
      : axes(axesOf(code.source->scalars())), locals(size_t(code.locals)) {}

  const char *unsupported(const RoutineCode &routine) {
    std::fill_n(locals.begin(), routine.arguments, Source::Call);
    return check(routine.body);
  }

private:
  static constexpr const char *byData =
      "scalar code that decides more than where operands lie";
  static constexpr const char *byRow =
      "scalar code that decides words or microthreads PE by PE";

  const char *check(const Body &body) {
    for (const StatementCode &statement : body)
      if (const char *what = std::visit(
              [&](const auto &code) { return check(code); }, statement))
        return what;
    return nullptr;
  }

  /// Of what is behind a branch or in a loop that `decides`.
  const char *checkInside(const AffineFunction &decides,
                          std::initializer_list<const Body *> bodies) {
    const Source source = sourceOf(decides);
    if (source == Source::Data)
      return byData;
    const bool outer =
        std::exchange(diverges, diverges || source == Source::Row);
    const char *what = nullptr;
    for (const Body *body : bodies)
      what = what ? what : check(*body);
    diverges = outer;
    return what;
  }
  const char *check(const LoopCode &loop) {
    return checkInside(loop.count, {&loop.body});
  }
  const char *check(const IfCode &branch) {
    return checkInside(branch.condition, {&branch.then, &branch.otherwise});
  }

  const char *check(const InstructionCode &code) const {
    if (code.activate >= 0 || code.unblock >= 0)
      return "tasks";
    if (code.advanceSwitch || code.onControl != program::OnControl::Task)
      return "switches and control wavelets";
    Source shape = Source::Call;
    for (const AffineFunction &extent : code.extents)
      shape = std::max(shape, sourceOf(extent));
    for (const OperandCode *operand : {&code.dst, &code.a, &code.b}) {
      if (const char *what = unsupportedOperand(*operand))
        return what;
      for (const AffineFunction *function :
           {&operand->color, &operand->windowOffset, &operand->windowTotal})
        shape = std::max(shape, sourceOf(*function));
    }
    if (shape == Source::Data)
      return byData;
    const bool words = code.usesFabric();
    return (words && shape == Source::Row) ||
                   (diverges && (words || code.asynchronous()))
               ? byRow
               : nullptr;
  }
  const char *check(const BreakCode &) const {
    return "scalar code that ends loops";
  }
  const char *check(const AwaitCode &) const {
    return diverges ? byRow : nullptr;
  }

  const char *check(const LoadCode &load) {
    locals[load.local] = Source::Data;
    return nullptr;
  }
  const char *check(const ComputeCode &compute) {
    Source source =
        compute.op == program::ScalarOp::Py ? Source::Row : Source::Call;
    for (const AffineFunction *function :
         {&compute.a, &compute.b, &compute.c}) {
      source = std::max(source, sourceOf(*function));
      // Scalars alone cut strips where they decide what their PEs do.
      for (const AffineTerm &term : function->terms)
        if (!term.atRunTime() && axes[term.index] & AxisY)
          source = std::max(source, Source::Row);
    }
    locals[compute.local] = source;
    return nullptr;
  }
  template <class Statement>
  const char *check(const Statement &) const {
    return "scalar code that stores or reads the clock, sets routes or tasks";
  }

  Source sourceOf(const AffineFunction &function) const {
    Source source = Source::Call;
    for (const AffineTerm &term : function.terms)
      if (term.local)
        source = std::max(source, locals[term.index]);
    return source;
  }

  const std::vector<uint8_t> axes; ///< of the scalars
  std::vector<Source> locals;
  bool diverges = false; ///< PEs of a strip may go other ways
};

const char *unsupported(const ClassCode &code) {
  if (!code.tasks.empty())
    return "tasks";
  if (!code.filters.empty())
    return "filters";
  if (code.resources)
    return "instructions that may hold more queues or descriptors than there "
           "are";
  for (const auto &[id, routine] : code.routines)
    if (const char *what = CodeCheck(code).unsupported(routine))
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
