# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tokens to a state at positions of the call, in any order, and reads it.

usage: state.py --work FOLDER

Rows take tokens in turn; the row that owns one keeps it, the others take its words and drop them.
"""

import argparse
import json
import os
import subprocess

import numpy as np

# Mesh, batch elements, tokens of each, features, tokens of a call.
CASES = [("4x2", 1, 3, 8, 1), ("3x1", 1, 4, 5, 1), ("5x7", 1, 4, 3, 1), ("4x6", 2, 5, 6, 1), ("2x5", 2, 3, 4, 1),
         ("4x2", 1, 9, 8, 3), ("3x1", 1, 4, 5, 3), ("5x7", 1, 4, 3, 2), ("4x6", 2, 15, 6, 7), ("3x5", 2, 30, 4, 2), ("2x2", 2, 6, 4, 2)]
ENGINES = ["wavelet", "strips"]

PROGRAM = """
#tokens = #wse.dist<rows = [0, 1], columns = [2]>
#state = #wse.dist<rows = [0, 1 cyclic], columns = [2]>
wse.program @main state(selected) mesh({mesh}) machine("wse2") {{
  region @r shape({mesh})
  input @x : tensor<{batch}x{count}x{features}xf32>
  state @k on @r : tensor<{batch}x{tokens}x{features}x{element}, #state>
  entry @append(%position from 0 to {last}) {{
    %x = load @x on @r {{nodes = ["x"]}} : tensor<{batch}x{count}x{features}x{element}, #tokens>
    update @k at %position with %x on @r {{nodes = ["cache"]}} : tensor<{batch}x{count}x{features}x{element}, #tokens>
  }}
  %k = recall @k on @r {{nodes = ["cache"]}} : tensor<{batch}x{tokens}x{features}x{element}, #state>
  store %k to "y" {form}on @r {{nodes = ["y"]}} : tensor<{batch}x{tokens}x{features}x{element}, #state> to tensor<{batch}x{tokens}x{features}xf32>
}}
"""


def run(*command):
    subprocess.run(command, check=True)


def check(folder, mesh, batch, tokens, features, count, element="f32", form=""):
    path = f"{folder}/{mesh}-{batch}-{count}-{element}"
    with open(f"{path}.mlir", "w", encoding="utf-8") as file:
        file.write(PROGRAM.format(mesh=mesh, batch=batch, tokens=tokens, features=features,
                                  count=count, last=tokens - count, element=element, form=form))
    run("wsec", f"{path}.mlir", "-o", f"{path}.wafer", "--quiet")
    random = np.random.RandomState(tokens)
    for engine in ENGINES:
        expected = np.zeros((batch, tokens, features), "f4")
        kept = []
        # The last ones are written twice, and all but the first call finds others there.
        for position in [*random.permutation(tokens - count + 1), tokens - count]:
            expected[:, position:position + count] = random.randn(batch, count, features).astype("f2")
            np.save(f"{path}.x.npy", expected[:, position:position + count])
            run("wse-run", f"{path}.wafer", "--entry=append", f"--argument=position={position}",
                f"--engine={engine}", f"--input=x={path}.x.npy", *kept,
                f"--save-state={path}.state", "--quiet")
            kept = [f"--load-state={path}.state"]
        run("wse-run", f"{path}.wafer", f"--engine={engine}", *kept, f"--output=y={path}.y.npy",
            "--quiet")
        assert np.array_equal(np.load(f"{path}.y.npy"), expected), (path, engine)


# Mesh, batch elements, tokens of each, features, type: with a row that has none, more rows than tokens, columns without features.
REORDERED = [("4x6", 2, 5, 6, "f32"), ("2x5", 2, 3, 4, "f32"), ("1x8", 4, 8, 3, "f32"), ("3x7", 3, 9, 2, "f32"), ("3x3", 3, 4, 5, "f32"),
             ("4x6", 2, 5, 6, "f16"), ("4x3", 3, 7, 6, "f16")]

REORDER = """
#state = #wse.dist<rows = [0, 1{cyclic}], columns = [2]>
!state = tensor<{batch}x{tokens}x{features}x{element}, #state>
wse.program @main state(selected) mesh({mesh}) machine("wse2") {{
  region @r shape({mesh})
  input @x : tensor<{batch}x{tokens}x{features}xf32>
  state @k on @r : !state
  entry @reorder({arguments}) {{
    reorder @k from {sources} at {positions} on @r {{nodes = ["cache"]}}
  }}
  entry @all({places}) {{
{writes}
  }}
  %k = recall @k on @r {{nodes = ["cache"]}} : !state
  store %k to "y" on @r {{nodes = ["y"]}} : !state to tensor<{batch}x{tokens}x{features}xf32>
}}
"""
GROWS = """    %x = load @x on @r {{nodes = ["x"]}} : tensor<{batch}x{tokens}x{features}x{element}, #wse.dist<rows = [0, 1], columns = [2]>>
    update @k at %p with %x on @r {{nodes = ["cache"]}} : tensor<{batch}x{tokens}x{features}x{element}, #wse.dist<rows = [0, 1], columns = [2]>>"""
WHOLE = """    %x = load @x on @r {{nodes = ["x"]}} : !state
    update @k with %x on @r {{nodes = ["cache"]}} : !state"""


def check_reorder(folder, mesh, batch, tokens, features, element, grows):
    """Tokens below a source's position are the source's, behind them the own; of a state that does not grow all or none."""
    path = f"{folder}/reorder-{mesh}-{batch}-{element}-{grows}"
    sizes = {"mesh": mesh, "batch": batch, "tokens": tokens, "features": features, "element": element}
    sources, positions = [f"%source_{i}" for i in range(batch)], [f"%position_{i}" for i in range(batch)]
    ranges = [f"{name} from 0 to {batch - 1}" for name in sources] + [f"{name} from 0 to {tokens}" for name in positions]
    with open(f"{path}.mlir", "w", encoding="utf-8") as file:
        file.write(REORDER.format(**sizes, cyclic=" cyclic" if grows else "", arguments=", ".join(ranges), sources=", ".join(sources),
                                  positions=", ".join(positions), places="%p from 0 to 0" if grows else "%p from 0 to 1",
                                  writes=(GROWS if grows else WHOLE).format(**sizes)))
    run("wsec", f"{path}.mlir", "-o", f"{path}.wafer", "--quiet")
    for engine in ENGINES:
        random = np.random.RandomState(batch)
        expected = random.randn(batch, tokens, features).astype("f2").astype("f4")
        np.save(f"{path}.x.npy", expected)
        run("wse-run", f"{path}.wafer", "--entry=all", "--argument=p=0", f"--engine={engine}", f"--input=x={path}.x.npy",
            f"--save-state={path}.state", "--quiet")
        for turn in range(3):
            chosen, held = random.randint(0, batch, batch), random.randint(0, tokens + 1, batch)
            if turn == 2:
                chosen, held = np.arange(batch)[::-1], np.full(batch, tokens)
            numbers = [f"--argument=source_{i}={its}" for i, its in enumerate(chosen)]
            numbers += [f"--argument=position_{i}={its}" for i, its in enumerate(held)]
            run("wse-run", f"{path}.wafer", "--entry=reorder", *numbers, f"--engine={engine}", f"--load-state={path}.state",
                f"--save-state={path}.state", "--quiet")
            before = expected.copy()
            for i, source in enumerate(chosen):
                there = held[source] if grows else tokens * min(1, held[source])
                expected[i, :there] = before[source, :there]
            run("wse-run", f"{path}.wafer", f"--engine={engine}", f"--load-state={path}.state", f"--output=y={path}.y.npy", "--quiet")
            assert np.array_equal(np.load(f"{path}.y.npy"), expected), (path, engine, turn)


LAYERS = """
#tokens = #wse.dist<rows = [0, 1], columns = [2]>
#state = #wse.dist<rows = [0, 1 cyclic], columns = [2]>
!state = tensor<1x4x8xf32, #state>
!token = tensor<1x1x8xf32, #tokens>
wse.program @main state(selected) mesh(3x2) machine("wse2") {{
  region @r shape(3x2)
{states}
  entry @append(%position from 0 to 3) {{
{updates}
  }}
{recalls}
}}
"""


def make_layers(path, layers):
    """Each of `layers` keeps rows of its own, twice."""
    states, updates, recalls = [], [], []
    for i in range(layers):
        states += [f"input @x{i} : tensor<1x1x8xf32>", f"state @k{i} on @r : !state", f"state @v{i} on @r : !state"]
        updates += [f'%x{i} = load @x{i} on @r {{nodes = ["x{i}"]}} : !token']
        updates += [f'update @{s}{i} at %position with %x{i} on @r {{nodes = ["{s}{i}"]}} : !token' for s in "kv"]
        recalls += [f'%{s}{i} = recall @{s}{i} on @r {{nodes = ["recall.{s}{i}"]}} : !state' for s in "kv"]
        recalls += [f'store %{s}{i} to "{s}{i}" on @r {{nodes = ["store"]}} : !state to tensor<1x4x8xf32>' for s in "kv"]
    with open(path, "w", encoding="utf-8") as file:
        file.write(LAYERS.format(layers=layers, **{name: "\n".join(lines) for name, lines in (
            ("states", states), ("updates", updates), ("recalls", recalls))}))


def check_layers(folder, layers):
    """The values of each layer are its own; bytes of code."""
    path = f"{folder}/{layers}-layers"
    make_layers(f"{path}.mlir", layers)
    run("wsec", f"{path}.mlir", "-o", f"{path}.wafer", "--quiet")
    rows = np.random.RandomState(layers).randn(4, layers, 8).astype("f4")
    kept = []
    for position in range(4):
        np.savez(f"{path}.npz", **{f"x{i}": rows[position, i].reshape(1, 1, 8) for i in range(layers)})
        run("wse-run", f"{path}.wafer", "--entry=append", f"--argument=position={position}", f"--inputs={path}.npz",
            *kept, f"--save-state={path}.state", "--quiet")
        kept = [f"--load-state={path}.state"]
    for engine in ENGINES:
        outputs = [f"--output={s}{i}={path}.{s}{i}.npy" for i in range(layers) for s in "kv"]
        run("wse-run", f"{path}.wafer", f"--engine={engine}", *kept, *outputs, "--quiet")
        for i in range(layers):
            for s in "kv":
                assert np.array_equal(np.load(f"{path}.{s}{i}.npy")[0], rows[:, i]), (engine, s, i)
    shown = subprocess.run(["wse-inspect", "show", f"{path}.wafer", "--json"], check=True, capture_output=True)
    return [each["code_bytes"] for each in json.loads(shown.stdout)["classes"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    folder = parser.parse_args().work
    os.makedirs(folder, exist_ok=True)
    for case in CASES:
        check(folder, *case)
    check(folder, "4x3", 1, 12, 8, 2, element="f16")  # six tokens a row, which are no pairs in order
    check(folder, "4x3", 1, 3, 8, 1, element="f16")
    check(folder, "4x3", 2, 8, 8, 3, form="by_columns ")
    print("all positions agree")
    for case in REORDERED:
        for grows in (True, False):
            check_reorder(folder, *case, grows)
    print("batch elements go on from others")
    code = [check_layers(folder, layers) for layers in (2, 8)]
    assert code[0] == code[1], code
    print("code does not grow with the states")


if __name__ == "__main__":
    main()
