// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/EngineChoice.h"

#include "runtime/pe/Code.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Scalars.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "runtime/strips/StripsEngine.h"
#include "runtime/wavelet/WaveletEngine.h"

#include <algorithm>
#include <map>

namespace wsec::runtime {

const char *const engineNames = "burst, strips or wavelet";

const char *nameOf(Engine engine) {
  switch (engine) {
  case Engine::Strips:
    return "strips";
  case Engine::Wavelet:
    return "wavelet";
  case Engine::Burst:
    break;
  }
  return "burst";
}

std::optional<Engine> engineNamed(const std::string &name) {
  for (Engine engine : {Engine::Burst, Engine::Strips, Engine::Wavelet})
    if (name == nameOf(engine))
      return engine;
  return std::nullopt;
}

// ---------------------------------------------------------------- steps

namespace {

/// The steps of one PE of a class.
class StepCounter {
public:
  StepCounter(const ClassCode &code, int x, int y)
      : loops(size_t(code.loopDepth) + 1), locals(size_t(code.locals)) {
    evaluateScalars(code.source->scalars(), x, y, scalars);
  }

  double count(const RoutineCode &routine,
               const std::vector<int64_t> &arguments) {
    std::copy(arguments.begin(), arguments.end(), locals.begin());
    return count(routine.body);
  }
  double count(const Body &body) {
    double steps = 0;
    for (const StatementCode &statement : body)
      steps +=
          std::visit([&](const auto &what) { return count(what); }, statement);
    return steps;
  }

private:
  double count(const InstructionCode &code) {
    if (!runs(code.guard))
      return 0;
    int depth = 0;
    for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
      if (operand->fabric())
        depth = std::max(depth, operand->depth);
    double steps = 1;
    for (int d = 0; d < depth; ++d)
      steps *= double(std::max<int64_t>(0, value(code.extents[size_t(d)])));
    return steps;
  }
  double count(const LoopCode &loop) {
    return runs(loop.guard) ? double(std::max<int64_t>(0, value(loop.count))) *
                                  count(loop.body)
                            : 0;
  }
  double count(const IfCode &branch) {
    return 1 + std::max(count(branch.then), count(branch.otherwise));
  }
  template <class Statement>
  double count(const Statement &) {
    return 1;
  }

  bool runs(int guard) const {
    return guard < 0 || scalars[size_t(guard)] != 0;
  }
  int64_t value(const AffineFunction &function) const {
    return function.value({scalars.data(), loops.data(), locals.data()});
  }

  std::vector<int64_t> scalars, loops;
  std::vector<int32_t> locals;
};

} // namespace

double countSteps(const Call &call) {
  const program::Program &program = call.program();
  /// How often each routine is, with what arguments.
  std::map<std::pair<uint32_t, std::vector<int64_t>>, double> launched;
  for (const program::Launch *launch : call.launchList())
    ++launched[{launch->routine(), call.carried(*launch)}];
  double total = 0;
  for (uint32_t i = 0; i < program.classes()->size(); ++i) {
    const ClassCode code = decodeClass(program, i);
    double pes = 0;
    for (const program::Rect *rect : *code.source->rects())
      pes += double((rect->x1() - rect->x0() + rect->xstep() - 1) /
                    rect->xstep()) *
             ((rect->y1() - rect->y0() + rect->ystep() - 1) / rect->ystep());
    const program::Rect &first = *code.source->rects()->Get(0);
    StepCounter counter(code, first.x0(), first.y0());
    for (const auto &[launch, times] : launched)
      if (const RoutineCode *routine = code.routine(launch.first))
        total += pes * times * counter.count(*routine, launch.second);
    for (const TaskCode &task : code.tasks)
      total += pes * counter.count(task.body);
  }
  return total;
}

Engine resolveEngine(Engine engine, const Call &call) {
  const program::Program &program = call.program();
  if (engine != Engine::Burst)
    return engine;
  // Seconds of wavelet: an encoder layer takes 0.3 on 8x8 PEs and 0.9 on 32x32,
  // where strips takes 0.02.
  constexpr int mostPes = 256;
  constexpr double mostSteps = 1 << 22;
  const program::Machine &machine = *program.machine();
  if (!StripsEngine::unsupported(program).empty())
    return Engine::Wavelet;
  return machine.width() * machine.height() <= mostPes &&
                 countSteps(call) <= mostSteps
             ? Engine::Wavelet
             : Engine::Strips;
}

static bool isProvedFree(const program::Program &program) {
  const program::Proof *proof = program.proof();
  return proof && proof->verdict() == program::Verdict::Free;
}

Engine chooseEngine(Engine engine, const Call &call,
                    const EngineOptions &options) {
  const Engine resolved = resolveEngine(engine, call);
  if (resolved != Engine::Strips || isProvedFree(call.program()))
    return resolved;
  const DeadlockProof proof = decideCall(
      call, options.workLimit ? int64_t(options.workLimit) : int64_t(1) << 62);
  if (proof.verdict == program::Verdict::Free)
    return Engine::Strips;
  if (proof.verdict == program::Verdict::Deadlock)
    throw Error(ErrorClass::Deadlock, call.prefix() + proof.reason);
  if (engine == Engine::Burst)
    return Engine::Wavelet;
  throw Error(ErrorClass::BadProgram,
              call.prefix() +
                  "the strips engine runs programs only that are known to end "
                  "with queues as short as the machine's, and here this is "
                  "undecided: " +
                  proof.reason + "; take --engine=wavelet or --engine=burst");
}

RunResult emulateOnce(Engine engine, const Call &call, PersistentState *held,
                      const EngineOptions &options, HostPort &port) {
  return engine == Engine::Strips
             ? StripsEngine(call.program(), options).run(port, call, held)
             : WaveletEngine(call.program(), options).run(port, call, held);
}

} // namespace wsec::runtime
