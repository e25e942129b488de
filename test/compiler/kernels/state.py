# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Appends tokens to a state at positions of the call, in any order, and reads it.

usage: state.py --work FOLDER

The row that owns a token keeps it, the others take its words and drop them.
"""

import argparse
import os
import subprocess

import numpy as np

# Mesh, batch elements, tokens of each, features.
CASES = [("4x2", 1, 3, 8), ("3x1", 1, 4, 5), ("5x7", 1, 4, 3), ("4x6", 2, 5, 6), ("2x5", 2, 3, 4)]
ENGINES = ["wavelet", "streams", "strips"]

PROGRAM = """
#tokens = #wse.dist<rows = [0, 1], columns = [2]>
wse.program @main state(selected) mesh({mesh}) machine("wse2") {{
  region @r shape({mesh})
  input @x : tensor<{batch}x1x{features}xf32>
  state @k on @r : tensor<{batch}x{tokens}x{features}xf32, #tokens>
  entry @append(%position from 0 to {last}) {{
    %x = load @x on @r {{nodes = ["x"]}} : tensor<{batch}x1x{features}xf32, #tokens>
    update @k at %position with %x on @r {{nodes = ["cache"]}} : tensor<{batch}x1x{features}xf32, #tokens>
  }}
  %k = recall @k on @r {{nodes = ["cache"]}} : tensor<{batch}x{tokens}x{features}xf32, #tokens>
  store %k to "y" on @r {{nodes = ["y"]}} : tensor<{batch}x{tokens}x{features}xf32, #tokens> to tensor<{batch}x{tokens}x{features}xf32>
}}
"""


def run(*command):
    subprocess.run(command, check=True)


def check(folder, mesh, batch, tokens, features):
    rows = int(mesh.split("x")[1])
    path = f"{folder}/{mesh}-{batch}"
    with open(f"{path}.mlir", "w", encoding="utf-8") as file:
        file.write(PROGRAM.format(mesh=mesh, batch=batch, tokens=tokens, features=features,
                                  last=tokens - 1))
    run("wsec", f"{path}.mlir", "-o", f"{path}.wafer", "--quiet")
    random = np.random.RandomState(tokens)
    for engine in ENGINES:
        expected = np.zeros((batch, tokens, features), "f4")
        kept = []
        # The last is written twice.
        for position in [*random.permutation(tokens), tokens - 1]:
            expected[:, position] = random.randn(batch, features)
            np.save(f"{path}.x.npy", expected[:, position:position + 1])
            run("wse-run", f"{path}.wafer", "--entry=append", f"--argument=position={position}",
                f"--engine={engine}", f"--input=x={path}.x.npy", *kept,
                f"--save-state={path}.state", "--quiet")
            kept = [f"--load-state={path}.state"]
        run("wse-run", f"{path}.wafer", f"--engine={engine}", *kept, f"--output=y={path}.y.npy",
            "--quiet")
        assert np.array_equal(np.load(f"{path}.y.npy"), expected), (mesh, engine)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    folder = parser.parse_args().work
    os.makedirs(folder, exist_ok=True)
    for case in CASES:
        check(folder, *case)
    print("all positions agree")


if __name__ == "__main__":
    main()
