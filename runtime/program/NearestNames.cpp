// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <tuple>

namespace wsec::runtime {

/// Insertions, removals and replacements from one word to another.
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min(
          {above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string nearestNames(const std::string &wanted,
                         std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty())
    return "; there are none";
  auto rank = [&](const std::string &name) {
    // A part of a name is close, however long the rest.
    const bool part = name.find(wanted) != name.npos;
    return std::tuple(!part, part ? name.size() : distance(wanted, name), name);
  };
  std::sort(names.begin(), names.end(),
            [&](const auto &a, const auto &b) { return rank(a) < rank(b); });
  constexpr size_t most = 5;
  std::string text = names.size() > most ? "; nearest:" : "; there is";
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i ? ", '" : " '") + names[i] + "'";
  return text;
}

} // namespace wsec::runtime
