# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training plans that --training-plan=auto has looked at take what it says, told from few layers, when they are forced.

Usage: forced_plans.py WORK MODEL.onnx FLAGS..: flags of wsec. Those that fit, with the kernels and logits of the fastest: SRAM
is within 5 %, cycles are within 1 %.
"""

import json
import pathlib
import sys

from commands import run


def main():
    work, model, flags = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]

    def plans(plan):
        run(["wsec", model, "-o", work / "forced.wafer", "--quiet", f"--report={work / 'forced.json'}", f"--training-plan={plan}", *flags])
        return json.loads((work / "forced.json").read_text())["training"]["considered"]

    said = plans("auto")
    kernels = said[0]["plan"][said[0]["plan"].index(",attention="):]
    said = [its for its in said if its["fits"] and its["plan"].endswith(kernels)]
    worst = {"sram_bytes": 0, "cycles": 0}
    for its in said:
        forced = plans(its["plan"])[0]
        for key in worst:
            worst[key] = max(worst[key], abs(its[key] / forced[key] - 1))
    good = worst["sram_bytes"] <= 0.05 and worst["cycles"] <= 0.01
    print(f"{'' if good else 'wrong: '}{len(said)} plans forced: SRAM off by {100 * worst['sram_bytes']:.1f} %, "
          f"cycles by {100 * worst['cycles']:.1f} %, at most")


if __name__ == "__main__":
    main()
