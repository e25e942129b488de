// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/Looking.h"

#include "runtime/observe/HeatMap.h"
#include "runtime/pe/Code.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace wsec::runtime;

namespace wsec::run {

static std::vector<std::string> metrics(const Counters &counters) {
  std::vector<std::string> names;
  for (const PeMap &map : counters.maps())
    names.push_back(map.name);
  return names;
}

static void checkCounters(const Counters &counters, const Flags &flags) {
  for (const std::string &file : flags.counters)
    if (file != "-" && !file.ends_with(".json") && !file.ends_with(".txt") &&
        !file.ends_with(".png"))
      throw UsageError("--counters wants a file that ends in .json, .txt or "
                       ".png, or - for the terminal, found " +
                       inQuotes(file));
  std::vector<std::string> names = metrics(counters);
  // Peaks are known once an engine has reported links.
  for (const char *port : {"north", "south", "east", "west", "ramp"})
    names.push_back(std::string("link_peak_") + port);
  if (!flags.metric.empty() &&
      std::find(names.begin(), names.end(), flags.metric) == names.end())
    throw UsageError("--metric: nothing of the name " + inQuotes(flags.metric) +
                     " is counted" + nearestNames(flags.metric, names));
}

Looking::Looking(const Call &call, const Flags &flags) : flags(flags) {
  const program::Program &program = call.program();
  if (!flags.trace.empty()) {
    trace = std::make_unique<Trace>(call);
    all.add(*trace);
  }
  if (!flags.counters.empty()) {
    counters = std::make_unique<Counters>(program);
    checkCounters(*counters, flags);
    all.add(*counters);
  }
  if (flags.until.empty() && flags.breaks.empty() && flags.peeks.empty())
    return;
  probe = std::make_unique<Probe>(call);
  try {
    if (!flags.until.empty())
      probe->setUntil(flags.until);
    for (const std::string &point : flags.breaks)
      probe->addBreak(point);
    for (const std::string &peek : flags.peeks)
      probe->addPeek(peek);
  } catch (const ProbeError &error) {
    throw UsageError(error.what());
  }
  if (probe->stopsAtCycle() &&
      resolveEngine(flags.engine, call) == Engine::Strips)
    throw UsageError(
        "--until=CYCLE: the strips engine runs the PEs of a compiled program "
        "one ahead of the other and has no state at a cycle; take "
        "--until=launch:N or --engine=wavelet");
  all.add(*probe);
}

static int terminalColumns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 80;
}

/// One file's worth of counters.
std::string Looking::drawing(const std::string &file) const {
  if (file.ends_with(".json"))
    return counters->json();
  const bool png = file.ends_with(".png");
  const std::string only =
      flags.metric.empty() && png ? "busy_cycles" : flags.metric;
  std::string text;
  for (const PeMap &map : counters->maps()) {
    if (!only.empty() && map.name != only)
      continue;
    if (png)
      return drawPng(map, counters->width(), counters->height());
    text += (text.empty() ? "" : "\n") +
            drawText(map, counters->width(), counters->height(),
                     file == "-" ? terminalColumns() : 80);
  }
  // A peak that the engine does not know.
  if (text.empty())
    throw UsageError("--metric=" + only +
                     " is not known: this engine does not follow single "
                     "words; --engine=wavelet does");
  return text;
}

void Looking::show() const {
  if (!all.informed())
    return;
  if (probe)
    std::fputs(printable(probe->text()).c_str(), stdout);
  OutputFiles files;
  if (trace)
    files.add(flags.trace, trace->json());
  for (const std::string &file : flags.counters) {
    if (file == "-")
      std::fputs(printable(drawing(file)).c_str(), stdout);
    else
      files.add(file, drawing(file));
  }
  files.commit();
}

} // namespace wsec::run
