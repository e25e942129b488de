#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The large programs on few PEs give what numpy gives.

  values.py [PROGRAM ...]
"""

import sys

import bicgstab
import examples
import llama
import meshgemm
import prefill
import rows
import summa
from table import check


def decode():
    shape = llama.Shape(6, 2, 4, 6)
    values = llama.random_values(shape)
    return llama.decode(shape, values), llama.reference(shape, values), 2e-2


def prefill_layer():
    shape = prefill.Shape(4, 4, 3, 5)
    values = prefill.random_values(shape)
    return prefill.prefill(shape, values), prefill.reference(shape, values), 2e-2


def solver():
    program, (p, _) = bicgstab.iteration(bicgstab.Shape(7, 5, 8))
    return program, p, 2e-2


POINTS = bicgstab.Shape(5, 5, 5)
# Name -> program, expected values, tolerance as a part of the largest value.
PROGRAMS = {
    "decode": decode,
    "prefill": prefill_layer,
    "meshgemm-4": lambda: (*meshgemm.meshgemm(4, 3, 2, 5), 0),
    "meshgemm-10": lambda: (*meshgemm.meshgemm(10, 2, 3, 4), 0),
    "summa": lambda: (*summa.summa(6, 5), 0),
    "bicgstab": solver,
    "sparse-product": lambda: (*examples.sparse_product(POINTS), 2e-2),
    "power-method": lambda: (*examples.power_method(POINTS, 3), 2e-2),
    "gradients": lambda: (*examples.conjugate_gradients(POINTS, 2), 2e-2),
    "preconditioned": lambda: (*examples.conjugate_gradients(POINTS, 2, True), 2e-2),
    "matrix-vector": lambda: (*examples.matrix_vector(4, 3, 5), 0),
    "residual": lambda: (*examples.residual(2, 3, 2), 0),
    "mesh-gemv": lambda: (*examples.mesh_gemv(6, 5, 3), 0),
    "game-of-life": lambda: (*examples.game_of_life(7, 4), 0),
    "wide-multiplication": lambda: (*examples.wide_multiplication(64), 0),
    "cholesky": lambda: (*examples.cholesky(3, 4), 1e-5),
    "ring": lambda: (*rows.ring(6, 18), 0),
    "all-reduce": lambda: (*bicgstab.all_reduce(12, 9), 0),
}


def main():
    for name in sys.argv[1:] or PROGRAMS:
        program, expected, tolerance = PROGRAMS[name]()
        check(program.run(), expected, tolerance)
        print(f"{name}: values as numpy's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
