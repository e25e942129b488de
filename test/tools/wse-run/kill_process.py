#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills one of three processes of mpirun in the middle of a long run, which must
end with an error that names the process: kill_process.py FOLDER RANK...

FOLDER is one that check_systems.py has worked in, with a model of 'ids'.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

PROCESSES, CALLS, SECONDS = 3, 60000, 60


def processes_of(launcher):
    """Process ids by rank, of those that mpirun has started."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) != launcher:
                continue
            environment = (status.parent / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for line in environment:
            if line.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[int(line.split(b"=")[1])] = int(status.parent.name)
    return found


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill(folder, rank):
    output = folder / "never.npz"
    run = subprocess.Popen(
        ["mpirun", "-np", str(PROCESSES), "wse-run", folder / "model.wafer",
         f"--weights={folder}", "--inputs", folder / "long.npz", "--outputs", output, "--quiet"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    victim, start = None, time.monotonic()
    while victim is None or cpu_seconds(victim) < 0.5:
        assert run.poll() is None and time.monotonic() - start < SECONDS, "the run does not run"
        time.sleep(0.05)
        victim = processes_of(run.pid).get(rank)
    os.kill(victim, signal.SIGKILL)
    _, errors = run.communicate(timeout=SECONDS)
    expected = f"wse-run: error: SystemLost: process {rank} of {PROCESSES} (pid {victim} on "
    assert run.returncode != 0 and not output.exists()
    assert errors.count("wse-run: error:") == 1 and expected in errors, errors
    print(f"process {rank}: ok")


def main():
    folder = Path(sys.argv[1])
    with np.load(folder / "batch.npz") as batch:
        ids = batch["ids"]
    np.savez(folder / "long.npz", ids=np.tile(ids, (CALLS // len(ids), 1)))
    for rank in map(int, sys.argv[2:]):
        kill(folder, rank)


if __name__ == "__main__":
    main()
