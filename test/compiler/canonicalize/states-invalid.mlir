// RUN: wse-opt %s --split-input-file --wsec-infer --wsec-canonicalize --verify-diagnostics

// What is done with a state besides writing, reading and handing it on.

module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{concat: reads the state 'k' before it is written: node 'join'; export the cache as TensorScatter(past, new, write_indices), whose result is the present and what Attention reads, or leave it out of --states}}
// expected-error@unknown {{what is returned as the present of a state is not what was written to it: state 'k'; export the cache as TensorScatter(past, new, write_indices), whose result is the present and what Attention reads, or leave it out of --states}}
func.func @concat(%x: tensor<1x1x8xf32>, %k: tensor<1x64x8xf32> {onnx.state = "k"}) -> (!onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "Concat"(%k, %x) with {axis = 1 : i64} {node = "join"} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}

// -----

module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{TensorScatter: writes to a state at computed places: node 'write'; make write_indices an input of the model, of shape [1]}}
func.func @computed(%x: tensor<1x1x8xf32>, %at: tensor<1xi64>, %k: tensor<1x64x8xf32> {onnx.state = "k"}) -> (!onnx.unknown {onnx.state = "k"}) {
  %i = onnx.node "Add"(%at, %at) : (tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  %y = onnx.node "TensorScatter"(%k, %x, %i) with {axis = 1 : i64} {node = "write"} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, !onnx.unknown) -> !onnx.unknown
  return %y : !onnx.unknown
}
}

// -----

module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{TensorScatter: writes to a state in a circle: node 'write'; take mode="linear", and a capacity for all tokens}}
func.func @circular(%x: tensor<1x1x8xf32>, %at: tensor<1xi64>, %k: tensor<1x64x8xf32> {onnx.state = "k"}) -> (!onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 1 : i64, mode = "circular"} {node = "write"} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}

// -----

module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{TensorScatter: writes to a state that is no float: node 'write'; export caches as floats, or leave --states out}}
func.func @integers(%x: tensor<1x1x8xi8>, %at: tensor<1xi64>, %k: tensor<1x64x8xi8> {onnx.state = "k"}) -> (!onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 1 : i64} {node = "write"} : (tensor<1x64x8xi8>, tensor<1x1x8xi8>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}

// -----

module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{TensorScatter: writes along axis 2 of a state of shape 1x64x8, expected the tokens of [batch, tokens, features] or [batch, heads, tokens, size]: node 'write'}}
func.func @features(%x: tensor<1x64x1xf32>, %at: tensor<1xi64>, %k: tensor<1x64x8xf32> {onnx.state = "k"}) -> (!onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 2 : i64} {node = "write"} : (tensor<1x64x8xf32>, tensor<1x64x1xf32>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}

// -----

// A sum of the whole state, and arithmetic with the position.
module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{reduce sum: computes with the state 'k', which attention only reads: node 'sum'; export the cache as TensorScatter(past, new, write_indices), whose result is the present and what Attention reads, or leave it out of --states}}
// expected-error@unknown {{cast: computes with the argument of the entry that says where states are written: node 'angle'; make what it computes an input of the model, such as position_ids}}
func.func @used(%x: tensor<1x1x8xf32>, %at: tensor<1xi64>, %k: tensor<1x64x8xf32> {onnx.state = "k"}) -> (!onnx.unknown, !onnx.unknown, !onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 1 : i64} {node = "write"} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  %axis = onnx.constant dense<2> : tensor<1xi64>
  %s = onnx.node "ReduceSum"(%y, %axis) {node = "sum"} : (!onnx.unknown, tensor<1xi64>) -> !onnx.unknown
  %c = onnx.node "Cast"(%at) with {to = 1 : i64} {node = "angle"} : (tensor<1xi64>) -> !onnx.unknown
  return %s, %c, %y : !onnx.unknown, !onnx.unknown, !onnx.unknown
}
}

// -----

module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{Attention: does not attend to all tokens of a state up to each query's own: node 'attend'; nonpad_kv_seqlen has to be write_indices + 2, and is_causal 1}}
func.func @not_causal(%x: tensor<1x2x8xf32>, %at: tensor<1xi64>, %k: tensor<1x64x8xf32> {onnx.state = "k"}) -> (!onnx.unknown, !onnx.unknown {onnx.state = "k"}) {
  %none = onnx.none
  %two = onnx.constant dense<2> : tensor<1xi64>
  %y = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 1 : i64} : (tensor<1x64x8xf32>, tensor<1x2x8xf32>, tensor<1xi64>) -> !onnx.unknown
  %length = onnx.node "Add"(%at, %two) : (tensor<1xi64>, tensor<1xi64>) -> !onnx.unknown
  %o = onnx.node "Attention"(%x, %y, %y, %none, %none, %none, %length) with {q_num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "attend"}
      : (tensor<1x2x8xf32>, !onnx.unknown, !onnx.unknown, none, none, none, !onnx.unknown) -> !onnx.unknown
  return %o, %y : !onnx.unknown, !onnx.unknown
}
}

// -----

module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{Attention: attends to a state with a mask: node 'attend'; leave it out, and let nonpad_kv_seqlen and is_causal say what is seen}}
func.func @mask(%x: tensor<1x1x8xf32>, %m: tensor<1x1x1x64xf32>, %at: tensor<1xi64>, %k: tensor<1x64x8xf32> {onnx.state = "k"}) -> (!onnx.unknown, !onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 1 : i64} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  %o = onnx.node "Attention"(%x, %y, %y, %m) with {q_num_heads = 2 : i64, kv_num_heads = 2 : i64} {node = "attend"}
      : (tensor<1x1x8xf32>, !onnx.unknown, !onnx.unknown, tensor<1x1x1x64xf32>) -> !onnx.unknown
  return %o, %y : !onnx.unknown, !onnx.unknown
}
}

// -----

// Two entries that disagree.
// expected-error@unknown {{state 'k' is tensor<1x64x8xf32> in entry @a and tensor<1x32x8xf32> in @b; give it one capacity, which no entry's dimensions change}}
module attributes {onnx.opset = 24 : i64} {
func.func @a(%x: tensor<1x1x8xf32>, %at: tensor<1xi64>, %k: tensor<1x64x8xf32> {onnx.state = "k"}) -> (!onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 1 : i64} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
func.func @b(%x: tensor<1x1x8xf32>, %at: tensor<1xi64>, %k: tensor<1x32x8xf32> {onnx.state = "k"}) -> (!onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 1 : i64} : (tensor<1x32x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}

// -----

module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{past and present of a state differ in shape: state 'k'; both have the capacity}}
func.func @shapes(%x: tensor<1x2x1x4xf32>, %at: tensor<1xi64>, %k: tensor<1x2x64x4xf32> {onnx.state = "k"}) -> (!onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "TensorScatter"(%k, %x, %at) : (tensor<1x2x64x4xf32>, tensor<1x2x1x4xf32>, tensor<1xi64>) -> !onnx.unknown
  %flat = onnx.constant dense<[1, 128, 4]> : tensor<3xi64>
  %z = onnx.node "Reshape"(%y, %flat) : (!onnx.unknown, tensor<3xi64>) -> !onnx.unknown
  return %z : !onnx.unknown
}
}

// -----

// expected-error@unknown {{a state is written twice: state 'k'; join what is written; export the cache as TensorScatter(past, new, write_indices), whose result is the present and what Attention reads, or leave it out of --states}}
module attributes {onnx.opset = 24 : i64} {
func.func @twice(%x: tensor<1x1x8xf32>, %at: tensor<1xi64>, %i: tensor<1xi64>, %k: tensor<1x64x8xf32> {onnx.state = "k"}) -> (!onnx.unknown {onnx.state = "k"}, !onnx.unknown {onnx.state = "k"}) {
  %y = onnx.node "TensorScatter"(%k, %x, %at) with {axis = 1 : i64} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  %z = onnx.node "TensorScatter"(%k, %x, %i) with {axis = 1 : i64} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> !onnx.unknown
  return %y, %z : !onnx.unknown, !onnx.unknown
}
}

// -----

// Two who read a state lie by heads of their own.
module attributes {onnx.opset = 24 : i64} {
// expected-error@unknown {{cached attention: reads the state 'k' as 2 heads, and node 'second' as 4: node 'first'; let all that read a state have its heads, or leave it out of --states and --kv-capacity}}
func.func @heads(%q: tensor<1x1x16xf32>, %x: tensor<1x1x8xf32>, %at: tensor<1xi64> {onnx.argument = array<i64: 0, 63>}, %k: tensor<1x64x8xf32> {onnx.state = "k"}) -> (tensor<1x1x16xf32>, tensor<1x1x16xf32>, tensor<1x64x8xf32> {onnx.state = "k"}) {
  %p = onnx.update %k, %x at %at {node = "write"} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  %y = onnx.cached_attention %q, %p, %p at %at {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32, node = "first"} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
  %z = onnx.cached_attention %q, %p, %p at %at {num_heads = 8 : i64, kv_heads = 4 : i64, scale = 0.5 : f32, node = "second"} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
  return %y, %z, %p : tensor<1x1x16xf32>, tensor<1x1x16xf32>, tensor<1x64x8xf32>
}
}
