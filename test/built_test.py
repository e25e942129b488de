# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lit runs: tests whose programs are built. Of others it says which target builds them."""

import os
import re

import lit.Test
import lit.formats


class BuiltTest(lit.formats.ShTest):
    """config.wsec_targets are the programs that tests run, each called like its target."""

    def execute(self, test, litConfig):
        with open(test.getSourcePath(), encoding="utf-8") as file:
            lines = [line for line in file if re.search(r"RUN:|DEFINE:", line)]
        build = test.config.wsec_build_root
        unbuilt = [name for name in test.config.wsec_targets if not os.path.exists(os.path.join(build, "bin", name))
                   and any(re.search(rf"(?<![\w./-]){name}(?![\w.-])", line) for line in lines)]
        if not unbuilt:
            return super().execute(test, litConfig)
        return lit.Test.Result(lit.Test.UNRESOLVED, f"not built: {', '.join(unbuilt)}; first run\n"
                                                    f"  cmake --build {build} --target {' '.join(unbuilt)}")
