// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/DeadlockChecker.h"
#include "runtime/program/Call.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/check/EntryChecker.h"
#include "runtime/program/proof/CallProofs.h"
#include "runtime/program/proof/FusedClasses.h"
#include "runtime/program/proof/HostWords.h"
#include "runtime/program/proof/PhaseGraph.h"
#include "runtime/program/proof/TokenRun.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace wsec::runtime {

namespace {

bool isRectangle(const program::PEClass &peClass) {
  const auto &rects = *peClass.rects();
  return rects.size() == 1 && rects.Get(0)->xstep() == 1 &&
         rects.Get(0)->ystep() == 1;
}

/// The one class there is, on one rectangle, without tasks and filters; null if
/// the program is another one. Other PEs only pass words on.
const program::PEClass *onlyClass(const program::Program &program) {
  if (program.classes()->size() != 1)
    return nullptr;
  const program::PEClass &found = *program.classes()->Get(0);
  if (!isRectangle(found) || (found.tasks() && found.tasks()->size() > 0) ||
      (found.filters() && found.filters()->size() > 0))
    return nullptr;
  return &found;
}

/// Whether it may have phases: PEs with tasks or filters have none.
bool mayHavePhases(const program::Program &program) {
  return std::none_of(program.classes()->begin(), program.classes()->end(),
                      [](const program::PEClass *each) {
                        return (each->tasks() && each->tasks()->size() > 0) ||
                               (each->filters() && each->filters()->size() > 0);
                      });
}

/// " (store of 'node_linear' and 7 more)": what launches are for, as far as the
/// program says.
std::string kernelsOf(const program::Program &program,
                      const std::vector<const program::Launch *> &launches) {
  std::set<std::string> names;
  for (const program::Launch *launch : launches) {
    if (!program.kernels() || launch->kernel() >= program.kernels()->size())
      continue;
    const program::Kernel &kernel = *program.kernels()->Get(launch->kernel());
    const auto *nodes = kernel.onnx_nodes();
    if (nodes && nodes->size() > 0)
      names.insert((kernel.kind() ? printable(kernel.kind()->str()) : "") +
                   " of " + inQuotes(nodes->Get(0)->str()));
  }
  if (names.empty())
    return "";
  std::string text = " (" + *names.begin();
  if (names.size() > 1)
    text += " and " + std::to_string(names.size() - 1) + " more";
  return text + ")";
}

/// Classes of a program as its proof sees them: all PEs of a class, alone or
/// fused of several.
struct Part {
  /// The only class of `program`, which is in `rects`; without any everywhere.
  Part(const program::Program &program, const std::vector<program::Rect> &rects,
       ProofSteps &steps)
      : program(program), peClass(*program.classes()->Get(0)),
        scalars(peClass.scalars(), rects, program.machine()->width(),
                program.machine()->height(), steps),
        routes(program, steps) {}

  const StatementList *bodyOf(uint32_t routine) const {
    for (const program::Routine *each : *peClass.routines())
      if (each->id() == routine)
        return each->body();
    return nullptr;
  }

  const program::Program &program;
  const program::PEClass &peClass;
  AxisScalars scalars;
  RouteTable routes;
};

/// The phases of each routine.
class PhasesProof {
public:
  PhasesProof(const program::Program &program, const program::PEClass &peClass,
              ProofSteps &steps)
      : program(program), peClass(peClass),
        scalars(peClass.scalars(), {*peClass.rects()->Get(0)},
                program.machine()->width(), program.machine()->height(), steps),
        routes(program, steps) {}

  void prove() {
    if (peClass.routines())
      for (const program::Routine *routine : *peClass.routines())
        within([&] { return nameOf(routine->id()); },
               [&] { proveRoutine(*routine); });
    std::set<std::vector<int64_t>> seen;
    for (const program::Launch *launch : *onlyEntry(program).launches())
      within([&] { return nameOf(launch->routine()); },
             [&] {
               auto found = routines.find(launch->routine());
               if (found == routines.end())
                 throw NotUnderstood{"no PE has it"};
               const Proven &proven = *found->second;
               std::vector<int64_t> signature = signatureOf(program, *launch);
               signature.push_back(proven.number);
               if (seen.insert(std::move(signature)).second)
                 checkLaunchWords(program, {launch}, proven.routine,
                                  proven.handovers, scalars);
             });
  }

private:
  /// What routines that do the same to the fabric have in common.
  struct Proven {
    int64_t number = 0;
    FabricRoutine routine;
    Handovers handovers;
  };

  std::string nameOf(uint32_t routine) const {
    std::vector<const program::Launch *> launches;
    for (const program::Launch *launch : *onlyEntry(program).launches())
      if (launch->routine() == routine)
        launches.push_back(launch);
    return "routine " + std::to_string(routine) + kernelsOf(program, launches);
  }

  void proveRoutine(const program::Routine &source) {
    FabricRoutine routine =
        readRoutine(*source.body(), source.id(), scalars, false);
    auto [at, isNew] = proven.try_emplace(signatureOf(routine));
    Proven &here = at->second;
    if (isNew) {
      here.number = int64_t(proven.size());
      here.handovers = findHandovers(program, routine, scalars, routes);
      alignColumns(routine, scalars, here.handovers);
      orderPhases(routine, here.handovers, scalars);
      here.routine = std::move(routine);
    }
    routines[source.id()] = &here;
  }

  const program::Program &program;
  const program::PEClass &peClass;
  AxisScalars scalars;
  RouteTable routes;
  std::map<std::vector<int64_t>, Proven> proven; ///< by signature
  std::map<uint32_t, const Proven *> routines;   ///< by id
};

/// Launches of several classes: in windows, each of as few launches in a row as
/// send all that they receive. A launch of one class alone is looked at where
/// that is, as if there were no other; others in the classes that are fused
/// into one.
class WindowsProof {
public:
  WindowsProof(const program::Program &program, const program::Program &fused,
               ProofSteps &steps)
      : source(program), steps(steps), all(fused, {}, steps) {
    for (const program::PEClass *peClass : *program.classes())
      for (unsigned r = 0;
           peClass->routines() && r < peClass->routines()->size(); ++r) {
        const auto [at, isNew] =
            classOf.try_emplace(peClass->routines()->Get(r)->id(), peClass);
        if (!isNew || !isRectangle(*peClass))
          at->second = nullptr;
      }
  }

  void prove() {
    const size_t count = onlyEntry(source).launches()->size();
    for (size_t first = 0; first < count;)
      first += proveFrom(first, count - first);
  }

private:
  struct Proven {
    const Part *part = nullptr;
    FabricRoutine routine;
    Handovers handovers;
    std::set<std::vector<int64_t>> words; ///< of the host that are known
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
          throw NotUnderstood{nameOf(first, length) + ": " + problem.reason};
      }
  }

  std::string nameOf(size_t first, size_t length) const {
    std::vector<const program::Launch *> launches;
    for (size_t i = first; i < first + length; ++i)
      launches.push_back(onlyEntry(source).launches()->Get(unsigned(i)));
    return "launches " + std::to_string(first) + " to " +
           std::to_string(first + length - 1) + kernelsOf(source, launches);
  }

  void proveWindow(size_t first, size_t length) {
    std::vector<const program::Launch *> launches;
    std::vector<uint32_t> ids;
    for (size_t i = first; i < first + length; ++i) {
      launches.push_back(onlyEntry(source).launches()->Get(unsigned(i)));
      ids.push_back(launches.back()->routine());
    }
    auto known = proven.find(ids);
    if (known == proven.end())
      known = proven.emplace(ids, proveRoutines(ids)).first;
    Proven &here = known->second;
    std::vector<int64_t> signature;
    for (const program::Launch *launch : launches)
      for (int64_t number : signatureOf(source, *launch))
        signature.push_back(number);
    if (here.words.insert(std::move(signature)).second)
      checkLaunchWords(here.part->program, launches, here.routine,
                       here.handovers, here.part->scalars);
  }

  Proven proveRoutines(const std::vector<uint32_t> &ids) {
    Part &part = ids.size() == 1 ? partOf(ids.front()) : all;
    std::vector<const StatementList *> bodies;
    for (uint32_t id : ids)
      bodies.push_back(part.bodyOf(id));
    Proven result;
    result.part = &part;
    result.routine = readLaunches(bodies, part.scalars);
    std::pair<const Part *, std::vector<int64_t>> key = {&part, {}};
    if (ids.size() == 1) {
      key.second = signatureOf(result.routine);
      if (auto found = alone.find(key); found != alone.end()) {
        result.handovers = found->second;
        return result;
      }
    }
    result.handovers =
        findHandovers(part.program, result.routine, part.scalars, part.routes);
    alignColumns(result.routine, part.scalars, result.handovers);
    orderPhases(result.routine, result.handovers, part.scalars, launchRoom());
    if (ids.size() == 1)
      alone.emplace(std::move(key), result.handovers);
    return result;
  }

  /// Where to look at a routine: in the only class that has it.
  Part &partOf(uint32_t routine) {
    const auto found = classOf.find(routine);
    if (found == classOf.end() || !found->second)
      return all;
    auto [at, isNew] = parts.try_emplace(found->second);
    if (isNew) {
      at->second.alone = std::make_unique<ClassAlone>(source, *found->second);
      at->second.part = std::make_unique<Part>(
          at->second.alone->program(),
          std::vector<program::Rect>{*found->second->rects()->Get(0)}, steps);
    }
    return *at->second.part;
  }

  bool byWavelets() const { return source.launch_color() != noLaunchColor; }
  /// Of the queue in which launch wavelets wait.
  size_t launchRoom() const {
    const auto &words = *source.machine()->input_queue_words();
    return byWavelets() ? size_t(*std::min_element(words.begin(), words.end()))
                        : 0;
  }

  struct Alone {
    std::unique_ptr<ClassAlone> alone;
    std::unique_ptr<Part> part;
  };

  const program::Program &source;
  ProofSteps &steps;
  Part all; ///< the classes, fused
  /// Of launches of one class alone, by what they do to the fabric. Looked up
  /// only.
  std::map<std::pair<const Part *, std::vector<int64_t>>, Handovers> alone;
  /// By routine; null: no rectangle, or several classes have it.
  std::map<uint32_t, const program::PEClass *> classOf;
  std::map<const program::PEClass *, Alone> parts; ///< looked up only
  std::map<std::vector<uint32_t>, Proven> proven;  ///< by their routines
};

} // namespace

DeadlockProof provePhases(const program::Program &program) {
  DeadlockProof proof;
  ProofSteps steps;
  try {
    if (const program::PEClass *peClass = onlyClass(program)) {
      PhasesProof(program, *peClass, steps).prove();
    } else {
      const FusedClasses fused(program);
      WindowsProof(program, fused.program(), steps).prove();
    }
    proof.verdict = program::Verdict::Free;
  } catch (const NotUnderstood &problem) {
    proof.reason = problem.reason;
  }
  proof.steps = steps.taken();
  return proof;
}

DeadlockProof proveDeadlockFree(const program::Program &program) {
  return isPlain(program) ? proveOneCall(program) : proveAllCalls(program);
}

DeadlockProof proveOneCall(const program::Program &program,
                           const TokenLimits &limits) {
  DeadlockProof proof = provePhases(program);
  if (proof.verdict == program::Verdict::Free)
    return proof;
  if (!mayHavePhases(program))
    proof.reason.clear();
  ProofSteps steps(limits.moves + ProofSteps::usual);
  try {
    decideByTokens(program, proof, steps, limits);
  } catch (const NotUnderstood &problem) {
    proof.reason += (proof.reason.empty() ? "" : "; word by word: ");
    proof.reason += problem.reason;
  }
  proof.steps += steps.taken();
  return proof;
}

DeadlockProof decideCall(const Call &call, int64_t moves) {
  const TokenLimits limits{1 << 24, moves};
  return isPlain(call.program()) ? proveOneCall(call.program(), limits)
                                 : proveCall(call, limits);
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
}

} // namespace wsec::runtime
