#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pip install .` in a new virtual environment, and the session of README.md with what it installed.

    install_test.py ROOT [--build-dir=DIR]

Builds the tools, which takes minutes where ccache has nothing of them.
"""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

TOOLS = ("wsec", "wse-run", "wse-inspect")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--build-dir", help="of an earlier build, instead of ROOT/build/wheel")
    options = parser.parse_args()
    # Nothing but what is installed.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "WSEC_BIN")}

    def run(*words):
        return subprocess.run(words, check=True, env=environment, cwd=folder, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        run("python3", "-m", "venv", folder / "venv")
        programs = folder / "venv" / "bin"
        settings = [f"--config-settings=build-dir={options.build_dir}"] if options.build_dir else []
        try:
            run(programs / "pip", "install", *settings, f"{options.root}[onnx]")
        except subprocess.CalledProcessError as error:
            raise SystemExit(error.stdout + error.stderr) from error
        package = Path(run(programs / "python", "-c", "import wsec; print(wsec.__path__[0])").strip())
        for name in TOOLS:
            found = run(programs / "python", "-c", f"import wsec; print(wsec.tool('{name}'))").strip()
            if Path(found) != package / "bin" / name or not package.is_relative_to(folder):
                raise SystemExit(f"{name} is {found}, not in the package")
            if not run(programs / name, "--version").startswith(name):
                raise SystemExit(f"{name} --version says something else")
        if not any((package / "lib").glob("libMLIR*")):
            raise SystemExit("the package lacks the libraries that its tools load")
        backends = "import importlib.metadata as m; print(*m.entry_points(group='torch_dynamo_backends'))"
        if "wsec.from_torch:backend" not in run(programs / "python", "-c", backends):
            raise SystemExit("PyTorch is not told of the backend")
        run(programs / "python", options.root / "test" / "python" / "readme_test.py")
    print("installed, and the session of README.md runs")


if __name__ == "__main__":
    main()
