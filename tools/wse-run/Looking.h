// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_RUN_LOOKING_H
#define TOOLS_WSE_RUN_LOOKING_H

#include "runtime/host/OutputFiles.h"
#include "runtime/observe/Counters.h"
#include "runtime/observe/Observers.h"
#include "runtime/observe/Probe.h"
#include "runtime/observe/Trace.h"
#include "tools/wse-run/Flags.h"

#include <memory>
#include <string>

namespace wsec::run {

/// What --trace, --counters, --until, --break and --peek ask for.
class Looking {
public:
  /// Throws UsageError where the program has no such place, moment or number.
  Looking(const runtime::Call &call, const Flags &flags);

  /// Null: nothing is asked for.
  runtime::Observer *observer() { return all.empty() ? nullptr : &all; }
  /// After a run, however it ended: prints what was seen and writes files.
  void show() const;

private:
  std::string drawing(const std::string &file) const;

  const Flags &flags;
  std::unique_ptr<runtime::Trace> trace;
  std::unique_ptr<runtime::Counters> counters;
  std::unique_ptr<runtime::Probe> probe;
  runtime::Observers all;
};

} // namespace wsec::run

#endif // TOOLS_WSE_RUN_LOOKING_H
