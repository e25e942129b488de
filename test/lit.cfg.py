# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lit configuration: where tests lie, which tools and substitutions they see."""

import os

import lit.formats

config.name = "wsec"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["lit.cfg.py", "models"]
config.test_source_root = os.path.join(config.wsec_source_root, "test")
config.test_exec_root = config.wsec_exec_root

path = [os.path.join(config.wsec_build_root, "bin"), config.llvm_tools]
config.environment["PATH"] = os.pathsep.join(path + [config.environment["PATH"]])
for name in ("HOME", "XDG_CACHE_HOME", "WSEC_MODEL_CACHE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["WSEC_BIN"] = path[0]
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --dump-input-filter=error"

config.substitutions.append(("%python", config.python))
config.substitutions.append(
    ("%check-model", f"{config.python} {config.test_source_root}/e2e/check_model.py")
)
config.substitutions.append(
    ("%check-engines", f"{config.python} {config.test_source_root}/e2e/check_engines.py")
)

cache = os.environ.get("WSEC_MODEL_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "wsec"
)
config.substitutions.append(("%{models}", cache))
