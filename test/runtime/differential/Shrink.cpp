// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/Shrink.h"

#include <numeric>
#include <tuple>

namespace wsec::runtime::test {

namespace {

using List = Choices::List;
using Lists = Choices::Lists;

class Shrinker {
public:
  Shrinker(Lists lists, int tries, const Fails &fails)
      : best(std::move(lists)), tries(tries), fails(fails) {}

  Lists run() {
    bool again = true;
    while (again && tries > 0) {
      again = removeSections();
      for (size_t section = 0; section < best.size(); ++section) {
        for (size_t size = 16; size > 0; size /= 2)
          again |= removeParts(section, size);
        again |= lowerNumbers(section);
      }
    }
    return best;
  }

private:
  /// Fewer sections come first, then fewer choices, then smaller numbers.
  static bool simpler(const Lists &a, const Lists &b) {
    auto size = [](const Lists &lists) {
      return std::accumulate(
          lists.begin(), lists.end(), size_t(0),
          [](size_t sum, const List &list) { return sum + list.size(); });
    };
    const std::tuple left(a.size(), size(a)), right(b.size(), size(b));
    return left != right ? left < right : a < b;
  }
  bool attempt(Lists lists) {
    if (--tries < 0)
      return false;
    Lists made = fails(std::move(lists));
    if (made.empty() || !simpler(made, best))
      return false;
    best = std::move(made);
    return true;
  }
  bool removeSections() {
    bool any = false;
    for (size_t i = best.size(); i-- > 1 && tries > 0;) {
      if (i >= best.size())
        continue;
      Lists fewer = best;
      fewer.erase(fewer.begin() + ptrdiff_t(i));
      any |= attempt(std::move(fewer));
    }
    return any;
  }
  bool removeParts(size_t section, size_t size) {
    bool any = false;
    for (size_t end = best[section].size(); end >= size && tries > 0;) {
      Lists shorter = best;
      List &list = shorter[section];
      list.erase(list.begin() + ptrdiff_t(end - size),
                 list.begin() + ptrdiff_t(end));
      if (attempt(std::move(shorter)))
        any = true;
      else
        end -= std::max<size_t>(1, size / 2);
      end = std::min(end, best[section].size());
    }
    return any;
  }
  bool lower(size_t section, size_t i, uint32_t number) {
    Lists lists = best;
    lists[section][i] = number;
    return attempt(std::move(lists));
  }
  bool lowerNumbers(size_t section) {
    bool any = false;
    auto list = [&]() -> const List & { return best[section]; };
    for (size_t i = 0; i < list().size() && tries > 0; ++i) {
      if (list()[i] == 0)
        continue;
      if (lower(section, i, 0)) {
        any = true;
        continue;
      }
      for (uint32_t low = 1;
           i < list().size() && low < list()[i] && tries > 0;) {
        const uint32_t middle = low + (list()[i] - low) / 2;
        if (lower(section, i, middle))
          any = true;
        else
          low = middle + 1;
      }
    }
    return any;
  }

  Lists best;
  int tries;
  const Fails &fails;
};

} // namespace

Lists shrink(Lists choices, int tries, const Fails &fails) {
  return Shrinker(std::move(choices), tries, fails).run();
}

} // namespace wsec::runtime::test
