// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/CallProofs.h"
#include "runtime/program/Call.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/check/ScalarChecker.h"

#include <algorithm>
#include <map>

namespace wsec::runtime {

using namespace program;

namespace {

using Values = std::vector<int64_t>;

//===----------------------------------------------------------------------===//
// Arguments as constants
//===----------------------------------------------------------------------===//

/// Puts numbers in place of the arguments of a routine.
class Substitution {
public:
  explicit Substitution(const Values &values) : values(values) {}

  void run(std::vector<std::unique_ptr<StatementT>> &body) {
    for (const auto &statement : body)
      run(statement->kind);
  }

private:
  void run(const std::unique_ptr<AffineT> &affine) {
    if (!affine)
      return;
    auto isArgument = [&](const Term &term) {
      return term.kind() == TermKind::Local && term.index() < values.size();
    };
    for (const Term &term : affine->terms)
      if (isArgument(term))
        affine->constant += term.scale() * values[term.index()];
    std::erase_if(affine->terms, isArgument);
  }
  void run(const std::unique_ptr<OperandT> &operand) {
    if (!operand)
      return;
    for (const auto *affine :
         {&operand->offset, &operand->color, &operand->window_offset,
          &operand->window_total, &operand->index})
      run(*affine);
  }
  void run(StatementKindUnion &kind) {
    if (InstructionT *instruction = kind.AsInstruction()) {
      for (const auto &extent : instruction->extents)
        run(extent);
      for (const auto *operand :
           {&instruction->dst, &instruction->a, &instruction->b})
        run(*operand);
    } else if (LoopT *loop = kind.AsLoop()) {
      run(loop->count);
      run(loop->body);
    } else if (IfT *branch = kind.AsIf()) {
      run(branch->condition);
      run(branch->then);
      run(branch->otherwise);
    } else if (BreakT *leave = kind.AsBreak()) {
      run(leave->condition);
    } else if (ComputeT *compute = kind.AsCompute()) {
      for (const auto *operand : {&compute->a, &compute->b, &compute->c})
        run(*operand);
    } else if (LoadT *load = kind.AsLoad()) {
      run(load->offset);
    } else if (StoreT *store = kind.AsStore()) {
      run(store->offset);
      run(store->value);
    } else if (SendControlT *control = kind.AsSendControl()) {
      run(control->color);
      run(control->data);
    } else if (ReadClockT *clock = kind.AsReadClock()) {
      run(clock->offset);
    } else if (SetRouteT *route = kind.AsSetRoute()) {
      run(route->color);
    }
  }

  const Values &values;
};

/// Whether arguments decide how many words a stream has. They may say where
/// these lie in their tensor.
bool wordsDepend(const HostStreamT &stream) {
  std::vector<bool> depends;
  for (const ScalarNode &node : stream.scalars) {
    bool its = node.op() == ScalarOp::Argument;
    const int32_t operands[] = {node.a(), node.b(), node.c()};
    for (int i = 0; i < operandCount(node.op()); ++i)
      its = its || depends[size_t(operands[i])];
    depends.push_back(its);
  }
  auto any = [&](const std::unique_ptr<AffineT> &affine) {
    return std::any_of(
        affine->terms.begin(), affine->terms.end(), [&](const Term &term) {
          return term.kind() == TermKind::Scalar && depends[term.index()];
        });
  };
  return std::any_of(
      stream.segments.begin(), stream.segments.end(), [&](const auto &segment) {
        return any(segment->lines) || std::any_of(segment->extents.begin(),
                                                  segment->extents.end(), any);
      });
}

void setArguments(HostStreamT &stream, const Values &values) {
  for (ScalarNode &node : stream.scalars)
    if (node.op() == ScalarOp::Argument)
      node = ScalarNode(ScalarOp::Constant,
                        size_t(node.a()) < values.size()
                            ? int32_t(values[size_t(node.a())])
                            : 0,
                        0, 0);
}

/// Programs with one of the entries each.
class Calls {
public:
  explicit Calls(const Program &program) : program(program) {
    program.UnPackTo(&whole);
    for (auto &tensor : whole.tensors)
      tensor->data = {};
    whole.proof.reset();
  }

  /// What launches carry is not known; how many words streams have does not
  /// depend on it, so they may be those of any call.
  DeadlockProof prove(uint32_t entry) const {
    ProgramT one = alone(entry);
    setArguments(one, Call(program, entry, smallest(entry)));
    return prove(one);
  }

  /// The values of an entry's arguments that are tried first.
  Values smallest(uint32_t entry) const {
    Values values;
    for (const auto &argument : whole.entries[entry]->arguments)
      values.push_back(argument->from);
    return values;
  }

  /// One call.
  DeadlockProof prove(const Call &call, const TokenLimits &limits = {}) const {
    ProgramT one = alone(call.entryIndex());
    setArguments(one, call);
    EntryT &entry = *one.entries[0];
    std::map<std::pair<uint32_t, Values>, uint32_t> routines;
    uint32_t next = 0;
    for (const auto &peClass : one.classes)
      for (const auto &routine : peClass->routines)
        next = std::max(next, routine->id + 1);
    for (uint32_t l = 0; l < entry.launches.size(); ++l) {
      LaunchT &launch = *entry.launches[l];
      const Values values = call.carried(call.launch(l));
      launch.arguments.clear();
      if (values.empty())
        continue;
      auto [known, isNew] =
          routines.try_emplace({launch.routine, values}, next);
      if (isNew)
        addRoutine(one, launch.routine, values, next++);
      launch.routine = known->second;
    }
    entry.scalars.clear();
    entry.arguments.clear();
    for (auto &peClass : one.classes)
      std::erase_if(peClass->routines,
                    [](const auto &routine) { return routine->arguments > 0; });
    return prove(one, limits);
  }

  /// Whether arguments decide how many words the entry's streams have.
  bool streamsDepend(uint32_t entry) const {
    for (const auto &launch : whole.entries[entry]->launches)
      for (uint32_t stream : launch->streams)
        if (wordsDepend(*whole.streams[stream]))
          return true;
    return false;
  }

private:
  /// Of all streams, those that no launch of the call has, too.
  static void setArguments(ProgramT &one, const Call &call) {
    for (uint32_t l = 0; l < call.launches(); ++l)
      for (uint32_t stream : one.entries[0]->launches[l]->streams)
        wsec::runtime::setArguments(*one.streams[stream],
                                    call.carried(call.launch(l)));
    for (auto &stream : one.streams)
      wsec::runtime::setArguments(*stream, {});
  }

  ProgramT alone(uint32_t entry) const {
    ProgramT one(whole);
    std::unique_ptr<EntryT> kept = std::move(one.entries[entry]);
    one.entries.clear();
    one.entries.push_back(std::move(kept));
    return one;
  }

  /// Routine `id` with numbers in place of its arguments, as routine `as`.
  static void addRoutine(ProgramT &one, uint32_t id, const Values &values,
                         uint32_t as) {
    for (auto &peClass : one.classes)
      for (size_t i = 0, end = peClass->routines.size(); i < end; ++i) {
        if (peClass->routines[i]->id != id)
          continue;
        auto copy = std::make_unique<RoutineT>(*peClass->routines[i]);
        copy->id = as;
        copy->arguments = 0;
        Substitution(values).run(copy->body);
        peClass->routines.push_back(std::move(copy));
      }
  }

  static DeadlockProof prove(const ProgramT &one,
                             const TokenLimits &limits = {}) {
    flatbuffers::FlatBufferBuilder builder;
    FinishProgramBuffer(builder, Program::Pack(builder, &one));
    return proveOneCall(*GetProgram(builder.GetBufferPointer()), limits);
  }

  const Program &program;
  ProgramT whole;
};

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Calls of an entry that differ in their arguments; at most as many as count.
uint64_t countCalls(const Entry &entry, uint64_t most) {
  uint64_t count = 1;
  for (unsigned i = 0; entry.arguments() && i < entry.arguments()->size();
       ++i) {
    const Argument &argument = *entry.arguments()->Get(i);
    count *= uint64_t(int64_t(argument.to()) - argument.from() + 1);
    if (count > most)
      return most + 1;
  }
  return count;
}

/// The values after these, the first argument running fastest; false after the
/// last.
bool advance(const Entry &entry, Values &values) {
  for (unsigned i = 0; i < values.size(); ++i) {
    const Argument &argument = *entry.arguments()->Get(i);
    if (++values[i] <= argument.to())
      return true;
    values[i] = argument.from();
  }
  return false;
}

std::string describe(const Entry &entry, const Values &values) {
  std::string text = "entry " + inQuotes(entry.name()->string_view());
  for (unsigned i = 0; i < values.size(); ++i)
    text += (i ? ", " : " with ") +
            printable(entry.arguments()->Get(i)->name()->string_view()) +
            " = " + std::to_string(values[i]);
  return text;
}

/// Whether what its launches carry is worth knowing.
bool carries(const Entry &entry) {
  for (const Launch *launch : *entry.launches())
    if (launch->arguments() && launch->arguments()->size() > 0)
      return true;
  return false;
}

/// All calls of one entry.
DeadlockProof proveEntry(const Program &program, const Calls &calls,
                         uint32_t index) {
  const Entry &entry = *program.entries()->Get(index);
  DeadlockProof proof;
  if (calls.streamsDepend(index))
    proof.reason = "how many words its streams have depends on arguments";
  else
    proof = calls.prove(index);
  if (proof.verdict != Verdict::Undecided || !carries(entry)) {
    if (!proof.reason.empty())
      proof.reason = describe(entry, {}) + ": " + proof.reason;
    return proof;
  }
  if (countCalls(entry, mostProvedCalls) > mostProvedCalls) {
    proof.reason = describe(entry, {}) + ": " + proof.reason +
                   "; its arguments have more values than the " +
                   std::to_string(mostProvedCalls) + " that are tried";
    return proof;
  }
  Values values = calls.smallest(index);
  bool allFree = true, allStuck = true;
  std::string reason;
  do {
    DeadlockProof one = calls.prove(Call(program, index, values));
    proof.steps += one.steps;
    allFree &= one.verdict == Verdict::Free;
    allStuck &= one.verdict == Verdict::Deadlock;
    if (one.verdict != Verdict::Free && reason.empty())
      reason =
          describe(entry, values) +
          (one.verdict == Verdict::Deadlock ? " ends in a deadlock: " : ": ") +
          one.reason;
  } while (advance(entry, values));
  proof.verdict = allFree    ? Verdict::Free
                  : allStuck ? Verdict::Deadlock
                             : Verdict::Undecided;
  proof.reason = reason;
  return proof;
}

} // namespace

DeadlockProof proveCall(const Call &call, const TokenLimits &limits) {
  return Calls(call.program()).prove(call, limits);
}

DeadlockProof proveAllCalls(const Program &program) {
  const Calls calls(program);
  DeadlockProof all;
  bool allFree = true, allStuck = true;
  for (uint32_t entry = 0; entry < program.entries()->size(); ++entry) {
    DeadlockProof one = proveEntry(program, calls, entry);
    all.steps += one.steps;
    allFree &= one.verdict == Verdict::Free;
    allStuck &= one.verdict == Verdict::Deadlock;
    if (one.verdict != Verdict::Free && all.reason.empty())
      all.reason = one.reason;
  }
  all.verdict = allFree    ? Verdict::Free
                : allStuck ? Verdict::Deadlock
                           : Verdict::Undecided;
  return all;
}

} // namespace wsec::runtime
