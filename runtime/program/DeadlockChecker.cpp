// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/DeadlockChecker.h"
#include "runtime/program/Call.h"
#include "runtime/program/CallProofs.h"
#include "runtime/program/Checker.h"
#include "runtime/program/EntryChecker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/FusedClasses.h"
#include "runtime/program/HostWords.h"
#include "runtime/program/PhaseGraph.h"
#include "runtime/program/TokenRun.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime {

namespace {

/// The one class there is, on one rectangle, without tasks and filters; null if
/// the program is another one. Other PEs only pass words on.
const program::PEClass *onlyClass(const program::Program &program) {
  if (program.classes()->size() != 1 ||
      program.classes()->Get(0)->rects()->size() != 1)
    return nullptr;
  const program::PEClass &found = *program.classes()->Get(0);
  const program::Rect &rect = *found.rects()->Get(0);
  if (rect.xstep() != 1 || rect.ystep() != 1 ||
      (found.tasks() && found.tasks()->size() > 0) ||
      (found.filters() && found.filters()->size() > 0))
    return nullptr;
  return &found;
}

/// The phases of each routine.
class PhasesProof {
public:
  PhasesProof(const program::Program &program, const program::PEClass &peClass,
              DeadlockProof &proof, ProofSteps &steps)
      : program(program), proof(proof), peClass(peClass),
        scalars(peClass.scalars(), {*peClass.rects()->Get(0)},
                program.machine()->width(), program.machine()->height(), steps),
        routes(program, steps) {}

  void prove() {
    if (peClass.routines())
      for (const program::Routine *routine : *peClass.routines())
        within(routine->id(), [&] { proveRoutine(*routine); });
    std::set<std::vector<int64_t>> seen;
    for (const program::Launch *launch : *onlyEntry(program).launches())
      within(launch->routine(), [&] {
        auto found = routines.find(launch->routine());
        if (found == routines.end())
          throw NotUnderstood{"no PE has it"};
        const Proven &proven = *found->second;
        std::vector<int64_t> signature = signatureOf(program, *launch);
        signature.push_back(proven.number);
        if (seen.insert(std::move(signature)).second)
          checkLaunchWords(program, {launch}, proven.routine, proven.handovers,
                           scalars);
      });
  }

private:
  /// What routines that do the same to the fabric have in common.
  struct Proven {
    int64_t number = 0;
    FabricRoutine routine;
    Handovers handovers;
    std::vector<uint16_t> ranks;
  };

  void proveRoutine(const program::Routine &source) {
    FabricRoutine routine =
        readRoutine(*source.body(), source.id(), scalars, false);
    auto [at, isNew] = proven.try_emplace(signatureOf(routine));
    Proven &here = at->second;
    if (isNew) {
      here.number = int64_t(proven.size());
      here.handovers = findHandovers(program, routine, scalars, routes);
      alignColumns(routine, scalars, here.handovers);
      here.ranks = rankPhases(routine, here.handovers, scalars);
      here.routine = std::move(routine);
    }
    proof.ranks.insert(proof.ranks.end(), here.ranks.begin(), here.ranks.end());
    routines[source.id()] = &here;
  }

  template <typename Body>
  static void within(uint32_t routine, Body body) {
    try {
      body();
    } catch (const NotUnderstood &problem) {
      throw NotUnderstood{"routine " + std::to_string(routine) + ": " +
                          problem.reason};
    }
  }

  const program::Program &program;
  DeadlockProof &proof;
  const program::PEClass &peClass;
  AxisScalars scalars;
  RouteTable routes;
  std::map<std::vector<int64_t>, Proven> proven; ///< by signature
  std::map<uint32_t, const Proven *> routines;   ///< by id
};

/// Launches of several classes that are fused into one: in windows, each of as
/// few launches in a row as send all that they receive.
class WindowsProof {
public:
  WindowsProof(const program::Program &fused, DeadlockProof &proof,
               ProofSteps &steps)
      : program(fused), proof(proof), peClass(*fused.classes()->Get(0)),
        scalars(peClass.scalars(), {}, fused.machine()->width(),
                fused.machine()->height(), steps),
        routes(fused, steps) {}

  void prove() {
    const size_t count = onlyEntry(program).launches()->size();
    for (size_t first = 0; first < count;)
      first += proveFrom(first, count - first);
  }

private:
  struct Proven {
    FabricRoutine routine;
    Handovers handovers;
    std::vector<uint16_t> ranks;
    bool stated = false; ///< the ranks, in the proof
  };
  /// More are not worth the time.
  static constexpr size_t mostLaunches = 64;

  /// The number of launches in the window that begins with `first`.
  size_t proveFrom(size_t first, size_t left) {
    // The host calls a launch when the one before has left nothing.
    const size_t most = byWavelets() ? std::min(left, mostLaunches) : 1;
    for (size_t length = 1;; ++length)
      try {
        proveWindow(first, length);
        return length;
      } catch (const NotUnderstood &problem) {
        if (length == most)
          throw NotUnderstood{"launches " + std::to_string(first) + " to " +
                              std::to_string(first + length - 1) + ": " +
                              problem.reason};
      }
  }

  void proveWindow(size_t first, size_t length) {
    std::vector<const program::Launch *> launches;
    std::vector<uint32_t> ids;
    for (size_t i = first; i < first + length; ++i) {
      launches.push_back(onlyEntry(program).launches()->Get(unsigned(i)));
      ids.push_back(launches.back()->routine());
    }
    auto known = proven.find(ids);
    if (known == proven.end())
      known = proven.emplace(ids, proveRoutines(ids)).first;
    Proven &here = known->second;
    checkLaunchWords(program, launches, here.routine, here.handovers, scalars);
    if (!std::exchange(here.stated, true))
      proof.ranks.insert(proof.ranks.end(), here.ranks.begin(),
                         here.ranks.end());
  }

  Proven proveRoutines(const std::vector<uint32_t> &ids) {
    std::vector<const StatementList *> bodies;
    for (uint32_t id : ids)
      bodies.push_back(bodyOf(id));
    Proven result;
    result.routine = readLaunches(bodies, scalars);
    result.handovers = findHandovers(program, result.routine, scalars, routes);
    alignColumns(result.routine, scalars, result.handovers);
    result.ranks =
        rankPhases(result.routine, result.handovers, scalars, launchRoom());
    return result;
  }

  const StatementList *bodyOf(uint32_t id) const {
    for (const program::Routine *routine : *peClass.routines())
      if (routine->id() == id)
        return routine->body();
    return nullptr;
  }
  bool byWavelets() const { return program.launch_color() != noLaunchColor; }
  /// Of the queue in which launch wavelets wait.
  size_t launchRoom() const {
    const auto &words = *program.machine()->input_queue_words();
    return byWavelets() ? size_t(*std::min_element(words.begin(), words.end()))
                        : 0;
  }

  const program::Program &program;
  DeadlockProof &proof;
  const program::PEClass &peClass;
  AxisScalars scalars;
  RouteTable routes;
  std::map<std::vector<uint32_t>, Proven> proven; ///< by their routines
};

} // namespace

DeadlockProof provePhases(const program::Program &program) {
  DeadlockProof proof;
  ProofSteps steps;
  try {
    if (const program::PEClass *peClass = onlyClass(program)) {
      PhasesProof(program, *peClass, proof, steps).prove();
    } else {
      const FusedClasses fused(program);
      WindowsProof(fused.program(), proof, steps).prove();
    }
    proof.verdict = program::Verdict::Free;
  } catch (const NotUnderstood &problem) {
    proof.ranks.clear();
    proof.reason = problem.reason;
  }
  proof.steps = steps.taken();
  return proof;
}

DeadlockProof proveDeadlockFree(const program::Program &program) {
  return isPlain(program) ? proveOneCall(program) : proveAllCalls(program);
}

DeadlockProof proveOneCall(const program::Program &program) {
  DeadlockProof proof = provePhases(program);
  if (proof.verdict == program::Verdict::Free)
    return proof;
  // The shape of most programs that people write.
  if (!onlyClass(program))
    proof.reason.clear();
  ProofSteps steps;
  try {
    decideByTokens(program, proof, steps);
  } catch (const NotUnderstood &problem) {
    proof.reason += (proof.reason.empty() ? "" : "; word by word: ");
    proof.reason += problem.reason;
  }
  proof.steps += steps.taken();
  return proof;
}

void checkProof(const program::Program &program) {
  const program::Proof *claimed = program.proof();
  if (!claimed || claimed->verdict() == program::Verdict::Undecided)
    return;
  constexpr const char *subject = "its proof about deadlock ";
  if (claimed->verdict() > program::Verdict::MAX)
    throw Error(ErrorClass::BadProgram,
                std::string(subject) + "has an unknown verdict");
  DeadlockProof found = proveDeadlockFree(program);
  if (found.verdict != claimed->verdict())
    throw Error(
        ErrorClass::BadProgram,
        std::string(subject) + "says " +
            program::EnumNameVerdict(claimed->verdict()) +
            ", which does not hold: " +
            (found.reason.empty() ? "the program is free" : found.reason));
  auto same = [&](const flatbuffers::Vector<uint16_t> *ranks) {
    return ranks ? std::equal(ranks->begin(), ranks->end(), found.ranks.begin(),
                              found.ranks.end())
                 : found.ranks.empty();
  };
  if (!same(claimed->ranks()))
    throw Error(ErrorClass::BadProgram,
                std::string(subject) +
                    "names other ranks than those of its code");
}

} // namespace wsec::runtime
