// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/Table.h"

#include <algorithm>

namespace wsec::inspect {

std::string plain(const Json &value) {
  return value.is_string()
             ? value.get<std::string>()
             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

static std::string padded(std::string text, size_t width, bool right = false) {
  if (text.size() < width)
    text.insert(right ? 0 : text.size(), width - text.size(), ' ');
  return text;
}

std::string table(const std::vector<std::string> &heads,
                  const std::vector<std::vector<Json>> &rows) {
  std::vector<size_t> widths;
  for (const std::string &head : heads)
    widths.push_back(head.size());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], plain(row[i]).size());
  auto line = [&](auto &&cell) {
    std::string text;
    for (size_t i = 0; i < heads.size(); ++i)
      text += "  " + padded(cell(i), widths[i],
                            !rows.empty() && rows[0][i].is_number());
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line([&](size_t i) { return heads[i]; });
  for (const auto &row : rows)
    text += line([&](size_t i) { return plain(row[i]); });
  return text;
}

std::string joined(const Json &list) {
  std::string text;
  for (const Json &item : list)
    text += (text.empty() ? "" : ", ") + plain(item);
  return text;
}

} // namespace wsec::inspect
