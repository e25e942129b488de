#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The installed tools carry what they load: they compile and run a model in a root that has the C and C++ runtime alone.

    clean_root_test.py BUILD

Where no other root may be entered, as without user namespaces, the test says so and is skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

COMPONENTS = ("wsec", "wse-run", "wse-inspect", "wsec_session", "libraries")
RUNTIME = ("libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libresolv.so.2", "libutil.so.1",
           "libstdc++.so.6", "libgcc_s.so.1")
LIBRARIES = pathlib.Path("lib/x86_64-linux-gnu")
PLAIN = {"PATH": os.defpath, "LD_ORIGIN_PATH": "/wsec/bin"}  # there is no /proc to read it from
SKIPPED = 77
MODEL = """module attributes {onnx.opset = 21 : i64} {
func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (!onnx.unknown {onnx.name = "y"}) {
  %y = onnx.node "Tanh"(%x) : (tensor<4x8xf32>) -> !onnx.unknown
  return %y : !onnx.unknown
}
}
"""


def clean_root(folder):
    """What a system without any of our packages has."""
    (folder / LIBRARIES).mkdir(parents=True)
    (folder / "lib64").mkdir()
    (folder / "tmp").mkdir()
    shutil.copy("/lib64/ld-linux-x86-64.so.2", folder / "lib64")
    for name in RUNTIME:
        shutil.copy("/" / LIBRARIES / name, folder / LIBRARIES)


def main():
    build = pathlib.Path(sys.argv[1])
    enter = ["/usr/sbin/chroot"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "/usr/sbin/chroot"]
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        clean_root(root)
        for component in COMPONENTS:
            subprocess.run(["cmake", "--install", build, "--component", component, "--prefix", root / "wsec"], check=True,
                           stdout=subprocess.DEVNULL)
        (root / "tmp" / "m.mlir").write_text(MODEL)
        if subprocess.run([*enter, root, "/lib64/ld-linux-x86-64.so.2", "--version"], check=False,
                          capture_output=True).returncode:
            print("skipped: no other root may be entered")
            return SKIPPED
        for words in (["wsec", "/tmp/m.mlir", "-o", "/tmp/m.wafer", "--mesh=4x4", "--quiet"],
                      ["wse-inspect", "sram", "/tmp/m.wafer"], ["wse-run", "--version"]):
            result = subprocess.run([*enter, root, f"/wsec/bin/{words[0]}", *words[1:]], env=PLAIN, check=False,
                                    capture_output=True, text=True)
            if result.returncode:
                raise SystemExit(f"{' '.join(words)}: {result.stderr}")
        for module in (root / "wsec" / "bin").glob("wsec_session*"):
            # Python's own symbols are those of the process that loads it.
            needed = subprocess.run([*enter, root, "/lib64/ld-linux-x86-64.so.2", "--list", f"/wsec/bin/{module.name}"],
                                    env=PLAIN, check=True, capture_output=True, text=True).stdout
            if "not found" in needed:
                raise SystemExit(needed)
    print("the tools run in a root without packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
