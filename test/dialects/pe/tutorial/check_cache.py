# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls the entries of the tutorial's cache.mlir from several processes, which hand
its state on in a file, and holds each result against numpy, on all engines
that run it; also with launches by wavelets, which strips runs, too.

Usage: check_cache.py PROGRAM.mlir WORK. One line per variant and engine: its
name, the cycles of `attend` over four rows, and ok or what differs. Exit code 1
when anything does.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "e2e"))
sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "python"))
import round_trip  # noqa: E402
import wsec  # noqa: E402
from check_tutorial import documented_cycles, whole  # noqa: E402

LAUNCHED = """machine "wse2" launch_color 0 {
  route 0 [0:1, 0:1] from west to [south, ramp]
  route 0 [0:1, 1:3] from north to [south, ramp]
  route 0 [0:1, 3:4] from north to [ramp]
"""


def call_all(program, engine, past, x, state):
    """The cycles of the last `attend`, and what is wrong, or None."""
    rows = past

    def call(entry, inputs=None, first=False, **arguments):
        return program.run(inputs, engine=engine, entry=entry, arguments=arguments,
                           load_state=None if first else state, save_state=state)

    def attend(length):
        outputs = call("attend", length=length)
        expected = rows[:length].sum(0).reshape(4, 4)
        wrong = None if np.array_equal(outputs["y"], expected) else \
            f"the sum of {length} rows differs"
        return outputs.report.cycles.total, wrong

    call("load", first=True)
    for position in (2, 3):
        call("append", {"x": x}, position=position)
        rows = np.vstack([rows, x[position]])
        for length in range(1, len(rows) + 1):
            cycles, wrong = attend(length)
            if wrong:
                return cycles, wrong
    try:
        attend(5)
        return cycles, "row 4, which nothing has written, is read"
    except wsec.Error as error:
        if "UninitializedRead" not in str(error):
            return cycles, str(error)
    # Row 1 anew: the others stay.
    call("append", {"x": x}, position=1)
    rows[1] = x[1]
    return attend(4)


def main():
    source, work = Path(sys.argv[1]), Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    past, x = whole(2, 16), whole(64, 16)
    past.tofile(work / "past.bin")
    text = source.read_text()
    bad = False
    for name, written, engines in (
            ("cache", text, ("burst", "wavelet")),
            ("launched", text.replace('machine "wse2" {\n', LAUNCHED),
             ("wavelet", "strips"))):
        (work / f"{name}.mlir").write_text(written)
        program = wsec.compile(work / f"{name}.mlir", work / f"{name}.wafer")
        problem = round_trip.difference(program.path)
        for engine in engines:
            cycles, wrong = call_all(program, engine, past, x, work / f"{name}.state")
            problem = problem or wrong
            if name == "cache" and not problem and \
                    cycles != documented_cycles(source)[engine]:
                problem = "README.md says otherwise"
            bad |= problem is not None
            print(f"{name} {engine}: {cycles} cycles, {problem or 'ok'}")
            problem = None
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
