// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words on every link of the mesh: what routers pass, by the rules of the
// streams.

#include "tools/map/PlacementDump.h"

#include <algorithm>
#include <tuple>

using namespace wsec;
using namespace wsec::map;
using runtime::PassedWords;

static constexpr const char *ports[] = {"north", "south", "east", "west"};
static constexpr size_t portCount = std::size(ports);
static constexpr size_t listedLinks = 6;

namespace {

/// Adds up the words of an entry, color by color.
class EntryLoad {
public:
  EntryLoad(PlacementView &view, const std::string &entry)
      : view(view), entry(entry), width(size_t(view.machine.width)),
        passed(width * size_t(view.machine.height)),
        words(passed.size() * portCount), usersOf(words.size()) {}

  PlacementView::LoadView find() {
    PlacementView::LoadView load;
    load.entry = entry;
    uses.resize(view.passed.size());
    for (const PlacementView::KernelView &kernel : view.kernels) {
      if (kernel.entry != entry)
        continue;
      load.unknown += !kernel.passedUnknown.empty();
      for (uint32_t table : kernel.passed)
        ++uses[table];
    }
    for (int64_t color = 0; color < view.machine.usableColors(); ++color)
      if (addPassed(color))
        for (size_t i = 0; i < view.streams.size(); ++i)
          addStream(i, color);
    load.fullest = fullest();
    return load;
  }

private:
  size_t index(int64_t x, int64_t y) const {
    return size_t(y) * width + size_t(x);
  }

  /// What routers pass of a color in a call; false: nothing.
  bool addPassed(int64_t color) {
    std::fill(passed.begin(), passed.end(), 0);
    bool any = false;
    for (size_t i = 0; i < uses.size(); ++i) {
      if (uses[i] == 0 || view.passed[i].color != color)
        continue;
      any = true;
      for (const PassedWords::Rows &rows : view.passed[i].rows)
        for (int y = rows.begin; y < rows.end; ++y)
          for (const PassedWords::Run &run : rows.runs)
            for (int x = run.begin; x < run.end; ++x)
              passed[index(x, y)] += uses[i] * run.words;
    }
    return any;
  }

  void addStream(size_t number, int64_t color) {
    PlacementView::StreamView &stream = view.streams[number];
    int64_t most = 0;
    for (const PlacementView::RouteView &route : stream.routes)
      for (size_t port = 0; port < portCount && route.color == color; ++port)
        if (llvm::is_contained(route.transmit, ports[port]))
          for (int64_t y = route.y[0]; y < route.y[1]; y += route.y[2])
            for (int64_t x = route.x[0]; x < route.x[1]; x += route.x[2]) {
              const int64_t its = passed[index(x, y)];
              if (its == 0)
                continue;
              const size_t link = index(x, y) * portCount + port;
              words[link] += its;
              usersOf[link] = withUser(usersOf[link], number);
              most = std::max(most, its);
            }
    if (most > 0) {
      int64_t &known = stream.words[entry];
      known = std::max(known, most);
    }
  }

  /// The number of a list of streams with one more at its end.
  uint32_t withUser(uint32_t list, size_t stream) {
    if (lastList == list && lastStream == stream)
      return lastLonger;
    const auto [at, isNew] =
        longer.try_emplace({list, stream}, uint32_t(lists.size()));
    if (isNew) {
      std::vector<size_t> more = lists[list];
      more.push_back(stream);
      lists.push_back(std::move(more));
    }
    lastList = list;
    lastStream = stream;
    return lastLonger = at->second;
  }

  std::vector<PlacementView::LinkView> fullest() const {
    struct Group {
      int64_t words = 0, links = 0;
      size_t first = 0;
    };
    std::map<std::pair<uint32_t, size_t>, Group> groups; // by users and port
    for (size_t link = 0; link < words.size(); ++link) {
      if (words[link] == 0)
        continue;
      Group &group = groups[{usersOf[link], link % portCount}];
      if (words[link] > group.words)
        group = {words[link], 0, link};
      group.links += words[link] == group.words;
    }
    std::vector<Group> order;
    for (const auto &[key, group] : groups)
      order.push_back(group);
    std::sort(order.begin(), order.end(), [](const Group &a, const Group &b) {
      return std::make_tuple(-a.words, a.first) <
             std::make_tuple(-b.words, b.first);
    });
    std::vector<PlacementView::LinkView> links;
    for (const Group &group : order) {
      if (links.size() == listedLinks)
        break;
      const size_t pe = group.first / portCount;
      links.push_back({group.words,
                       group.links,
                       int64_t(pe % width),
                       int64_t(pe / width),
                       ports[group.first % portCount],
                       {}});
      std::vector<size_t> users = lists[usersOf[group.first]];
      std::sort(users.begin(), users.end()); // once for each of its colors
      users.erase(std::unique(users.begin(), users.end()), users.end());
      for (size_t number : users)
        links.back().streams.push_back(
            {view.streams[number].name,
             wordsAt(view.streams[number], links.back())});
      std::sort(links.back().streams.begin(), links.back().streams.end(),
                [](const auto &a, const auto &b) {
                  return std::make_tuple(-a.second, a.first) <
                         std::make_tuple(-b.second, b.first);
                });
    }
    return links;
  }

  /// Words of a stream on a link that it uses.
  int64_t wordsAt(const PlacementView::StreamView &stream,
                  const PlacementView::LinkView &link) const {
    auto has = [](const std::array<int64_t, 3> &range, int64_t value) {
      return value >= range[0] && value < range[1] &&
             (value - range[0]) % range[2] == 0;
    };
    int64_t sum = 0;
    for (const PlacementView::RouteView &route : stream.routes)
      if (has(route.x, link.x) && has(route.y, link.y) &&
          llvm::is_contained(route.transmit, link.port))
        for (size_t i = 0; i < uses.size(); ++i)
          if (uses[i] != 0 && view.passed[i].color == route.color)
            sum += uses[i] * passedAt(view.passed[i], link);
    return sum;
  }

  static int64_t passedAt(const PassedWords &table,
                          const PlacementView::LinkView &link) {
    for (const PassedWords::Rows &rows : table.rows)
      if (link.y >= rows.begin && link.y < rows.end)
        for (const PassedWords::Run &run : rows.runs)
          if (link.x >= run.begin && link.x < run.end)
            return run.words;
    return 0;
  }

  PlacementView &view;
  const std::string &entry;
  const size_t width;
  std::vector<int64_t> uses;   // launches of a call, by table
  std::vector<int64_t> passed; // by PE, of one color
  std::vector<int64_t> words;  // by link
  std::vector<uint32_t> usersOf;
  std::vector<std::vector<size_t>> lists{{}}; // of streams, in their order
  std::map<std::pair<uint32_t, size_t>, uint32_t> longer;
  uint32_t lastList = ~0u, lastLonger = 0;
  size_t lastStream = 0;
};

} // namespace

void map::addLinkWords(const runtime::LinkWords &words, PlacementView &view) {
  view.passed = words.tables;
  // Programs number their kernels in the order of slots.
  std::map<int64_t, PlacementView::KernelView *> kernels;
  for (PlacementView::KernelView &kernel : view.kernels)
    kernels[kernel.slot.value_or(0)] = &kernel;
  std::vector<std::string> entries;
  for (const runtime::LinkWords::Launch &launch : words.launches) {
    if (!llvm::is_contained(entries, launch.entry))
      entries.push_back(launch.entry);
    const auto found = kernels.find(launch.kernel);
    if (found == kernels.end())
      continue;
    PlacementView::KernelView &kernel = *found->second;
    kernel.passed.insert(kernel.passed.end(), launch.tables.begin(),
                         launch.tables.end());
    if (!launch.unknown.empty())
      kernel.passedUnknown = launch.unknown;
  }
  for (const std::string &entry : entries)
    view.loads.push_back(EntryLoad(view, entry).find());
}
