#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kill_tools.py FOLDER: ends wsec and wse-run at moments spread over their
run and looks at what they leave."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

folder = Path(sys.argv[1])
TRIES = 16


def kill_often(name, command, output):
    start = time.monotonic()
    subprocess.run(command, cwd=folder, check=True)
    took = time.monotonic() - start
    whole = (folder / output).read_bytes()
    (folder / output).unlink()
    before = set(os.listdir(folder))
    killed = 0
    for number in range(TRIES):
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
        time.sleep(took * (number + 0.5) / TRIES)
        process.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
        killed += process.wait() != 0
        for left in set(os.listdir(folder)) - before:
            if left != output or (folder / left).read_bytes() != whole:
                raise SystemExit(f"{name} left {left}")
            (folder / left).unlink()
    print(f"{name}: {killed} of {TRIES} runs killed, nothing half-written")


kill_often("wsec", ["wsec", "wide.onnx", "-o", "m.wafer", "--mesh=4x4", "--bundle", "--quiet"],
           "m.wafer")
subprocess.run(["wsec", "wide.onnx", "-o", "m.wafer", "--mesh=4x4", "--quiet"], cwd=folder,
               check=True)
kill_often("wse-run", ["wse-run", "m.wafer", "--inputs", "in.npz", "--outputs", "o.npz",
                       "--quiet"], "o.npz")
