#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds placements back to wsec, as they were and with a rectangle changed:
check_placement_back.py WORK

Two encoders side by side, and as stages of a pipeline. The same regions give the
same bytes; others a program that has its regions there, and the same values. Exit
code 0 or 1.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e" / "models"))
import small_models  # noqa: E402

MESH = "--mesh=24x14"


def run(*command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"$ {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")


def compiled(name, *flags):
    """The program's bytes, its placement, and what it computes."""
    run("wsec", "towers.onnx", MESH, "-o", f"{name}.wafer", "--quiet",
        f"--dump-placement={name}-out.json", *flags)
    run("wse-run", f"{name}.wafer", "--inputs=in.npz", f"--outputs={name}.npz", "--quiet")
    values = np.load(f"{name}.npz")
    return (Path(f"{name}.wafer").read_bytes(), json.loads(Path(f"{name}-out.json").read_text()),
            {key: values[key] for key in values.files})


def changed(placement, name, **changes):
    """Writes the placement with changes to a region; the flag that takes it."""
    other = json.loads(json.dumps(placement))
    next(r for r in other["regions"] if r["name"] == name).update(changes)
    path = Path(f"{name}-{'-'.join(map(str, changes.values()))}.json")
    path.write_text(json.dumps(other))
    return f"--placement={path}"


def check_stages():
    """Stages of a pipeline take other widths, too."""
    mode = "--mode=resident"
    code, placement, values = compiled("stages", mode)
    regions = sorted(placement["regions"], key=lambda region: region["x"])
    assert len(regions) > 1, regions
    same, again, _ = compiled("same", mode, "--placement=stages-out.json")
    assert same == code and again == placement, "the same stages give another program"
    max(regions, key=lambda region: region["columns"])["columns"] -= 2
    other = {**placement, "regions": regions}
    Path("narrow.json").write_text(json.dumps(other))
    _, there, computed = compiled("narrow", mode, "--placement=narrow.json")
    assert sorted(there["regions"], key=lambda region: region["x"]) == regions, there["regions"]
    for name, value in values.items():
        np.testing.assert_allclose(computed[name], value, rtol=1e-4, atol=1e-5)
    print(f"{len(regions)} stages, one narrower: the same values")


def main():
    work = Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)
    np.savez("in.npz", **small_models.towers(Path("towers.onnx"), seed=1))
    code, placement, values = compiled("first")
    assert len(placement["regions"]) == 2, placement["regions"]
    same, again, _ = compiled("again", "--placement=first-out.json")
    assert same == code and again == placement, "the same regions give another program"
    last = placement["regions"][-1]
    for what, changes in (("moved", {"y": last["y"] + 4}),
                          ("narrower", {"columns": last["columns"] - 3}),
                          ("moved and lower", {"x": last["x"], "y": 1, "rows": last["rows"] - 2})):
        other, there, computed = compiled("other", changed(placement, last["name"], **changes))
        wanted = {**last, **changes}
        found = next(r for r in there["regions"] if r["name"] == last["name"])
        assert found == wanted, f"{what}: {found}, not {wanted}"
        assert other != code, f"{what}: the same program"
        for name, value in values.items():
            np.testing.assert_allclose(computed[name], value, rtol=1e-4, atol=1e-5, err_msg=what)
            if what == "moved":
                assert np.array_equal(computed[name], value), "moved: other values"
        print(f"{what}: the same values")
    check_stages()


if __name__ == "__main__":
    main()
