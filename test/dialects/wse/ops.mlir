// RUN: wse-opt %s --verify-roundtrip | FileCheck %s

// Every kernel of a selected program reads back as it is printed.

#split = #wse.dist<rows = [0, 1], columns = [2]>
#heads = #wse.dist<rows = [0, 1], columns = [2 by 3]>
#keys = #wse.dist<rows = [0, replicated over 5], columns = []>
#scores = #wse.dist<rows = [0, 1], columns = []>
#pooled = #wse.dist<rows = [0, 1], columns = [2]>
#cache = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
#entering = #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>
#asking = #wse.dist<rows = [0, 1], columns = [2 by 6 over 2]>

// CHECK: #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>
// CHECK-LABEL: wse.program @every_kernel state(selected) mesh(4x5) machine("wse2")
wse.program @every_kernel state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  // CHECK: region @r shape(4x5){{$}}
  // CHECK: input @ids : tensor<1x6xi64>
  input @ids : tensor<1x6xi64>
  // CHECK: input @heads : tensor<3x6x6xf32>
  input @heads : tensor<3x6x6xf32>
  // CHECK: input @mask : tensor<1x6xf32>
  input @mask : tensor<1x6xf32>
  input @numbers : tensor<6x6xi64>
  // CHECK: intermediate @chosen : tensor<6x2xi32> choose of 8
  intermediate @chosen : tensor<6x2xi32> choose of 8
  parameter @experts = external<"m.data", 528, 1152> : tensor<8x6x6xf32>
  parameter @c = dense<2.0> : tensor<2xf32>
  parameter @wte = external<"m.data", 0, 240> : tensor<10x6xf32>
  parameter @wpe = external<"m.data", 240, 144> : tensor<1x6x6xf32>
  parameter @b = dense<1.0> : tensor<6xf32>
  parameter @g = dense<1.0> : tensor<6xf32>
  parameter @h = dense<0.0> : tensor<6xf32>
  parameter @wq = external<"m.data", 384, 144> : tensor<36xf32>
  parameter @bq = dense<0.0> : tensor<6xf32>
  parameter @cos = external<"m.data", 240, 48> : tensor<1x6x2xf32>
  // CHECK: alias "copy" = @mask : tensor<6x1xf32>
  alias "copy" = @mask : tensor<6x1xf32>
  // CHECK: alias "two" = <@c : tensor<2xf32>> : tensor<2xf32>
  alias "two" = <@c : tensor<2xf32>> : tensor<2xf32>

  // CHECK: %word = gather <@wte : tensor<10x6xf32>> at @ids
  %word = gather <@wte : tensor<10x6xf32>> at @ids on @r {nodes = ["word"]} : tensor<1x6x6xf32, #split>
  // CHECK: %wpe = load <@wpe : tensor<1x6x6xf32>>
  %position = load <@wpe : tensor<1x6x6xf32>> on @r {nodes = ["position"]} : tensor<1x6x6xf32, #split>
  // CHECK: %mask = load @mask strides [6, 0, 1]
  %mask = load @mask strides [6, 0, 1] on @r {nodes = ["mask"]} : tensor<1x1x6xf32, #keys>
  // CHECK: %mask_0 = load @mask strides [0, 1, 0]
  %bias = load @mask strides [0, 1, 0] on @r {nodes = ["bias"]} : tensor<1x6x6xf32, #scores>

  // CHECK: %embed = elementwise(%word, %wpe) vectors [#wse.weight<@b : tensor<6xf32>>] on @r {nodes = ["embed"]}
  %embed = elementwise(%word, %position) vectors [#wse.weight<@b : tensor<6xf32>>] on @r {nodes = ["embed"]} : (tensor<1x6x6xf32, #split>, tensor<1x6x6xf32, #split>) -> tensor<1x6x6xf32, #split> {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %sum = arith.addf %a, %b : f32
    %shifted = arith.addf %sum, %c : f32
    // CHECK: wse.yield
    wse.yield %shifted : f32
  }

  // CHECK: %ln = layer_norm %embed scale <@g : tensor<6xf32>> bias <{{.*}}> epsilon(1.000000e-05)
  %ln = layer_norm %embed scale <@g : tensor<6xf32>> bias <@h : tensor<6xf32>> epsilon(1.0e-5) on @r {nodes = ["ln"]} : tensor<1x6x6xf32, #split>
  // CHECK: %rms = rms_norm %ln scale
  %rms = rms_norm %ln scale <@g : tensor<6xf32>> epsilon(1.0e-5) on @r {nodes = ["rms"]} : tensor<1x6x6xf32, #split>
  // CHECK: %q = matmul %rms weight <@wq : tensor<6x6xf32> view 0 strides [1, 6]> bias {{.*}} variant(reduce)
  %q = matmul %rms weight <@wq : tensor<6x6xf32> view 0 strides [1, 6]> bias <@bq : tensor<6xf32>> variant(reduce) on @r {nodes = ["q"]} : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #heads>
  // CHECK: %expert = matmul %rms weight <@experts : tensor<6x6xf32>> variant(stationary) entry <@chosen at 3 of 8 step 36>
  %expert = matmul %rms weight <@experts : tensor<6x6xf32>> variant(stationary) entry <@chosen at 3 of 8 step 36> on @r {nodes = ["expert"]} : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #heads>
  // CHECK: %sparse = sparse_matmul %rms weight <@wq : tensor<6x6xf32>> bias {{.*}} sparsity <keep 1 of 4 rest 1 random seed 3>
  %sparse = sparse_matmul %rms weight <@wq : tensor<6x6xf32>> bias <@bq : tensor<6xf32>> sparsity <keep 1 of 4 rest 1 random seed 3> on @r {nodes = ["sparse"]} : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #heads>
  // CHECK: %grouped = sparse_matmul %rms weight <@wq : tensor<6x6xf32>> sparsity <keep 1 of 4 rest 1 topk seed 3> transposed
  %grouped = sparse_matmul %rms weight <@wq : tensor<6x6xf32>> sparsity <keep 1 of 4 rest 1 topk seed 3> transposed on @r {nodes = ["grouped"]} : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #heads>
  // CHECK: %heads = matmul %rms weight <@heads : tensor<3x6x6xf32>> variant(broadcast)
  %heads = matmul %rms weight <@heads : tensor<3x6x6xf32>> variant(broadcast) on @r {nodes = ["heads"]} : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
  // CHECK: %attend = attention %q, %q, %q masks %mask, %mask_0 heads(2) scale(5.000000e-01) terms [#onnx.term<add operand 0>, #onnx.term<replace operand 1 later 0xFF800000 : f32>]
  %attend = attention %q, %q, %q masks %mask, %bias heads(2) scale(0.5) terms [#onnx.term<add operand 0>, #onnx.term<replace operand 1 later 0xFF800000 : f32>] on @r {nodes = ["attend"]} : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads> masks tensor<1x1x6xf32, #keys>, tensor<1x6x6xf32, #scores> -> tensor<1x6x6xf32, #heads>
  // CHECK: %attend_backward:3 = attention_gradient %q, %q, %q, %attend, %q heads(2) scale(5.000000e-01) terms [#onnx.term<replace later 0xFF800000 : f32>]
  %gradients:3 = attention_gradient %q, %q, %q, %attend, %q heads(2) scale(0.5) terms [#onnx.term<replace later 0xFF800000 : f32>] on @r {nodes = ["attend/backward"]} : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>
  // CHECK: %repeated = redistribute %attend repeat(2)
  %repeated = redistribute %attend repeat(2) on @r {nodes = ["repeated"]} : tensor<1x6x6xf32, #heads> -> tensor<1x6x12xf32, #wse.dist<rows = [0, 1], columns = [2 by 6]>>
  // CHECK: %turned = rotary %attend, %{{.*}}, %{{.*}} dim(2) interleaved on @r
  %angles = load <@cos : tensor<1x6x2xf32>> on @r {nodes = ["angles"]} : tensor<1x6x2xf32, #scores>
  %turned = rotary %attend, %angles, %angles dim(2) interleaved on @r {nodes = ["turned"]} : tensor<1x6x6xf32, #heads>, tensor<1x6x2xf32, #scores>
  // CHECK: %capped = attention %turned, %turned, %turned masks %repeated heads(2) scale(5.000000e-01) softcap(2.000000e+00) terms [#onnx.term<add operand 0 later -1.000000e+04 : f32>, #onnx.term<raise to -3.40282347E+38 : f32>, #onnx.term<zero_nan>] on @r
  %capped = attention %turned, %turned, %turned masks %repeated heads(2) scale(0.5) softcap(2.0) terms [#onnx.term<add operand 0 later -1.0e4 : f32>, #onnx.term<raise to -3.40282347e38 : f32>, #onnx.term<zero_nan>] on @r {nodes = ["capped"]} : tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads>, tensor<1x6x6xf32, #heads> masks tensor<1x6x12xf32, #wse.dist<rows = [0, 1], columns = [2 by 6]>> -> tensor<1x6x6xf32, #heads>
  // CHECK: %normal = rms_norm %capped scale {{.*}} epsilon(1.000000e-05) by_head on @r
  %normal = rms_norm %capped scale <@g : tensor<6xf32>> epsilon(1.0e-5) by_head on @r {nodes = ["normal"]} : tensor<1x6x6xf32, #heads>
  // CHECK: %normal_backward:2 = norm_gradient %normal, %capped scale {{.*}} epsilon(1.000000e-05) centred on @r
  %of_normal:2 = norm_gradient %normal, %capped scale <@g : tensor<6xf32>> epsilon(1.0e-5) centred on @r {nodes = ["normal/backward"]} : tensor<1x6x6xf32, #heads>
  // CHECK: %part = slice_heads %normal start(1) on @r
  %part = slice_heads %normal start(1) on @r {nodes = ["part"]} : tensor<1x6x6xf32, #heads> -> tensor<1x6x4xf32, #wse.dist<rows = [0, 1], columns = [2 by 2]>>
  // CHECK: %move = redistribute %attend
  %move = redistribute %attend on @r {nodes = ["move"]} : tensor<1x6x6xf32, #heads> -> tensor<1x6x6xf32, #split>
  // CHECK: %probabilities = softmax %move
  %probabilities = softmax %move on @r {nodes = ["probabilities"]} : tensor<1x6x6xf32, #split>
  // CHECK: %pool = reduce_tokens mean %probabilities
  %pool = reduce_tokens mean %probabilities on @r {nodes = ["pool"]} : tensor<1x6x6xf32, #split> -> tensor<1x1x6xf32, #pooled>
  // CHECK: %sums = running_sum %probabilities exclusive reverse on @r
  %sums = running_sum %probabilities exclusive reverse on @r {nodes = ["sums"]} : tensor<1x6x6xf32, #split>
  // CHECK: %[[ONE:.*]] = load @mask
  %one = load @mask on @r {nodes = ["one"]} : tensor<1x1x6xf32, #split>
  // CHECK: %{{.*}}:2 = products %[[ONE]] weights [#wse.weight<@wq : tensor<6x6xf32>>, #wse.weight<@wq : tensor<6x6xf32>>] on @r
  %both:2 = products %one weights [#wse.weight<@wq : tensor<6x6xf32>>, #wse.weight<@wq : tensor<6x6xf32>>] on @r {nodes = ["k", "v"]} : tensor<1x1x6xf32, #split> -> tensor<1x1x6xf32, #split>, tensor<1x1x6xf32, #heads>
  // CHECK: %best:2 = top_k %move smallest on @r
  %best:2 = top_k %move smallest on @r {nodes = ["best"]} : tensor<1x6x6xf32, #split> -> tensor<1x6x3xi32, #scores>, tensor<1x6x3xf32, #scores>
  // CHECK: %numbers = load @numbers
  %numbers = load @numbers on @r {nodes = ["numbers"]} : tensor<1x6x6xi32, #split>
  // CHECK: %count = running_sum %numbers no_wrap on @r
  %count = running_sum %numbers no_wrap on @r {nodes = ["count"]} : tensor<1x6x6xi32, #split>
  // CHECK: %of_these:2 = top_k %move numbers %numbers on @r
  %of_these:2 = top_k %move numbers %numbers on @r {nodes = ["of_these"]} : tensor<1x6x6xf32, #split> numbers tensor<1x6x6xi32, #split> -> tensor<1x6x1xi32, #scores>, tensor<1x6x1xf32, #scores>
  // CHECK: store %pool to "pooled"
  store %pool to "pooled" on @r : tensor<1x1x6xf32, #pooled> to tensor<1x6xf32>
  // CHECK: store %probabilities to "half" at 6
  store %probabilities to "half" at 6 on @r : tensor<1x6x6xf32, #split> to tensor<6x12xf32>
}

// CHECK-LABEL: wse.program @two_regions
wse.program @two_regions state(selected) mesh(8x5) machine("wse2") {
  region @a shape(4x5)
  region @b shape(3x5)
  input @x : tensor<6x6xf32>
  %x = load @x on @a {nodes = ["x"]} : tensor<1x6x6xf32, #split>
  // CHECK: %moved = transfer %x on @b {nodes = ["moved"]} : !tokens_1x6x6_{{.*}} -> !tokens_1x6x6_
  %moved = transfer %x on @b {nodes = ["moved"]} : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #heads>
}

// CHECK-LABEL: wse.program @wishes
wse.program @wishes state(selected) mesh(8x5) machine("wse2") {
  region @a shape(4x5)
  region @b shape(2x5)
  // CHECK: keep_out shape(1x2) at (7, 0)
  keep_out shape(1x2) at (7, 0)
  // CHECK: near @a to @b weight 3
  near @a to @b weight 3
  // CHECK: near @a to (2, 0){{$}}
  near @a to (2, 0)
  // CHECK: near @b to east
  near @b to east
}

// CHECK-LABEL: wse.program @entries
wse.program @entries state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x6xf32>
  // CHECK: parameter @w.resident = <@w : tensor<1x6x6xf32> view 0 strides [0, 1, 6]> resident on @r as !tokens_1x6x6_
  parameter @w.resident = <@w : tensor<1x6x6xf32> view 0 strides [0, 1, 6]> resident on @r as tensor<1x6x6xf32, #split>
  // CHECK: parameter @table = external<"m.data", 0, 240> : tensor<10x6xf32>{{$}}
  parameter @table = external<"m.data", 0, 240> : tensor<10x6xf32>
  // CHECK: state @k on @r : !tokens_1x6x6_
  state @k on @r : tensor<1x6x6xf32, #split>
  // CHECK: state @keys on @r : !tokens_1x9x6_
  state @keys on @r : tensor<1x9x6xf32, #cache>
  state @values on @r : tensor<1x9x6xf32, #cache>
  state @beams on @r : tensor<2x9x6xf32, #cache>
  parameter @w = external<"m.data", 240, 144> : tensor<36xf32>
  parameter @t = dense<1.0> : tensor<1x2x6xf32>
  parameter @q = dense<1.0> : tensor<1x2x12xf32>
  parameter @sinks = dense<1.0> : tensor<4xf32>
  // CHECK: entry @load {
  // CHECK-NEXT: fill @w.resident on @r {nodes = ["fc"]}
  entry @load {
    fill @w.resident on @r {nodes = ["fc"]}
  }
  // CHECK: entry @step(%position from 0 to 5, %other from -1 to 1) {
  entry @step(%position from 0 to 5, %other from -1 to 1) {
    %tokens = load <@t : tensor<1x2x6xf32>> on @r : tensor<1x2x6xf32, #entering>
    // CHECK: update @keys at %position with %t on @r
    update @keys at %position with %tokens on @r {nodes = ["cache"]} : tensor<1x2x6xf32, #entering>
    update @values at %position with %tokens on @r {nodes = ["cache"]} : tensor<1x2x6xf32, #entering>
    %q = load <@q : tensor<1x2x12xf32>> on @r : tensor<1x2x12xf32, #asking>
    // CHECK: %attend = cached_attention %q keys @keys values @values at %position heads(4, 2) scale(5.000000e-01) on @r {nodes = ["attend"]} : !tokens_1x2x12_{{.*}} -> !tokens_1x2x12_
    %attend = cached_attention %q keys @keys values @values at %position heads(4, 2) scale(0.5) on @r {nodes = ["attend"]} : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
    %s = load <@sinks : tensor<1x1x4xf32> view 0 strides [0, 0, 1]> on @r : tensor<1x1x4xf32, #wse.dist<rows = [0, 1], columns = []>>
    // CHECK: cached_attention %q keys @keys values @values at %position heads(4, 2) scale(5.000000e-01) sinks(%sinks : !tokens_1x1x4_replicated) on @r : !tokens_1x2x12_
    %sunk = cached_attention %q keys @keys values @values at %position heads(4, 2) scale(0.5) sinks(%s : tensor<1x1x4xf32, #wse.dist<rows = [0, 1], columns = []>>) on @r : tensor<1x2x12xf32, #asking> -> tensor<1x2x12xf32, #asking>
  }
  // CHECK: entry @next(%position from 0 to 2147483647)
  entry @next(%position from 0 to 2147483647) {
    // CHECK: %{{.*}} = recall @k at %position on @r {nodes = ["scan"]} : !tokens_1x6x6_
    %k = recall @k at %position on @r {nodes = ["scan"]} : tensor<1x6x6xf32, #split>
    update @k with %k on @r {nodes = ["scan"]} : tensor<1x6x6xf32, #split>
  }
  // CHECK: entry @reorder(%first from 0 to 1, %second from 0 to 1, %there from 0 to 9) {
  entry @reorder(%first from 0 to 1, %second from 0 to 1, %there from 0 to 9) {
    // CHECK-NEXT: reorder @beams from %first, %second at %there on @r {nodes = ["cache"]}
    reorder @beams from %first, %second at %there on @r {nodes = ["cache"]}
  }
  // CHECK: entry @show {
  entry @show {
    // CHECK: %keys = recall @keys
    %keys = recall @keys on @r {nodes = ["cache"]} : tensor<1x9x6xf32, #cache>
    store %keys to "keys" on @r : tensor<1x9x6xf32, #cache> to tensor<9x6xf32>
  }
  %x = load @x on @r {nodes = ["x"]} : tensor<1x6x6xf32, #split>
  // CHECK: update @k with %x on @r {nodes = ["cache"]} : !tokens_1x6x6_
  update @k with %x on @r {nodes = ["cache"]} : tensor<1x6x6xf32, #split>
  // CHECK: %k = recall @k on @r {nodes = ["cache"]} : !tokens_1x6x6_
  %k = recall @k on @r {nodes = ["cache"]} : tensor<1x6x6xf32, #split>
  // CHECK: weight <@w.resident : tensor<6x6xf32> view 0 strides [1, 6]> variant(stationary)
  %y = matmul %k weight <@w.resident : tensor<6x6xf32> view 0 strides [1, 6]> variant(stationary) on @r {nodes = ["fc"]} : tensor<1x6x6xf32, #split> -> tensor<1x6x6xf32, #split>
  store %y to "y" on @r : tensor<1x6x6xf32, #split> to tensor<6x6xf32>
  // CHECK: weight_gradient %fc by %fc to "w.gradient" kept_first on @r {nodes = ["fc/backward"]}
  weight_gradient %y by %y to "w.gradient" kept_first on @r {nodes = ["fc/backward"]} : tensor<1x6x6xf32, #split>, tensor<1x6x6xf32, #split> to tensor<6x6xf32>
}

// CHECK-LABEL: wse.program @later_states state(scheduled)
// CHECK-SAME: sram_owner = "x", sram_peak = 4992 : i64
// CHECK-NEXT: region @r shape(4x1) at (0, 0)
wse.program @later_states state(scheduled) mesh(4x1) machine("wse2") attributes {sram_owner = "x", sram_peak = 4992 : i64} {
  region @r shape(4x1) at (0, 0)
  input @x : tensor<1x6xf32>
  // CHECK: stream @column column rows <groups = 1, pitch = 1, used = 1> colors [2] rules [#wse.rule<color 2, <x = 0 to 4, y = 0 to 1>, ramp to south|ramp>]
  stream @column column rows <groups = 1, pitch = 1, used = 1> colors [2] rules [#wse.rule<color 2, <x = 0 to 4, y = 0 to 1>, ramp to south|ramp>]
  // CHECK: stream @row row_west colors [3, 4] rules [#wse.rule<color 3, <x = 1 to 4 step 2, y = 0 to 1>, ramp to west>]
  stream @row row_west colors [3, 4] rules [#wse.rule<color 3, <x = 1 to 4 step 2, y = 0 to 1>, ramp to west>]
  // CHECK: load @x on @r {address = 4416 : i64, nodes = ["x"], scratch_address = 8192 : i64, scratch_bytes = 64 : i64, slot = 0 : i64, streams = [@column]}
  %x = load @x on @r {address = 4416 : i64, nodes = ["x"], scratch_address = 8192 : i64, scratch_bytes = 64 : i64, slot = 0 : i64, streams = [@column]} : tensor<1x1x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
}

#rows = #wse.dist<rows = [0], columns = [1]>
#joined = #wse.dist<rows = [0, (1, 2)], columns = [3 by 4 over 2]>
#one = #wse.dist<rows = [replicated over 5], columns = []>

// Tensors of any rank; what makes up batch, tokens and features is in the list.

// CHECK-LABEL: wse.program @any_rank
wse.program @any_rank state(selected) mesh(4x5) machine("wse2") {
  region @r shape(4x5)
  input @x : tensor<6x8xf32>
  input @y : tensor<2x3x4x8xf32>
  input @z : tensor<8xf32>
  // CHECK: load @x on @r : !tokens_6x8_balanced
  %x = load @x on @r : tensor<6x8xf32, #rows>
  // CHECK: load @y on @r : !tokens_2x3x4x8_heads
  %y = load @y on @r : tensor<2x3x4x8xf32, #joined>
  // CHECK: load @z on @r : !tokens_1x8_replicated
  %z = load @z on @r : tensor<1x8xf32, #one>
}
