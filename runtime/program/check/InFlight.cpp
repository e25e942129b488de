// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/InFlight.h"
#include "runtime/program/Checker.h"
#include "runtime/program/check/Bodies.h"
#include "runtime/program/check/ScalarChecker.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace wsec::runtime {

namespace {

using program::Instruction;
using program::Operand;
using program::OperandKind;
using program::StatementKind;

/// What an instruction or a control wavelet holds: the queues of these colors,
/// if any, and registers for its operands.
struct Held {
  std::array<const program::Affine *, 2> inputs{};
  const program::Affine *output = nullptr;
  int descriptors = 0;

  explicit Held(const program::SendControl &control)
      : output(control.color()), descriptors(1) {}
  explicit Held(const Instruction &instruction)
      : inputs{colorOf(instruction.a()), colorOf(instruction.b())},
        output(colorOf(instruction.dst())) {
    for (const Operand *operand :
         {instruction.dst(), instruction.a(), instruction.b()})
      descriptors += operand && (operand->kind() == OperandKind::Memory ||
                                 operand->kind() == OperandKind::Fabric);
  }
  bool operator==(const Held &) const = default;

private:
  static const program::Affine *colorOf(const Operand *operand) {
    return operand && operand->kind() == OperandKind::Fabric ? operand->color()
                                                             : nullptr;
  }
};

std::string listOf(const ColorSet &colors) {
  std::string text;
  for (size_t color = 0; color < colors.size(); ++color)
    if (colors.test(color))
      text += (text.empty() ? "" : ", ") + std::to_string(color);
  return text;
}

std::string excessOf(const ColorSet &colors, int queues, const char *kind) {
  if (int(colors.count()) <= queues)
    return "";
  return "colors " + listOf(colors) + " need an " + kind +
         " queue each at the same time, a PE has " + std::to_string(queues) +
         " for them: await microthreads before, or use fewer data tasks";
}

/// What may be in flight on each microthread: one of several instructions.
using Threads = std::map<int, std::vector<Held>>;

void addTo(Threads &threads, int thread, const Held &held) {
  auto &issued = threads[thread];
  if (std::find(issued.begin(), issued.end(), held) == issued.end())
    issued.push_back(held);
}

void addTo(Threads &threads, const Threads &others) {
  for (const auto &[thread, issued] : others)
    for (const Held &each : issued)
      addTo(threads, thread, each);
}

/// One body, from statement to statement; what an instruction holds it holds
/// until its microthread is awaited.
class InFlightWalk {
public:
  /// Of what runs in every PE (`certain`), with the class's scalars; or of all
  /// that may run.
  InFlightWalk(const CodeContext *context, const PeResources &resources,
               CheckerWork &work, bool certain)
      : context(context), resources(resources), work(work), certain(certain) {}

  void run(const CodeBody *body, const Where &where);

  Threads threads;
  bool reached = true;
  bool exceeded = false;

private:
  void runStatement(const program::Statement &statement, const Where &where);
  void issue(int thread, const Held &held, bool surely, const Where &where);
  void runLoop(const program::Loop &loop, const Where &where);
  void runIf(const program::If &branch, const Where &where);
  bool surelyRuns(const Instruction &instruction) const;
  bool holds(int16_t guard) const {
    if (guard < 0)
      return true;
    const Interval value = context->scalars[size_t(guard)];
    return value.low > 0 || value.high < 0;
  }
  /// 0 if it depends on more than scalars.
  int64_t least(const program::Affine &affine) const;
  void require(int thread, const Held &next, const Where &where) const;
  void requireMost(int thread, const Held &next);
  void add(const program::Affine *color, ColorSet &colors) const;

  const CodeContext *context;
  const PeResources &resources;
  CheckerWork &work;
  const bool certain;
  Threads left; ///< what is in flight where breaks leave the loop
};

int64_t InFlightWalk::least(const program::Affine &affine) const {
  if (affine.terms())
    for (const program::Term *term : *affine.terms())
      if (term->kind() != program::TermKind::Scalar)
        return 0;
  const auto interval = affineInterval(affine, context->scalars, {});
  return interval ? interval->low : 0;
}

bool InFlightWalk::surelyRuns(const Instruction &instruction) const {
  return reached && holds(instruction.guard()) &&
         std::all_of(
             instruction.extents()->begin(), instruction.extents()->end(),
             [&](const program::Affine *extent) { return least(*extent) > 0; });
}

/// A color that is the same in all PEs.
void InFlightWalk::add(const program::Affine *color, ColorSet &colors) const {
  if (!color)
    return;
  const auto interval = affineInterval(*color, context->scalars, {});
  if (interval && interval->exact() && interval->inside(0, 255))
    colors.set(size_t(interval->low));
}

/// What certainly is in flight as the instruction begins.
void InFlightWalk::require(int thread, const Held &next,
                           const Where &where) const {
  InFlight all{resources.heldInputs, resources.heldOutputs, 0};
  auto hold = [&](const Held &each) {
    for (const program::Affine *color : each.inputs)
      add(color, all.inputs);
    add(each.output, all.outputs);
    all.descriptors += each.descriptors;
  };
  for (const auto &[other, issued] : threads)
    if (other != thread)
      hold(issued.front());
  hold(next);
  if (const std::string excess = all.excess(resources); !excess.empty())
    throw errorAt(ErrorClass::MachineLimit, where, excess);
}

/// The most that may be in flight as the instruction begins. Colors of
/// different threads are different, or the threads would race.
void InFlightWalk::requireMost(int thread, const Held &next) {
  size_t inputs = resources.heldInputs.count();
  size_t outputs = resources.heldOutputs.count();
  int descriptors = 0;
  auto hold = [&](const std::vector<Held> &alternatives) {
    size_t in = 0, out = 0;
    int registers = 0;
    for (const Held &each : alternatives) {
      in = std::max(in, size_t(each.inputs[0] != nullptr) +
                            size_t(each.inputs[1] != nullptr));
      out = std::max(out, size_t(each.output != nullptr));
      registers = std::max(registers, each.descriptors);
    }
    inputs += in;
    outputs += out;
    descriptors += registers;
  };
  for (const auto &[other, issued] : threads)
    if (other != thread)
      hold(issued);
  hold({next});
  exceeded |= inputs > size_t(resources.inputQueues) ||
              outputs > size_t(resources.outputQueues) ||
              descriptors > resources.descriptors;
}

void InFlightWalk::issue(int thread, const Held &held, bool surely,
                         const Where &where) {
  if (certain && !surely) {
    // Where it runs, what its thread did before is done.
    threads.erase(thread);
    return;
  }
  if (certain)
    require(thread, held, where);
  else
    requireMost(thread, held);
  if (thread < 0)
    return;
  if (certain)
    threads.erase(thread);
  addTo(threads, thread, held);
}

/// A second turn finds what the first has left in flight.
void InFlightWalk::runLoop(const program::Loop &loop, const Where &where) {
  const bool outer = reached;
  if (certain)
    reached = reached && holds(loop.guard()) && least(*loop.count()) > 0;
  const Threads before = threads, outerLeft = std::exchange(left, Threads());
  run(loop.body(), where);
  if (certain ? reached && least(*loop.count()) > 1 : threads != before)
    run(loop.body(), where);
  if (!certain) {
    addTo(threads, before);
    addTo(threads, left);
  }
  left = outerLeft;
  reached = outer;
}

void InFlightWalk::runIf(const program::If &branch, const Where &where) {
  const bool outer = reached;
  reached = false;
  const Threads before = threads;
  run(branch.then(), where);
  const Threads taken = threads;
  if (!certain)
    threads = before;
  run(branch.otherwise(), where);
  if (!certain)
    addTo(threads, taken);
  reached = outer;
}

void InFlightWalk::runStatement(const program::Statement &statement,
                                const Where &where) {
  work.add(1, 1, "to check what its instructions hold", where);
  switch (statement.kind_type()) {
  case StatementKind::Instruction: {
    const Instruction &instruction = *statement.kind_as_Instruction();
    return issue(instruction.thread(), Held(instruction),
                 certain && surelyRuns(instruction), where);
  }
  case StatementKind::SendControl: {
    const program::SendControl &control = *statement.kind_as_SendControl();
    return issue(control.thread(), Held(control), reached, where);
  }
  case StatementKind::Loop:
    return runLoop(*statement.kind_as_Loop(), where);
  case StatementKind::Break: // what is behind it may not run
    reached = false;
    addTo(left, threads);
    return;
  case StatementKind::If:
    return runIf(*statement.kind_as_If(), where);
  case StatementKind::Await:
    for (int thread = 0; thread < 8; ++thread)
      if (statement.kind_as_Await()->threads() >> thread & 1)
        threads.erase(thread);
    return;
  default:
    return;
  }
}

void InFlightWalk::run(const CodeBody *body, const Where &where) {
  if (!body)
    return;
  int64_t index = 0;
  for (const program::Statement *statement : *body)
    runStatement(*statement, {&where, "statement", index++});
}

} // namespace

PeResources::PeResources(const program::PEClass &peClass,
                         const program::Machine &machine, uint8_t launchColor)
    : inputQueues(int(machine.input_queue_words()->size()) -
                  machine.reserved_input_queues()),
      outputQueues(int(machine.output_queue_words()->size())),
      descriptors(machine.descriptors()) {
  if (peClass.queues())
    for (const program::QueueBinding *queue : *peClass.queues())
      (queue->output() ? heldOutputs : heldInputs).set(queue->color());
  if (peClass.tasks())
    for (const program::Task *task : *peClass.tasks())
      if (task->kind() == program::TaskKind::Data)
        heldInputs.set(task->id());
  // The host runtime has queues of its own, or takes one of the PE's.
  if (launchColor != noLaunchColor && machine.reserved_input_queues() == 0 &&
      peClass.routines() && peClass.routines()->size() > 0)
    heldInputs.set(launchColor);
}

std::string InFlight::excess(const PeResources &resources) const {
  std::string text = excessOf(inputs, resources.inputQueues, "input");
  if (text.empty())
    text = excessOf(outputs, resources.outputQueues, "output");
  if (text.empty() && descriptors > resources.descriptors)
    text = "instructions in flight hold " + std::to_string(descriptors) +
           " descriptor registers, a PE has " +
           std::to_string(resources.descriptors) +
           ": await microthreads before";
  return text;
}

void checkInFlight(const CodeContext &context, CheckerWork &work,
                   const Where &where) {
  const PeResources resources(context.peClass, context.machine,
                              context.launchColor);
  const InFlight always{resources.heldInputs, resources.heldOutputs, 0};
  if (const std::string excess = always.excess(resources); !excess.empty())
    throw errorAt(ErrorClass::MachineLimit, where, excess);
  forEachBody(context.peClass, where,
              [&](const CodeBody *body, const Where &here) {
                InFlightWalk(&context, resources, work, true).run(body, here);
              });
}

bool mayExceed(const program::PEClass &peClass, const program::Machine &machine,
               uint8_t launchColor) {
  const PeResources resources(peClass, machine, launchColor);
  const Where where{nullptr, "class", -1, peClass.name()};
  CheckerWork work;
  // What some body leaves in flight may be so as any other begins.
  Threads left;
  bool exceeded = false;
  for (int round = 0; round < 2; ++round) {
    const Threads before = left;
    forEachBody(peClass, where, [&](const CodeBody *body, const Where &here) {
      InFlightWalk walk(nullptr, resources, work, false);
      walk.threads = before;
      walk.run(body, here);
      exceeded |= walk.exceeded;
      addTo(left, walk.threads);
    });
  }
  return exceeded;
}

} // namespace wsec::runtime
