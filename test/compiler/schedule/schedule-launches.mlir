// RUN: wse-opt %s --wsec-place --wsec-route --wse-schedule-launches --wse-verify-scheduled | FileCheck %s

// Buffers begin behind the code, which begins at byte 1024.
// 2 features x 4 tokens x 4 bytes = 32 bytes in every PE.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

// CHECK-LABEL: wse.program @main state(scheduled)
// CHECK-SAME: sram_owner = "{{[a-z]}}", sram_peak = {{[0-9]+}} : i64
wse.program @main state(selected) mesh(4x2) machine("{\"base\": \"wse2\", \"runtime_bytes\": 1024}") {
  region @r shape(4x2)
  input @x : tensor<8x8xf32>
  parameter @g = dense<1.0> : tensor<8xf32>
  // Its words begin to flow when the store has them.
  // CHECK: load @x on @r {address = [[#%d,X:]] : i64, flows = [#wse.flow<@channel slot 0 cycles [[LATENCY:[0-9]+]] to [[NEXT:[0-9]+]] ahead 6>], {{.*}}slot = 0 : i64{{.*}}, window = array<i64: 0, [[END:[0-9]+]]>}
  %x = load @x on @r {nodes = ["x"]} : tensor<1x8x8xf32, #tokens>

  // Those of the next kernel follow, which may all enter while the load still runs.
  // CHECK: layer_norm {{.*}} on @r {address = [[#X+32]] : i64, flows = [#wse.flow<@channel slot 1 cycles [[NEXT]] to {{[0-9]+}} ahead 4>], {{.*}}scratch_address = [[#X+96]] : i64, scratch_bytes = {{[0-9]+}} : i64, slot = 1 : i64
  %a = layer_norm %x scale #wse.weight<@g : tensor<8xf32>> epsilon(1.0e-5) on @r {nodes = ["a"]} : tensor<1x8x8xf32, #tokens>

  // What is negated is dead afterwards: the result takes its place.
  // CHECK: elementwise{{.*}} on @r {address = [[#X+32]] : i64, {{.*}}slot = 2 : i64
  %b = elementwise(%a) on @r {nodes = ["b"]} : (tensor<1x8x8xf32, #tokens>) -> tensor<1x8x8xf32, #tokens> {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    wse.yield %n : f32
  }

  // %x still lives.
  // CHECK: elementwise{{.*}} on @r {address = [[#X+32]] : i64, {{.*}}slot = 3 : i64
  %c = elementwise(%x, %b) on @r {nodes = ["c"]} : (tensor<1x8x8xf32, #tokens>, tensor<1x8x8xf32, #tokens>) -> tensor<1x8x8xf32, #tokens> {
  ^bb0(%e: f32, %f: f32):
    %s = arith.addf %e, %f : f32
    wse.yield %s : f32
  }

  // The operand is read again after the result has been written to.
  // CHECK: elementwise{{.*}} on @r {address = [[#X+64]] : i64, {{.*}}slot = 4 : i64
  %d = elementwise(%c) on @r {nodes = ["d"]} : (tensor<1x8x8xf32, #tokens>) -> tensor<1x8x8xf32, #tokens> {
  ^bb0(%e: f32):
    %s = math.exp %e : f32
    %t = arith.addf %s, %e : f32
    wse.yield %t : f32
  }
  // CHECK: store {{.*}}slot = 5 : i64
  store %x to "x" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
  // CHECK: store {{.*}}slot = 6 : i64
  store %d to "d" on @r : tensor<1x8x8xf32, #tokens> to tensor<8x8xf32>
}
