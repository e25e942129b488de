// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/flags/HelpText.h"

#include <algorithm>
#include <sstream>

void wsec::tools::addFlag(std::string &text, const std::string &flag,
                          const std::string &help) {
  constexpr size_t column = 25, columns = 80;
  std::string line = "  " + flag;
  bool first = true;
  std::istringstream words(help);
  for (std::string word; words >> word; first = false) {
    const size_t at = std::max(line.size() + 1, first ? column : 0);
    if (at + word.size() > columns || (first && at > column)) {
      text += line + "\n";
      line.clear();
    }
    line.resize(line.empty() ? column : at, ' ');
    line += word;
  }
  text += line + "\n";
}
