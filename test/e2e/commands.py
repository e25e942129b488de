# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands that have to succeed."""

import subprocess
import sys


def run(command):
    """What it did; ends the test, with what it said, if it failed."""
    command = [str(word) for word in command]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"$ {' '.join(command)}\n{result.stdout}{result.stderr}")
    return result
