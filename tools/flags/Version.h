// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_FLAGS_VERSION_H
#define TOOLS_FLAGS_VERSION_H

namespace wsec::tools {

/// "0.1.0 (1f2e3d4c5b6a)": the version, and the commit that was built, with
/// "-dirty" where files differ from it. "0.1.0" of sources without a history.
const char *versionText();

} // namespace wsec::tools

#endif
