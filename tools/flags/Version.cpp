// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/flags/Version.h"
#include "tools/flags/commit.inc"

const char *wsec::tools::versionText() { return WSEC_VERSION WSEC_COMMIT; }
