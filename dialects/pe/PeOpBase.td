// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_DIALECTS_PE_PEOPBASE_TD
#define WSEC_DIALECTS_PE_PEOPBASE_TD

include "dialects/pe/PeAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Pe_Op<string mnemonic, list<Trait> traits = []>
    : Op<Pe_Dialect, mnemonic, traits>;

// Ops with a body let what is inside drop the `pe.` prefix.
class Pe_RegionOp<string mnemonic, list<Trait> traits = []>
    : Pe_Op<mnemonic, !listconcat([NoTerminator, SingleBlock,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getDefaultDialect"]>],
        traits)> {
  let extraClassDefinition = [{
    ::llvm::StringRef $cppClass::getDefaultDialect() { return "pe"; }
  }];
}

// What a PE executes stands in a routine, task or procedure, or in a body of
// one.
def Pe_InCode
    : ParentOneOf<["RoutineOp", "TaskOp", "ProcedureOp", "ForOp", "IfOp"]>;

#endif // WSEC_DIALECTS_PE_PEOPBASE_TD
