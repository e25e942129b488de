// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One text for several places: procedures and their calls. `expandProcedures`
// writes them out when a program has been read.
#ifndef WSEC_DIALECTS_PE_PEPROCEDUREOPS_TD
#define WSEC_DIALECTS_PE_PEPROCEDUREOPS_TD

include "dialects/pe/PeOpBase.td"

def Pe_ProcedureOp : Pe_RegionOp<"procedure",
    [ParentOneOf<["ProgramOp", "ClassOp"]>, Symbol]> {
  let summary = "Is code that stands wherever it is called.";
  let description = [{
    A call is replaced by the body: each name of `names` by the name that is
    given for it (a chain, buffer, task or another procedure), each scalar by an
    expression. So colors, offsets, extents, guards and microthreads may be
    parameters. Nothing of a procedure is left in a PE that does not call it.

    (C1) No two names are equal.

    ```mlir
    pe.program @main mesh [4, 1] machine "wse2" {
      chain @east even 1 odd 2 [0:4, 0:1] to east
      chain @west even 3 odd 4 [0:4, 0:1] to west
      procedure @send(@link, @from, %there, %thread) {
        vector mov fabric(@link) = @from[0, strides = [1]] over (8)
            where %there thread %thread
      }
      class @all [0:4, 0:1] {
        %px = scalar px
        %last = scalar equal(%px, 3)
        %there = scalar not(%last)
        buffer @v 32 bytes of f32
        routine @main {
          call @send(@east, @v, %there, 0)
          call @send(@west, @v, %px, 1)
          await [0, 1]
        }
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$names);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name attr-dict-with-keyword `` custom<Procedure>($names, $body)
  }];
  let hasVerifier = 1;
}

def Pe_CallOp : Pe_Op<"call", [Pe_InCode]> {
  let summary = "Stands for the code of a procedure.";
  let description = [{
    Of the class, or else of the program. Names go to names, expressions to
    scalars, each in their order.

    (C1) Expressions number existing operands. When the call is replaced, there
    is such a procedure, which does not call itself, not by way of others
    either, and takes as many names and expressions; a guard's parameter is
    given a number or a scalar of the class, a microthread's a number.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        buffer @v 32 bytes of f32
        procedure @fill(@what, %first) {
          vector mov @what[%first, strides = [1]] = 1.0 over (4)
        }
        routine @main {
          call @fill(@v, 0)
          call @fill(@v, 4)
        }
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, ArrayAttr:$names,
    Variadic<Pe_ScalarType>:$values, ArrayAttr:$inputs);
  let assemblyFormat = [{
    $callee `` custom<Passed>($names, $values, $inputs) attr-dict
  }];
  let hasVerifier = 1;
}

#endif // WSEC_DIALECTS_PE_PEPROCEDUREOPS_TD
