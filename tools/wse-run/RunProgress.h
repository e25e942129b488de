// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_RUN_RUNPROGRESS_H
#define TOOLS_WSE_RUN_RUNPROGRESS_H

#include "runtime/host/Session.h"
#include "tools/flags/ProgressLine.h"

namespace wsec::run {

/// The line of a run: how far it has come.
class RunProgress : public tools::ProgressLine {
public:
  RunProgress(const runtime::Call &call, const runtime::Progress &progress,
              bool wanted);
};

} // namespace wsec::run

#endif // TOOLS_WSE_RUN_RUNPROGRESS_H
