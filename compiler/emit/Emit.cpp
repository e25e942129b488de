// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/emit/Emit.h"
#include "compiler/emit/CheckEmitted.h"
#include "compiler/emit/LocateError.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/emit/SramBudget.h"
#include "compiler/emit/Translation.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::emit;

static FailureOr<pe::ProgramOp> findProgram(ModuleOp module) {
  auto programs = llvm::to_vector(module.getOps<pe::ProgramOp>());
  if (programs.size() == 1)
    return programs.front();
  InFlightDiagnostic error =
      module.emitError("expected one pe.program to emit, found ")
      << programs.size();
  for (pe::ProgramOp program : programs)
    error.attachNote(program.getLoc())
        << "@" << program.getSymName() << " is one";
  return error;
}

static std::string pack(const program::ProgramT &program) {
  flatbuffers::FlatBufferBuilder builder(64 << 10);
  program::FinishProgramBuffer(builder,
                               program::Program::Pack(builder, &program));
  return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                     builder.GetSize());
}

// Flatbuffers end at 2 GiB. Constants are the only part that can be large.
static LogicalResult checkConstants(pe::ProgramOp op,
                                    const program::ProgramT &program) {
  constexpr uint64_t kLimit = 1 << 30;
  uint64_t bytes = 0;
  for (const auto &tensor : program.tensors)
    bytes += tensor->data.size();
  if (bytes <= kLimit)
    return success();
  return op.emitOpError("holds ")
         << bytes << " bytes of constants, at most " << kLimit
         << " fit; keep them in a file, as weights";
}

// Writes the verdict into the program, of which `packed` are the bytes so far.
static LogicalResult proveFree(pe::ProgramOp op, bool isCompiled,
                               const std::string &packed,
                               program::ProgramT &program) {
  runtime::DeadlockProof proof = findDeadlock(packed);
  program.proof = std::make_unique<program::ProofT>();
  program.proof->verdict = proof.verdict;
  program.proof->reason = proof.reason;
  if (proof.verdict == program::Verdict::Free)
    return success();
  constexpr const char *certain = "every run ends in a deadlock: ";
  const bool isStuck = proof.verdict == program::Verdict::Deadlock;
  if (isStuck && isCompiled)
    return op.emitOpError(certain)
           << proof.reason
           << "; another --mesh, --region or --mode may do; please report "
              "this, with the model";
  InFlightDiagnostic warning = op.emitWarning(
      isStuck ? certain : "it is undecided whether it can deadlock: ");
  warning << proof.reason;
  if (isCompiled)
    warning << "; runs on engines without finite queues begin with a check of "
               "all its words, which takes longer; another --mesh, --region or "
               "--mode may need none";
  return success();
}

FailureOr<runtime::LinkWords> wsec::countLinkWords(ModuleOp module) {
  FailureOr<pe::ProgramOp> op = findProgram(module);
  if (failed(op))
    return failure();
  expandChains(*op);
  program::ProgramT program;
  if (failed(translateProgram(*op, program)))
    return failure();
  return findLinkWords(pack(program));
}

LogicalResult wsec::emitProgram(ModuleOp module, const EmitOptions &options) {
  FailureOr<pe::ProgramOp> op = findProgram(module);
  if (failed(op))
    return failure();
  expandChains(*op);
  program::ProgramT program;
  if (failed(translateProgram(*op, program)) ||
      failed(checkSram(*op, program)) || failed(checkConstants(*op, program)))
    return failure();
  FailureOr<WeightPlan> plan = placeWeights(*op, options, program);
  if (failed(plan))
    return failure();
  std::string packed = pack(program);
  auto error = findLoadError(packed);
  if (!error && !options.isCompiled)
    error = findColorMistake(packed);
  if (error) {
    reportLoadError(*op, *error);
    return failure();
  }
  if (failed(proveFree(*op, options.isCompiled, packed, program)))
    return failure();
  packed = {};

  auto packWith = [&](uint64_t bundleDigest) {
    if (!plan->pieces.empty())
      program.files.back()->digest = bundleDigest;
    return pack(program);
  };
  if (llvm::Error error = writeContainer(options.outputPath, *plan, packWith)) {
    emitError(UnknownLoc::get(module.getContext()))
        << llvm::toString(std::move(error));
    return failure();
  }
  return success();
}
