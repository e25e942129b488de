// RUN: wse-opt %s --split-input-file --verify-diagnostics --wsec-infer --onnx-verify-canonical

// expected-error@unknown {{Max: is 2 at length 1, where other lengths would make it 1: node 'least', and 1 node that needs it; export the model without it, or compile for longer ones: --dim n=2..8}}
func.func @main(%x: tensor<8x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "n"} {
  %two = onnx.constant dense<2> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<8x4xf32>) -> !onnx.unknown
  %least = onnx.node "Max"(%n, %two) {node = "least"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "Add"(%least, %least) {node = "y"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_7(%x: tensor<7x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %two = onnx.constant dense<2> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<7x4xf32>) -> !onnx.unknown
  %least = onnx.node "Max"(%n, %two) {node = "least"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "Add"(%least, %least) {node = "y"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_1(%x: tensor<1x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 1>, onnx.folded_length_of = @main} {
  %two = onnx.constant dense<2> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<1x4xf32>) -> !onnx.unknown
  %least = onnx.node "Max"(%n, %two) {node = "least"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "Add"(%least, %least) {node = "y"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// expected-error@unknown {{Squeeze: has one of 1 at length 1, and a result of 2 dimensions at others: node 'squeezed'; export the model without it, or compile for longer ones: --dim n=2..8}}
func.func @main(%x: tensor<8x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "n"} {
  %y = onnx.node "Squeeze"(%x) {node = "squeezed"} : (tensor<8x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_7(%x: tensor<7x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %y = onnx.node "Squeeze"(%x) {node = "squeezed"} : (tensor<7x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_1(%x: tensor<1x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 1>, onnx.folded_length_of = @main} {
  %y = onnx.node "Squeeze"(%x) {node = "squeezed"} : (tensor<1x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// expected-error@unknown {{Slice: has as extent 0 1 at length 1, where other lengths would make it 2: node 'tail'; export the model without it, or compile for longer ones: --dim n=2..8}}
func.func @main(%x: tensor<8x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "n"} {
  %from = onnx.constant dense<-2> : tensor<1xi64>
  %to = onnx.constant dense<100> : tensor<1xi64>
  %y = onnx.node "Slice"(%x, %from, %to) {node = "tail"} : (tensor<8x4xf32>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_7(%x: tensor<7x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %from = onnx.constant dense<-2> : tensor<1xi64>
  %to = onnx.constant dense<100> : tensor<1xi64>
  %y = onnx.node "Slice"(%x, %from, %to) {node = "tail"} : (tensor<7x4xf32>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_1(%x: tensor<1x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 1>, onnx.folded_length_of = @main} {
  %from = onnx.constant dense<-2> : tensor<1xi64>
  %to = onnx.constant dense<100> : tensor<1xi64>
  %y = onnx.node "Slice"(%x, %from, %to) {node = "tail"} : (tensor<1x4xf32>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

// expected-error@unknown {{Slice: has as extent 0 1 at length 1, where other lengths would make it 2: node 'end'; export the model without it, or compile for longer ones: --dim n=2..8}}
func.func @main(%x: tensor<8x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "n"} {
  %two = onnx.constant dense<2> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<8x4xf32>) -> !onnx.unknown
  %unread = onnx.node "Max"(%n, %two) {node = "unread"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %nor = onnx.node "Neg"(%unread) {node = "nor"} : (!onnx.unknown) -> !onnx.unknown
  %least = onnx.node "Max"(%n, %two) {node = "least"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %same = onnx.node "Min"(%least, %n) {node = "same"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %from = onnx.constant dense<-2> : tensor<1xi64>
  %to = onnx.constant dense<100> : tensor<1xi64>
  %y = onnx.node "Slice"(%x, %from, %to) {node = "end"} : (tensor<8x4xf32>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_7(%x: tensor<7x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %two = onnx.constant dense<2> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<7x4xf32>) -> !onnx.unknown
  %unread = onnx.node "Max"(%n, %two) {node = "unread"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %nor = onnx.node "Neg"(%unread) {node = "nor"} : (!onnx.unknown) -> !onnx.unknown
  %least = onnx.node "Max"(%n, %two) {node = "least"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %same = onnx.node "Min"(%least, %n) {node = "same"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %from = onnx.constant dense<-2> : tensor<1xi64>
  %to = onnx.constant dense<100> : tensor<1xi64>
  %y = onnx.node "Slice"(%x, %from, %to) {node = "end"} : (tensor<7x4xf32>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_1(%x: tensor<1x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 1>, onnx.folded_length_of = @main} {
  %two = onnx.constant dense<2> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<1x4xf32>) -> !onnx.unknown
  %unread = onnx.node "Max"(%n, %two) {node = "unread"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %nor = onnx.node "Neg"(%unread) {node = "nor"} : (!onnx.unknown) -> !onnx.unknown
  %least = onnx.node "Max"(%n, %two) {node = "least"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %same = onnx.node "Min"(%least, %n) {node = "same"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %from = onnx.constant dense<-2> : tensor<1xi64>
  %to = onnx.constant dense<100> : tensor<1xi64>
  %y = onnx.node "Slice"(%x, %from, %to) {node = "end"} : (tensor<1x4xf32>, tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

func.func private @negated(%x: !onnx.unknown) -> !onnx.unknown {
  %y = onnx.node "Neg"(%x) {node = "negated"} : (!onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func private @itself(%x: !onnx.unknown) -> !onnx.unknown {
  return %x : !onnx.unknown
}
// expected-error@unknown {{If: has as condition 1 at length 1, where other lengths would make it 0: node 'branch'; export the model without it, or compile for longer ones: --dim n=2..8}}
func.func @main(%x: tensor<8x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "n"} {
  %one = onnx.constant dense<1> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<8x4xf32>) -> !onnx.unknown
  %c = onnx.node "Equal"(%n, %one) {node = "c"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %unread = onnx.node "If"(%c, %n) with {then_branch = @negated, else_branch = @itself} {node = "unread"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %y = onnx.node "If"(%c, %x) with {then_branch = @negated, else_branch = @itself} {node = "branch"} : (!onnx.unknown, tensor<8x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_7(%x: tensor<7x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %one = onnx.constant dense<1> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<7x4xf32>) -> !onnx.unknown
  %c = onnx.node "Equal"(%n, %one) {node = "c"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %unread = onnx.node "If"(%c, %n) with {then_branch = @negated, else_branch = @itself} {node = "unread"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %y = onnx.node "If"(%c, %x) with {then_branch = @negated, else_branch = @itself} {node = "branch"} : (!onnx.unknown, tensor<7x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_1(%x: tensor<1x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 1>, onnx.folded_length_of = @main} {
  %one = onnx.constant dense<1> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<1x4xf32>) -> !onnx.unknown
  %c = onnx.node "Equal"(%n, %one) {node = "c"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %unread = onnx.node "If"(%c, %n) with {then_branch = @negated, else_branch = @itself} {node = "unread"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  %y = onnx.node "If"(%c, %x) with {then_branch = @negated, else_branch = @itself} {node = "branch"} : (!onnx.unknown, tensor<1x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}

// -----

func.func private @twice(%trip: tensor<i64>, %goes: tensor<i1>, %x: !onnx.unknown) -> (tensor<i1>, !onnx.unknown) {
  %y = onnx.node "Add"(%x, %x) {node = "twice"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
  return %goes, %y : tensor<i1>, !onnx.unknown
}
// expected-error@unknown {{Loop: has as trips 2 at length 1, where other lengths would make it 1: node 'trips'; export the model without it, or compile for longer ones: --dim n=2..8}}
func.func @main(%x: tensor<8x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 8>, onnx.length_name = "n"} {
  %one = onnx.constant dense<1> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<8x4xf32>) -> !onnx.unknown
  %none = onnx.none
  %c = onnx.node "Equal"(%n, %one) {node = "c"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %more = onnx.node "Cast"(%c) with {to = 7 : i64} {node = "more"} : (!onnx.unknown) -> !onnx.unknown
  %trips = onnx.node "Add"(%more, %one) {node = "count"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "Loop"(%trips, %none, %x) with {body = @twice, captured = 0 : i64} {node = "trips"} : (!onnx.unknown, none, tensor<8x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_7(%x: tensor<7x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 7, 7>, onnx.length_of = @main} {
  %one = onnx.constant dense<1> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<7x4xf32>) -> !onnx.unknown
  %none = onnx.none
  %c = onnx.node "Equal"(%n, %one) {node = "c"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %more = onnx.node "Cast"(%c) with {to = 7 : i64} {node = "more"} : (!onnx.unknown) -> !onnx.unknown
  %trips = onnx.node "Add"(%more, %one) {node = "count"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "Loop"(%trips, %none, %x) with {body = @twice, captured = 0 : i64} {node = "trips"} : (!onnx.unknown, none, tensor<7x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @at_1(%x: tensor<1x4xf32>) -> !onnx.unknown
    attributes {onnx.length = array<i64: 1, 1>, onnx.folded_length_of = @main} {
  %one = onnx.constant dense<1> : tensor<1xi64>
  %n = onnx.node "Shape"(%x) with {end = 1 : i64} {node = "n"} : (tensor<1x4xf32>) -> !onnx.unknown
  %none = onnx.none
  %c = onnx.node "Equal"(%n, %one) {node = "c"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %more = onnx.node "Cast"(%c) with {to = 7 : i64} {node = "more"} : (!onnx.unknown) -> !onnx.unknown
  %trips = onnx.node "Add"(%more, %one) {node = "count"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "Loop"(%trips, %none, %x) with {body = @twice, captured = 0 : i64} {node = "trips"} : (!onnx.unknown, none, tensor<1x4xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
