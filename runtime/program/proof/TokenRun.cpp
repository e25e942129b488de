// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/TokenRun.h"
#include "runtime/program/Call.h"
#include "runtime/program/proof/TokenWaits.h"

namespace wsec::runtime {

using namespace tokens;

namespace {

/// One run of a program, with queues of a certain length.
class TokenRun {
public:
  TokenRun(const Code &code, const KindMesh &mesh, Depths depths,
           const TokenLimits &limits, ProofSteps &steps)
      : code(code), mesh(mesh), agenda(limits, steps),
        fabric(code.program, mesh, depths, agenda),
        cells(code, fabric, agenda) {}

  /// Empty: all launches end. Otherwise who waits for whom.
  std::string run();
  bool mayBeBusy() const { return cells.mayBeBusy(); }

private:
  std::string runLaunch(const std::string &name);

  const Code &code;
  const KindMesh &mesh;
  Agenda agenda;
  Fabric fabric;
  Cells cells;
};

} // namespace

/// Launches that wavelets start overlap; a call waits until the launch before
/// has ended in all PEs.
std::string TokenRun::run() {
  const auto &launches = *onlyEntry(code.program).launches();
  if (fabric.commands() > 0) {
    fabric.addCommands();
    for (const program::Launch *launch : launches)
      fabric.addChannels(*launch);
    cells.awaitCommands();
    return runLaunch("");
  }
  for (unsigned l = 0; l < launches.size(); ++l) {
    fabric.addChannels(*launches[l]);
    cells.call(*launches[l]);
    if (std::string stuck = runLaunch("launch " + std::to_string(l));
        !stuck.empty())
      return stuck;
  }
  return "";
}

/// Until nothing moves. Empty if all PEs have ended and the host has its words,
/// else who waits.
std::string TokenRun::runLaunch(const std::string &name) {
  cells.wakeAll();
  while (const std::optional<Agenda::Due> due = agenda.next())
    if (due->isRoute)
      fabric.pump(due->index);
    else
      cells.work(due->index);
  const std::string prefix = name.empty() ? "" : name + ": ";
  if (std::string stuck = describeStuck(code, mesh, fabric, cells);
      !stuck.empty())
    return prefix + stuck;
  fabric.requireRead(name.empty() ? "the launches leave" : name + " leaves");
  if (std::string wait = fabric.describeHostWait(); !wait.empty())
    return prefix + wait;
  if (!cells.allLaunched())
    throw NotUnderstood{"launch wavelets that do not reach all PEs"};
  return "";
}

void decideByTokens(const program::Program &program, DeadlockProof &proof,
                    ProofSteps &steps, const TokenLimits &limits) {
  Code code(program, steps);
  KindMesh mesh = kindsOfPes(program, code.atoms, code.scalars, steps);
  TokenRun least(code, mesh, leastDepths(*program.machine()), limits, steps);
  if (least.run().empty()) {
    proof.verdict = program::Verdict::Free;
    proof.reason.clear();
    return;
  }
  TokenRun most(code, mesh, mostDepths(*program.machine()), limits, steps);
  std::string stuck = most.run();
  if (stuck.empty())
    throw NotUnderstood{"whether it ends depends on how many words the queues "
                        "hold"};
  if (most.mayBeBusy())
    throw NotUnderstood{"a microthread may be given work while it has some: " +
                        stuck};
  proof.verdict = program::Verdict::Deadlock;
  proof.reason = stuck;
}

} // namespace wsec::runtime
