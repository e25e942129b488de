// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/fabric/StreamPattern.h"

using namespace wsec::fabric;

const char *wsec::fabric::keyword(Port port) {
  static const char *const words[] = {"north", "south", "east", "west", "ramp"};
  return words[unsigned(port)];
}

std::optional<Port> wsec::fabric::portNamed(std::string_view word) {
  for (Port port : allPorts)
    if (word == keyword(port))
      return port;
  return std::nullopt;
}

bool RowSet::cover(const RowSet &other) const {
  for (int64_t y = 0; y < other.end(); ++y)
    if (other.contains(y) && !contains(y))
      return false;
  return true;
}

std::optional<StreamPattern> wsec::fabric::patternNamed(std::string_view word) {
  for (const NamedPattern &each : allPatterns)
    if (word == each.name)
      return each.pattern;
  return std::nullopt;
}
