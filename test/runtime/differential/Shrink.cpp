// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/Shrink.h"

namespace wsec::runtime::test {

namespace {

using List = std::vector<uint32_t>;

class Shrinker {
public:
  Shrinker(List list, int tries, const std::function<List(List)> &fails)
      : best(std::move(list)), tries(tries), fails(fails) {}

  List run() {
    bool again = true;
    while (again && tries > 0) {
      again = false;
      for (size_t size = 64; size > 0; size /= 2)
        again |= removeParts(size);
      again |= lowerNumbers();
    }
    return best;
  }

private:
  /// Shorter lists come first, then those with smaller numbers.
  static bool simpler(const List &a, const List &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
  bool attempt(List list) {
    if (--tries < 0)
      return false;
    List made = fails(std::move(list));
    if (made.empty() || !simpler(made, best))
      return false;
    best = std::move(made);
    return true;
  }
  bool removeParts(size_t size) {
    bool any = false;
    for (size_t end = best.size(); end >= size && tries > 0;) {
      end = std::min(end, best.size());
      if (end < size)
        break;
      List shorter = best;
      shorter.erase(shorter.begin() + ptrdiff_t(end - size),
                    shorter.begin() + ptrdiff_t(end));
      if (attempt(std::move(shorter)))
        any = true;
      else
        end -= std::min(end, std::max<size_t>(1, size / 2));
    }
    return any;
  }
  bool lower(size_t i, uint32_t number) {
    List list = best;
    list[i] = number;
    return attempt(std::move(list));
  }
  bool lowerNumbers() {
    bool any = false;
    for (size_t i = 0; i < best.size() && tries > 0; ++i) {
      if (best[i] == 0)
        continue;
      if (lower(i, 0)) {
        any = true;
        continue;
      }
      for (uint32_t low = 1; i < best.size() && low < best[i] && tries > 0;) {
        const uint32_t middle = low + (best[i] - low) / 2;
        if (lower(i, middle))
          any = true;
        else
          low = middle + 1;
      }
    }
    return any;
  }

  List best;
  int tries;
  const std::function<List(List)> &fails;
};

} // namespace

List shrink(List choices, int tries, const std::function<List(List)> &fails) {
  return Shrinker(std::move(choices), tries, fails).run();
}

} // namespace wsec::runtime::test
