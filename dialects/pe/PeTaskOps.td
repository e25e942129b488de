// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What code has besides vector instructions: tasks, queues, filters, and the
// scalar code that ties them together.
#ifndef WSEC_DIALECTS_PE_PETASKOPS_TD
#define WSEC_DIALECTS_PE_PETASKOPS_TD

include "dialects/pe/PeOpBase.td"

//===----------------------------------------------------------------------===//
// Members of a class
//===----------------------------------------------------------------------===//

def Pe_TaskOp : Pe_RegionOp<"task", [HasParent<"ClassOp">, Symbol]> {
  let summary = "Is code a PE runs when something has happened.";
  let description = [{
    A task runs when it is pending and not blocked, to its end, one at a time. A
    routine is the task of a launch. Of several the lowest kind (local, data,
    control), then the lowest id runs first.

    - `local n`: pending after an `activate`; it does not count how many.
    - `data c`: pending while a wavelet of color c waits that no instruction
      receives; each run takes one.
    - `control n`: started by a control wavelet that names n.

    Before a data or control task starts, the wavelet is stored: its word to
    element 0 of `word`, its upper half to element 0 of `index`. A `blocked`
    task starts blocked.

    (C1) A local task has neither word nor index. (C2) These are buffers of the
    class. (C3) No two tasks of a class have the same kind and id.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        buffer @word 4 bytes of f32
        buffer @sum 4 bytes of f32
        task @add data 2 word @word {
          vector add @sum[0, strides = [1]] = @sum[0, strides = [1]],
              @word[0, strides = [1]] over (1)
        }
        task @done local 8 blocked {
        }
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Pe_TaskKind:$kind,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$id, UnitAttr:$blocked,
    OptionalAttr<FlatSymbolRefAttr>:$word,
    OptionalAttr<FlatSymbolRefAttr>:$index);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $kind custom<Number>($id) (`blocked` $blocked^)? (`word` $word^)?
    (`index` $index^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Pe_QueueOp : Pe_Op<"queue", [HasParent<"ClassOp">]> {
  let summary = "Ties the words of a color to a queue between PE and router.";
  let description = [{
    The queue's depth, a number of the machine, says how many words may wait
    there before the color's traffic stops. The queue is the color's all the
    time; colors without one share the others, while they are in use, and get
    the room of the smallest.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        queue input 2 color 4
        queue output 3 color 5
      }
    }
    ```
  }];
  let arguments = (ins Pe_QueueKind:$kind,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$queue,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$color);
  let assemblyFormat = [{
    $kind custom<Number>($queue) `color` custom<Number>($color) attr-dict
  }];
}

def Pe_FilterOp : Pe_Op<"filter", [HasParent<"ClassOp">]> {
  let summary = "Drops wavelets of a color at the ramp.";
  let description = [{
    What does not pass still travels on, it just does not enter the PE. Control
    wavelets always pass.
    `range a to b` passes wavelets with an index from a to b. `counter a to b
    limit c` counts wavelets from a on, passes those whose number is at most b
    and goes on with 0 after number c: `counter 0 to 0 limit 3` keeps one of
    four.

    (C1) A counter has a limit, nothing else does. (C2) Expressions number
    existing operands, which are scalars of the class.

    ```mlir
    pe.program @main mesh [4, 1] machine "wse2" {
      class @all [0:4, 0:1] {
        %px = scalar px
        filter 2 range %px * 4 to %px * 4 + 3
        filter 3 counter 0 to 0 limit 3
      }
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$color,
    Pe_FilterKind:$kind, Variadic<Pe_ScalarType>:$values,
    Pe_AffineAttr:$min, Pe_AffineAttr:$max, OptionalAttr<Pe_AffineAttr>:$limit);
  let assemblyFormat = [{
    custom<Number>($color) custom<FilterKind>($kind)
    custom<Sum>($values, $min) `to` custom<Sum>(ref($values), $max)
    `` custom<OptionalSum>("\"limit\"", ref($values), $limit) attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Scalar code
//===----------------------------------------------------------------------===//

// The result is a local of the body the op stands in.
class Pe_LocalOp<string mnemonic>
    : Pe_Op<mnemonic, [Pe_InCode,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]>;

def Pe_ComputeOp : Pe_LocalOp<"compute"> {
  let summary = "Computes an integer while the PE runs.";
  let description = [{
    The functions of `scalar`, of expressions over scalars, loop variables and
    what was computed or loaded before. The result wraps to 32 bits. A zero
    divisor stops the run.

    (C1) As many operands as the function takes. (C2) Expressions number
    existing operands.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        buffer @count 4 bytes of i32
        routine @count_up {
          %old = load @count[0]
          %new = compute mod(%old + 1, 8)
          store @count[0] = %new
        }
      }
    }
    ```
  }];
  let arguments = (ins Pe_ScalarKind:$kind, Variadic<Pe_ScalarType>:$values,
    ArrayAttr:$inputs);
  let results = (outs Pe_ScalarType:$result);
  let assemblyFormat = [{
    custom<Function>($values, $kind, $inputs) attr-dict
  }];
  let hasVerifier = 1;
}

def Pe_LoadOp : Pe_LocalOp<"load"> {
  let summary = "Loads an element of a buffer as an integer.";
  let description = [{
    Element `offset` of a buffer of integers or, rounded towards zero, of floats.
    What is loaded is signed: from 2^31 on an element of ui32 is negative.

    (C1) Expressions number existing operands.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        buffer @rows 64 bytes of i32
        buffer @x 256 bytes of f32
        routine @clear_last {
          %row = load @rows[15]
          vector mov @x[%row * 4, strides = [1]] = 0.0 over (4)
        }
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$buffer,
    Variadic<Pe_ScalarType>:$values, Pe_AffineAttr:$offset);
  let results = (outs Pe_ScalarType:$result);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$buffer,
                                 "const Affine &":$offset)>];
  let assemblyFormat = [{
    $buffer `` custom<Element>($values, $offset) attr-dict
  }];
  let hasVerifier = 1;
}

def Pe_StoreOp : Pe_Op<"store", [Pe_InCode]> {
  let summary = "Stores an integer in an element of a buffer.";
  let description = [{
    The element gets the value of the expression, wrapped or rounded to its
    type.

    (C1) Expressions number existing operands.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        %px = scalar px
        buffer @place 8 bytes of i32
        routine @write_place {
          store @place[0] = %px * 2 + 1
        }
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$buffer,
    Variadic<Pe_ScalarType>:$values, Pe_AffineAttr:$offset,
    Pe_AffineAttr:$value);
  let assemblyFormat = [{
    $buffer `` custom<Element>($values, $offset) `=`
    custom<Sum>(ref($values), $value) attr-dict
  }];
  let hasVerifier = 1;
}

def Pe_IfOp : Pe_Op<"if",
    [NoTerminator, SingleBlock, Pe_InCode,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getDefaultDialect"]>]> {
  let summary = "Runs one of two bodies.";
  let description = [{
    The first where the expression is not zero, otherwise the second, which may
    be left out.

    (C1) Expressions number existing operands.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        buffer @count 4 bytes of i32
        task @again local 1 {
          %count = load @count[0]
          if %count {
            store @count[0] = %count - 1
            activate @again
          } else {
            activate @done
          }
        }
        task @done local 2 {
        }
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Pe_ScalarType>:$values,
    Pe_AffineAttr:$condition);
  let regions = (region SizedRegion<1>:$then, MaxSizedRegion<1>:$otherwise);
  let extraClassDefinition = [{
    ::llvm::StringRef $cppClass::getDefaultDialect() { return "pe"; }
  }];
  let assemblyFormat = [{
    custom<Sum>($values, $condition) attr-dict-with-keyword $then
    (`else` $otherwise^)?
  }];
  let hasVerifier = 1;
}

def Pe_BreakOp : Pe_Op<"break", [HasParent<"ForOp">]> {
  let summary = "Ends the loop around it.";
  let description = [{
    Where the expression is not zero. It stands in the loop's body directly. So
    a loop is as long as the data say, and no longer than its count. No proof
    follows it.

    (C1) Expressions number existing operands.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        buffer @v 4 bytes of f32
        buffer @small 4 bytes of f32
        routine @halve {
          for %i < 100 {
            vector mul @v[0, strides = [1]] = @v[0, strides = [1]], 0.5 over (1)
            vector less @small[0, strides = [1]] = @v[0, strides = [1]], 0.001 over (1)
            %small = load @small[0]
            break %small
          }
        }
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Pe_ScalarType>:$values,
    Pe_AffineAttr:$condition);
  let assemblyFormat = "custom<Sum>($values, $condition) attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tasks, control wavelets, routes and time
//===----------------------------------------------------------------------===//

class Pe_SetTaskOp<string mnemonic> : Pe_Op<mnemonic, [Pe_InCode]> {
  let arguments = (ins FlatSymbolRefAttr:$task);
  let assemblyFormat = "$task attr-dict";
}

def Pe_ActivateOp : Pe_SetTaskOp<"activate"> {
  let summary = "Makes a local task pending.";
  let description = [{
    It runs once, after the code that is running, however often it is activated
    before that.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        task @next local 1 {
        }
        routine @start {
          activate @next
        }
      }
    }
    ```
  }];
}

def Pe_BlockOp : Pe_SetTaskOp<"block"> {
  let summary = "Keeps a task from starting.";
  let description = [{
    It may become pending meanwhile; wavelets for a blocked data task wait in
    their queue.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        task @next local 1 {
          block @next
        }
      }
    }
    ```
  }];
}

def Pe_UnblockOp : Pe_SetTaskOp<"unblock"> {
  let summary = "Lets a blocked task start.";
  let description = [{
    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        task @next local 1 blocked {
        }
        routine @start {
          unblock @next
        }
      }
    }
    ```
  }];
}

def Pe_ControlOp : Pe_Op<"control", [Pe_InCode]> {
  let summary = "Sends one control wavelet.";
  let description = [{
    Routers on its path act on the commands as their pop modes say. Where it
    goes up a ramp it starts control task `task` with 16 bits of `data`; without
    a task it is delivered to no PE. The code goes on when the wavelet has left
    for the output queue; or at once, if a microthread sends it, as those that
    run vector instructions do: `thread 0`, which is idle or, on wse3, queues it.
    When it has left, that may `activate` and `unblock` a task.

    (C1) At least one command. (C2) Data needs a task. (C3) Expressions number
    existing operands. (C4) The thread is between 0 and 7. (C5) `activate` and
    `unblock` need a thread.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        %px = scalar px
        routine @switch_all {
          control fabric(1) [advance, nop]
          control fabric(1) [nop] task 5 data %px
          control fabric(1) [reset] thread 0 then activate @switched
        }
        task @switched local 1 {
        }
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Pe_ScalarType>:$values, Pe_AffineAttr:$color,
    DenseI32ArrayAttr:$commands,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$task,
    OptionalAttr<Pe_AffineAttr>:$data, OptionalAttr<I64Attr>:$thread,
    OptionalAttr<FlatSymbolRefAttr>:$activate,
    OptionalAttr<FlatSymbolRefAttr>:$unblock);
  let assemblyFormat = [{
    custom<Commands>($values, $color, $commands)
    `` custom<Delivery>(ref($values), $task, $data)
    `` custom<Completion>($thread, $activate, $unblock) attr-dict
  }];
  let hasVerifier = 1;
}

def Pe_ClockOp : Pe_Op<"clock", [Pe_InCode]> {
  let summary = "Stores the cycle counter.";
  let description = [{
    Its low 32 bits go to an element of an i32 buffer.

    (C1) Expressions number existing operands.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        buffer @time 8 bytes of i32
        routine @measure {
          clock @time[0]
          clock @time[1]
        }
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$buffer,
    Variadic<Pe_ScalarType>:$values, Pe_AffineAttr:$offset);
  let assemblyFormat = [{
    $buffer `` custom<Element>($values, $offset) attr-dict
  }];
  let hasVerifier = 1;
}

def Pe_SetRouteOp : Pe_Op<"set_route", [Pe_InCode]> {
  let summary = "Sets the route of a color in the PE's own router.";
  let description = [{
    The color has this one position afterwards, and traffic that a `teardown`
    stopped flows again.

    (C1) `transmit` is not empty. (C2) Except on the ramp, no wavelet leaves
    through the port it came from. (C3) Expressions number existing operands.

    ```mlir
    pe.program @main mesh [2, 1] machine "wse2" {
      class @all [0:2, 0:1] {
        routine @turn {
          set_route 3 from ramp to [east]
        }
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Pe_ScalarType>:$values, Pe_AffineAttr:$color,
    Fabric_Port:$receive, Fabric_Ports:$transmit);
  let assemblyFormat = [{
    custom<Sum>($values, $color) custom<Passage>($receive, $transmit) attr-dict
  }];
  let hasVerifier = 1;
}

#endif // WSEC_DIALECTS_PE_PETASKOPS_TD
