// RUN: not wse-opt %s --wse-dump-placement 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not wse-opt %s --wsec-place --wse-dump-placement="file=%t.png" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not wse-opt %s --wsec-place --wse-dump-placement="file=%t.no/such/folder.txt" 2>&1 | FileCheck %s --check-prefix=FILE

// No map of what is not placed, and none that cannot be written.

// STATE: cannot show where a program is placed that is only selected
// FORMAT: expected a name that ends in .txt, .json, .svg or .html
// FILE: cannot write '{{.*}}folder.txt': No such file or directory
wse.program @main state(selected) mesh(8x4) machine("wse2") {
}
