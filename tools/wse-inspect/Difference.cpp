// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/Difference.h"

#include <map>

namespace wsec::inspect {

namespace {

std::string printed(const Json &value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr size_t most = 60;
  return text.size() > most ? text.substr(0, most) + "..." : text;
}

/// What tells an item of a list from its neighbours.
std::string nameOf(const Json &item, size_t index) {
  if (item.is_object())
    for (const char *key : {"name", "color", "id", "path"})
      if (item.contains(key))
        return item[key].is_string() ? "'" + item[key].get<std::string>() + "'"
                                     : item[key].dump();
  return std::to_string(index);
}

class Comparison {
public:
  void compare(const std::string &where, const Json &before,
               const Json &after) {
    if (before == after)
      return;
    if (before.is_object() && after.is_object())
      return compareObjects(where, before, after);
    if (before.is_array() && after.is_array())
      return compareLists(where, before, after);
    lines.push_back(where + ": " + printed(before) + " -> " + printed(after));
  }

  std::vector<std::string> lines;

private:
  static std::string join(const std::string &where, const std::string &key) {
    return where.empty() ? key : where + ", " + key;
  }

  void compareObjects(const std::string &where, const Json &before,
                      const Json &after) {
    size_t known = lines.size();
    for (const auto &[key, value] : before.items())
      if (key != "digest")
        compare(join(where, key), value, after.value(key, Json()));
    // A digest covers what the summary leaves out: worth a line only where
    // nothing else says what changed.
    if (lines.size() == known && before.contains("digest"))
      compare(join(where, "digest"), before["digest"], after["digest"]);
  }

  /// What is said of some items of a list, in the order it is first said.
  class Sayings {
  public:
    void add(const std::string &what, const std::string &name) {
      const auto [place, isNew] = numbers.try_emplace(what, said.size());
      if (isNew)
        said.push_back({what, {}});
      said[place->second].second.push_back(name);
    }
    /// Of many items the first are named.
    void tell(const std::string &where, std::vector<std::string> &lines) const {
      for (const auto &[what, names] : said)
        lines.push_back(where + " " + briefly(names) +
                        (what[0] == ':' ? "" : ", ") + what);
    }
    bool empty() const { return said.empty(); }

  private:
    std::vector<std::pair<std::string, std::vector<std::string>>> said;
    std::map<std::string, size_t> numbers;
  };

  void compareLists(const std::string &where, const Json &before,
                    const Json &after) {
    auto left = named(before), right = named(after);
    std::map<std::string, const Json *> byName(right.begin(), right.end());
    Sayings sayings;
    for (const auto &[name, item] : left) {
      auto match = byName.find(name);
      if (match == byName.end()) {
        sayings.add(": only in the first", name);
        continue;
      }
      for (const std::string &line : differences(*item, *match->second))
        sayings.add(line, name);
      byName.erase(match);
    }
    for (const auto &[name, item] : right)
      if (byName.count(name))
        sayings.add(": only in the second", name);
    if (sayings.empty())
      lines.push_back(where + ": in another order");
    sayings.tell(where, lines);
  }
};

} // namespace

std::vector<std::pair<std::string, const Json *>> named(const Json &list) {
  std::vector<std::pair<std::string, const Json *>> items;
  std::map<std::string, int> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    std::string name = nameOf(list[i], i);
    if (int again = seen[name]++)
      name += " (" + std::to_string(again + 1) + ")";
    items.emplace_back(name, &list[i]);
  }
  return items;
}

std::string briefly(const std::vector<std::string> &names) {
  constexpr size_t most = 4;
  const size_t shown = names.size() > most ? most - 1 : names.size();
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += (i ? ", " : "") + names[i];
  if (shown < names.size())
    text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

std::vector<std::string> differences(const Json &before, const Json &after) {
  Comparison comparison;
  comparison.compare("", before, after);
  return std::move(comparison.lines);
}

} // namespace wsec::inspect
