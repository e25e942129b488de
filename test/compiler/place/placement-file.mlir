// RUN: split-file %s %t
// RUN: wse-opt %t/program.mlir --wse-place-kernels="placement=%t/moved.json" --wse-verify-placed | FileCheck %s --check-prefix=MOVED
// RUN: wsec %t/program.mlir --placement=%t/moved.json --stop-after=place | FileCheck %s --check-prefix=MOVED

// The file says where regions lie.

// MOVED: region @a shape(4x23) at (7, 598)
// MOVED: region @b shape(2x2) at (20, 0)

// Rules that a file breaks are named, and what is not of this program.
// DEFINE: %{file} =
// DEFINE: %{place} = not wse-opt %t/program.mlir --wse-place-kernels="placement=%t/%{file}" 2>&1 | FileCheck %s
// REDEFINE: %{file} = p1.json
// RUN: %{place} --check-prefix=P1
// P1: p1.json' says nothing of region @b
// REDEFINE: %{file} = p2.json
// RUN: %{place} --check-prefix=P2
// P2: p2.json': P2: region @a, 4x23 at (7,972), leaves the mesh of 750x994
// REDEFINE: %{file} = p3.json
// RUN: %{place} --check-prefix=P3
// P3: p3.json': P3: region @a, 4x23 at (7,597), begins at a row without an I/O channel; the nearest with one are 575 and 598
// REDEFINE: %{file} = p4.json
// RUN: %{place} --check-prefix=P4
// P4: p4.json': P4: region @a, 4x23 at (7,598), and region @b, 2x2 at (10,620), overlap
// P4: program.mlir:[[#]]:{{.*}} note: the region is here
// P4: program.mlir:[[#]]:{{.*}} note: the region is here
// REDEFINE: %{file} = shape.json
// RUN: %{place} --check-prefix=SHAPE
// SHAPE: shape.json': region @a is 4x22, kernels are selected for 4x23; another shape needs the model
// REDEFINE: %{file} = mesh.json
// RUN: %{place} --check-prefix=MESH
// MESH: mesh.json' is of a mesh of 8x8, the program of 750x994
// REDEFINE: %{file} = count.json
// RUN: %{place} --check-prefix=COUNT
// COUNT: count.json' has 1 regions, the program 2
// REDEFINE: %{file} = version.json
// RUN: %{place} --check-prefix=VERSION
// VERSION: version.json' is not of version 1
// REDEFINE: %{file} = machine.json
// RUN: %{place} --check-prefix=MACHINE
// MACHINE: machine.json': its machine has no number 'height'
// REDEFINE: %{file} = regions.json
// RUN: %{place} --check-prefix=REGIONS
// REGIONS: regions.json' has no regions
// REDEFINE: %{file} = name.json
// RUN: %{place} --check-prefix=NAME
// NAME: name.json': region 0 has no name
// REDEFINE: %{file} = number.json
// RUN: %{place} --check-prefix=NUMBER
// NUMBER: number.json': region @a has no number 'y'
// REDEFINE: %{file} = none.json
// RUN: %{place} --check-prefix=NONE
// NONE: {{N|n}}o such file

// Too late, and what rules itself out.
// RUN: wsec %t/program.mlir --stop-after=place -o %t/placed.mlir
// RUN: not wsec %t/placed.mlir --placement=%t/moved.json --stop-after=route 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: there are no regions to be placed between route and route
// RUN: not wsec x.onnx -o x.wafer --region=2x2 --placement=%t/moved.json 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: --region and --placement both say which PEs to use

//--- program.mlir
#a = #wse.dist<rows = [0, 1], columns = [2]>
#b = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @main state(selected) mesh(750x994) machine("wse2") {
  region @a shape(4x23)
  region @b shape(2x2)
  input @x : tensor<3x8xf32>
  %x = load @x on @a {nodes = ["x"]} : tensor<1x3x8xf32, #a>
  %y = load @x on @b {nodes = ["y"]} : tensor<1x3x8xf32, #b>
  store %x to "a" on @a : tensor<1x3x8xf32, #a> to tensor<3x8xf32>
  store %y to "b" on @b : tensor<1x3x8xf32, #b> to tensor<3x8xf32>
}
//--- moved.json
{"version": 1, "machine": {"width": 750, "height": 994}, "regions": [
  {"name": "a", "x": 7, "y": 598, "columns": 4, "rows": 23}, {"name": "b", "x": 20, "y": 0, "columns": 2, "rows": 2}]}
//--- p1.json
{"version": 1, "machine": {"width": 750, "height": 994}, "regions": [
  {"name": "a", "x": 7, "y": 598, "columns": 4, "rows": 23}, {"name": "c", "x": 20, "y": 0, "columns": 2, "rows": 2}]}
//--- p2.json
{"version": 1, "machine": {"width": 750, "height": 994}, "regions": [
  {"name": "a", "x": 7, "y": 972, "columns": 4, "rows": 23}, {"name": "b", "x": 20, "y": 0, "columns": 2, "rows": 2}]}
//--- p3.json
{"version": 1, "machine": {"width": 750, "height": 994}, "regions": [
  {"name": "a", "x": 7, "y": 597, "columns": 4, "rows": 23}, {"name": "b", "x": 20, "y": 0, "columns": 2, "rows": 2}]}
//--- p4.json
{"version": 1, "machine": {"width": 750, "height": 994}, "regions": [
  {"name": "a", "x": 7, "y": 598, "columns": 4, "rows": 23}, {"name": "b", "x": 10, "y": 620, "columns": 2, "rows": 2}]}
//--- shape.json
{"version": 1, "machine": {"width": 750, "height": 994}, "regions": [
  {"name": "a", "x": 7, "y": 598, "columns": 4, "rows": 22}, {"name": "b", "x": 20, "y": 0, "columns": 2, "rows": 2}]}
//--- mesh.json
{"version": 1, "machine": {"width": 8, "height": 8}, "regions": [{"name": "a", "x": 0, "y": 0, "columns": 4, "rows": 23}]}
//--- count.json
{"version": 1, "machine": {"width": 750, "height": 994}, "regions": [{"name": "a", "x": 0, "y": 0, "columns": 4, "rows": 23}]}
//--- version.json
{"version": 2}
//--- machine.json
{"version": 1, "machine": {"width": 750}}
//--- regions.json
{"version": 1, "machine": {"width": 750, "height": 994}, "regions": []}
//--- name.json
{"version": 1, "machine": {"width": 750, "height": 994}, "regions": [{"x": 0}]}
//--- number.json
{"version": 1, "machine": {"width": 750, "height": 994}, "regions": [{"name": "a", "x": 0, "columns": 1, "rows": 2}]}
