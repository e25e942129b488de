// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Procedures, calls of them, and how the one is written where the other stands.

#include "dialects/pe/PeMistakes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace wsec::pe;

LogicalResult ProcedureOp::verify() {
  llvm::StringSet<> taken;
  for (Attribute attribute : getNames()) {
    auto name = dyn_cast<FlatSymbolRefAttr>(attribute);
    if (!name || !taken.insert(name.getValue()).second) // C1
      return emitOpError("takes ") << attribute << " twice";
  }
  return success();
}

LogicalResult CallOp::verify() {
  for (Attribute name : getNames())
    if (!isa<FlatSymbolRefAttr>(name))
      return emitOpError("gives ") << name << " where a name is expected";
  for (Attribute input : getInputs()) {
    auto affine = dyn_cast<AffineAttr>(input);
    if (!affine)
      return emitOpError("gives ") << input << " where an expression is "
                                   << "expected";
    if (failed(verifyAffine(*this, affine, getValues()))) // C1
      return failure();
  }
  return success();
}

namespace {
/// Writes out the calls in the code of one class.
class Expansion {
public:
  Expansion(ClassOp peClass, ProgramOp program)
      : peClass(peClass), program(program), symbols(peClass),
        outerSymbols(program) {}

  /// All calls inside `op`, which stands in the procedures `chain`.
  LogicalResult expandIn(Operation *op, SmallVectorImpl<ProcedureOp> &chain);

private:
  /// More than the SRAM of a PE has room for.
  static constexpr int64_t most = 1 << 16;

  FailureOr<ProcedureOp> find(CallOp call);
  LogicalResult expand(CallOp call, SmallVectorImpl<ProcedureOp> &chain);

  ClassOp peClass;
  ProgramOp program;
  mlir::SymbolTable symbols, outerSymbols;
  int64_t written = 0;
};

/// Puts what a call gives in place of the parameters.
class Substitution {
public:
  Substitution(CallOp call, ProcedureOp procedure, Block &copy) : call(call) {
    for (auto [formal, given] :
         llvm::zip_equal(procedure.getNames().getAsRange<FlatSymbolRefAttr>(),
                         call.getNames().getAsRange<FlatSymbolRefAttr>()))
      names[formal] = given;
    for (auto [formal, given] : llvm::zip_equal(
             copy.getArguments(), call.getInputs().getAsRange<AffineAttr>()))
      scalars.try_emplace(formal, decode(given, call.getValues()));
  }

  /// In an op of the copy. Sets `isLeftOut` where a guard is zero.
  LogicalResult apply(Operation *op, bool &isLeftOut);

private:
  const Affine *given(Value value) const {
    auto found = scalars.find(value);
    return found == scalars.end() ? nullptr : &found->second;
  }
  void applyNames(Operation *op);
  void applyScalars(Operation *op, MutableOperandRange values);
  LogicalResult applyGuard(Operation *op, MutableOperandRange guard,
                           bool &isLeftOut);
  LogicalResult applyThread(VectorOp op);

  CallOp call;
  DenseMap<Attribute, Attribute> names;
  DenseMap<Value, Affine> scalars;
};
} // namespace

void Substitution::applyNames(Operation *op) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr name) -> Attribute {
    return names.lookup_or(name, name);
  });
  op->setAttrs(cast<DictionaryAttr>(replacer.replace(op->getAttrDictionary())));
}

// Expressions over parameters become expressions over what was given.
void Substitution::applyScalars(Operation *op, MutableOperandRange values) {
  const SmallVector<Value> before = llvm::to_vector(llvm::map_range(
      values, [](OpOperand &operand) { return operand.get(); }));
  if (llvm::none_of(before, [&](Value value) { return given(value); }))
    return;
  AffineEncoder encoder(op->getContext());
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](AffineAttr attribute) -> Attribute {
    const Affine written = decode(attribute, before);
    Affine result(written.constant);
    for (auto [value, scale] : written.terms) {
      const Affine *its = given(value);
      result = result + (its ? *its : Affine(value)) * scale;
    }
    return encoder.encode(result);
  });
  op->setAttrs(cast<DictionaryAttr>(replacer.replace(op->getAttrDictionary())));
  values.assign(encoder.getValues());
}

LogicalResult Substitution::applyGuard(Operation *op, MutableOperandRange guard,
                                       bool &isLeftOut) {
  const Affine *its = guard.empty() ? nullptr : given(guard[0].get());
  if (!its)
    return success();
  if (its->terms.empty()) {
    isLeftOut = its->constant == 0;
    guard.clear();
    return success();
  }
  if (its->terms.size() > 1 || its->constant != 0 ||
      its->terms[0].second != 1 || !isClassScalar(its->terms[0].first))
    return withNote(call.emitOpError("gives a guard what is no number and no "
                                     "scalar of the class"),
                    op, "the guard");
  guard.assign(its->terms[0].first);
  return success();
}

LogicalResult Substitution::applyThread(VectorOp op) {
  const Value parameter = op.getThreadParameter();
  const Affine *its = parameter ? given(parameter) : nullptr;
  if (!its)
    return success();
  if (!its->terms.empty())
    return withNote(call.emitOpError("gives a microthread what is no number"),
                    op, "the microthread");
  op.setThread(its->constant);
  op.getThreadParameterMutable().clear();
  return success();
}

LogicalResult Substitution::apply(Operation *op, bool &isLeftOut) {
  applyNames(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](VectorOp vector) {
        applyScalars(op, vector.getValuesMutable());
        return failure(
            failed(applyThread(vector)) ||
            failed(applyGuard(op, vector.getGuardMutable(), isLeftOut)));
      })
      .Case([&](ForOp loop) {
        applyScalars(op, loop.getValuesMutable());
        return applyGuard(op, loop.getGuardMutable(), isLeftOut);
      })
      .Case<ComputeOp, LoadOp, StoreOp, IfOp, BreakOp, ControlOp, ClockOp,
            SetRouteOp, CallOp>([&](auto known) {
        applyScalars(op, known.getValuesMutable());
        return success();
      })
      .Default([](Operation *) { return success(); });
}

FailureOr<ProcedureOp> Expansion::find(CallOp call) {
  const StringRef name = call.getCallee();
  auto procedure = symbols.lookup<ProcedureOp>(name);
  if (!procedure)
    procedure = outerSymbols.lookup<ProcedureOp>(name);
  if (procedure)
    return procedure;
  SmallVector<StringRef> names;
  for (auto known : peClass.getOps<ProcedureOp>())
    names.push_back(known.getSymName());
  for (auto known : program.getOps<ProcedureOp>())
    names.push_back(known.getSymName());
  return withNote(call.emitOpError("names procedure @")
                      << name << ", which neither class @"
                      << peClass.getSymName() << " nor the program has"
                      << nearest(name, std::move(names)),
                  peClass, "the class");
}

LogicalResult Expansion::expand(CallOp call,
                                SmallVectorImpl<ProcedureOp> &chain) {
  FailureOr<ProcedureOp> found = find(call);
  if (failed(found))
    return failure();
  ProcedureOp procedure = *found;
  if (llvm::is_contained(chain, procedure))
    return withNote(call.emitOpError("is part of procedure @")
                        << procedure.getSymName() << ", which it calls",
                    procedure, "the procedure");
  Region copy;
  IRMapping mapping;
  procedure.getBody().cloneInto(&copy, mapping);
  Block &body = copy.front();
  if (call.getNames().size() != procedure.getNames().size() ||
      call.getInputs().size() != body.getNumArguments())
    return withNote(call.emitOpError("gives ")
                        << call.getNames().size() << " names and "
                        << call.getInputs().size() << " scalars, procedure @"
                        << procedure.getSymName() << " takes "
                        << procedure.getNames().size() << " and "
                        << body.getNumArguments(),
                    procedure, "the procedure");
  Substitution substitution(call, procedure, body);
  SmallVector<Operation *> leftOut;
  WalkResult result = body.walk([&](Operation *op) {
    op->setLoc(CallSiteLoc::get(op->getLoc(), call.getLoc()));
    bool isLeftOut = false;
    if (failed(substitution.apply(op, isLeftOut)))
      return WalkResult::interrupt();
    if (isLeftOut)
      leftOut.push_back(op);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (Operation *op : leftOut) // Those inside a loop before the loop.
    op->erase();
  SmallVector<Operation *> placed;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    op.moveBefore(call);
    placed.push_back(&op);
  }
  written += int64_t(placed.size());
  if (written > most)
    return call.emitOpError("makes the code of class @")
           << peClass.getSymName() << " more than " << most << " statements";
  call.erase();
  chain.push_back(procedure);
  for (Operation *op : placed)
    if (failed(expandIn(op, chain)))
      return failure();
  chain.pop_back();
  return success();
}

LogicalResult Expansion::expandIn(Operation *op,
                                  SmallVectorImpl<ProcedureOp> &chain) {
  SmallVector<CallOp> calls;
  op->walk([&](CallOp call) { calls.push_back(call); });
  return failure(llvm::any_of(
      calls, [&](CallOp call) { return failed(expand(call, chain)); }));
}

LogicalResult wsec::pe::expandProcedures(ProgramOp program) {
  SmallVector<ProcedureOp> procedures(program.getOps<ProcedureOp>());
  bool isChanged = !procedures.empty();
  for (auto peClass : program.getOps<ClassOp>()) {
    Expansion expansion(peClass, program);
    SmallVector<ProcedureOp> chain;
    for (Operation &op : peClass.getBody().front()) {
      if (isa<RoutineOp, TaskOp>(op) && failed(expansion.expandIn(&op, chain)))
        return failure();
      if (auto procedure = dyn_cast<ProcedureOp>(op))
        procedures.push_back(procedure);
      isChanged |= isa<ProcedureOp>(op);
    }
  }
  for (ProcedureOp procedure : procedures)
    procedure.erase();
  return success(!isChanged || succeeded(mlir::verify(program)));
}
