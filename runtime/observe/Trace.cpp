// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/observe/Trace.h"

#include "runtime/pe/Code.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace wsec::runtime {

using Json = nlohmann::ordered_json;

/// Words that follow one another within so many cycles are one slice.
static constexpr double burstGap = 8;

// ---------------------------------------------------------------- recording

void Trace::Span::add(double from, double to, uint64_t n) {
  begin = count ? std::min(begin, from) : from;
  end = count ? std::max(end, to) : to;
  count += n;
}

Trace::Trace(const program::Program &program) : Trace(Call(program)) {}

Trace::Trace(const Call &which)
    : call(which), program(call.program()), width(program.machine()->width()) {
  const size_t pes = size_t(width) * size_t(program.machine()->height());
  classes.assign(pes, -1);
  shown.assign(pes, pes <= mostPes);
  showsLinks = pes <= mostPes;
  std::vector<int> first(program.classes()->size(), -1);
  for (unsigned c = 0; c < program.classes()->size(); ++c)
    for (const program::Rect *rect : *program.classes()->Get(c)->rects())
      for (int y = rect->y0(); y < rect->y1(); y += rect->ystep())
        for (int x = rect->x0(); x < rect->x1(); x += rect->xstep()) {
          const int pe = y * width + x;
          classes[size_t(pe)] = int(c);
          first[c] = first[c] < 0 ? pe : std::min(first[c], pe);
        }
  if (!showsLinks)
    sample(first);
  for (size_t pe = 0; pe < pes; ++pe)
    if (shown[pe] && classes[pe] >= 0)
      shownPes.push_back(int(pe));
  launches.resize(call.launches());
  streams.resize(program.streams() ? program.streams()->size() : 0);
}

/// The first PE of each class; where there are few classes, PEs at even
/// distances, too.
void Trace::sample(const std::vector<int> &firstOfClass) {
  for (size_t c = 0; c < std::min(firstOfClass.size(), mostPes / 2); ++c)
    if (firstOfClass[c] >= 0)
      shown[size_t(firstOfClass[c])] = true;
  if (firstOfClass.size() > few)
    return;
  bands = std::min(8, width);
  const int height = program.machine()->height();
  constexpr int samples = 4;
  for (int j = 0; j < samples; ++j)
    for (int i = 0; i < samples; ++i)
      shown[size_t((height - 1) * j / (samples - 1) * width +
                   (width - 1) * i / (samples - 1))] = true;
}

/// PEs whose work is summed up: a class, or some columns of it.
int Trace::groupOf(ObservedPes pes) const {
  const int pe = pes.front();
  return classes[size_t(pe)] * bands + pe % width * bands / width;
}

std::string Trace::groupName(int group) const {
  const program::PEClass &peClass =
      *program.classes()->Get(unsigned(group / bands));
  std::string name = "class " + peClass.name()->str();
  auto firstColumn = [&](int band) {
    return (band * width + bands - 1) / bands;
  };
  const int band = group % bands;
  if (bands > 1)
    name += ", columns " + std::to_string(firstColumn(band)) + " to " +
            std::to_string(firstColumn(band + 1) - 1);
  return name;
}

bool Trace::hasRoom() {
  if (slices.size() + bursts.size() < mostSlices)
    return true;
  ++leftOutSlices;
  return false;
}

void Trace::enter(ObservedPes pes, size_t launch, int task, double time) {
  launches[launch].add(time, time);
  work[{groupOf(pes), launch}].add(time, time, pes.size());
  for (int pe : pes)
    if (shown[size_t(pe)])
      open[pe] = {task, launch, time, true};
}

void Trace::leave(ObservedPes pes, size_t launch, double time) {
  launches[launch].add(time, time, 0);
  work[{groupOf(pes), launch}].add(time, time, 0);
  for (int pe : pes) {
    if (!shown[size_t(pe)] || !open[pe].open || !hasRoom())
      continue;
    const Open &of = open[pe];
    slices.push_back(
        {pe, 0, of.task, launch, of.begin, time, "", 0, 0, 0, false});
    open[pe].open = false;
  }
}

void Trace::instruction(ObservedPes pes, const ObservedInstruction &what) {
  launches[what.launch].add(what.begin, what.end, 0);
  work[{groupOf(pes), what.launch}].add(what.begin, what.end, 0);
  const std::tuple key(groupOf(pes), what.launch, what.code.index);
  auto found = sums.find(key);
  if (found == sums.end() && sums.size() < mostSums)
    found = sums.emplace(key, Sum{}).first;
  if (found == sums.end()) {
    ++leftOutSums;
  } else {
    Sum &sum = found->second;
    if (sum.name.empty())
      sum.name = describe(what.code);
    sum.add(what.begin, what.end, pes.size());
    sum.elements += what.elements * pes.size();
    sum.busy += what.busy * double(pes.size());
    sum.waitsToReceive += what.waitsToReceive * double(pes.size());
    sum.waitsToSend += what.waitsToSend * double(pes.size());
  }
  for (int pe : pes)
    if (shown[size_t(pe)] && hasRoom())
      slices.push_back({pe, what.code.thread + 1, -2, what.launch, what.begin,
                        what.end, describe(what.code), what.elements,
                        what.waitsToReceive, what.waitsToSend, false});
}

void Trace::sent(ObservedPes pes, size_t launch, int color, uint64_t words,
                 double first, double last) {
  if (words > 0)
    colors[{color, launch}].add(first, last, words * pes.size());
}

void Trace::hostWords(uint32_t stream, uint32_t, uint64_t words, double first,
                      double last) {
  streams[stream].add(first, last, words);
}

void Trace::endBurst(const Burst &burst) {
  if (hasRoom())
    bursts.push_back(burst);
}

void Trace::passed(int pe, program::Port port, int color, uint64_t words,
                   double first, double last) {
  if (!showsLinks || color == program.launch_color())
    return;
  auto [found, fresh] = running.try_emplace(
      {pe, int(port), color}, Burst{pe, int(port), color, 0, first, first});
  Burst &burst = found->second;
  if (!fresh && first > burst.end + burstGap) {
    endBurst(burst);
    burst = {pe, int(port), color, 0, first, first};
  }
  burst.words += words;
  burst.begin = std::min(burst.begin, first);
  burst.end = std::max(burst.end, last + 1);
}

// ---------------------------------------------------------------- writing

/// A slice to be given a track.
struct Trace::Item {
  double begin, end;
  std::string name;
  Json args;
};

/// Groups of tracks are "processes" of the format, tracks its "threads".
class Trace::Writer {
public:
  enum Group { Kernels = 1, Classes, Streams, Colors, Links, Pes };

  void group(int group, const std::string &name) {
    add({{"ph", "M"},
         {"pid", group},
         {"name", "process_name"},
         {"args", {{"name", name}}}});
    add({{"ph", "M"},
         {"pid", group},
         {"name", "process_sort_index"},
         {"args", {{"sort_index", group}}}});
  }
  void track(int group, int track, const std::string &name) {
    add({{"ph", "M"},
         {"pid", group},
         {"tid", track},
         {"name", "thread_name"},
         {"args", {{"name", name}}}});
    add({{"ph", "M"},
         {"pid", group},
         {"tid", track},
         {"name", "thread_sort_index"},
         {"args", {{"sort_index", track}}}});
  }
  void slice(int group, int track, const Item &item) {
    add({{"ph", "X"},
         {"pid", group},
         {"tid", track},
         {"name", item.name},
         {"ts", thousandths(item.begin)},
         {"dur", thousandths(std::max(0.0, thousandths(item.end) -
                                               thousandths(item.begin)))},
         {"args", item.args}});
  }
  /// On tracks of that name from number `next` on. Slices that overlap need
  /// tracks of their own: each takes the first that is free.
  void layOut(int group, int &next, const std::string &name,
              std::vector<Item> items) {
    std::vector<size_t> order(items.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(items[a].begin, a) < std::pair(items[b].begin, b);
    });
    std::vector<double> free;
    for (size_t i : order) {
      auto at = std::find_if(free.begin(), free.end(), [&](double time) {
        return time <= items[i].begin;
      });
      if (at == free.end())
        at = free.insert(free.end(), 0);
      *at = items[i].end;
      slice(group, next + int(at - free.begin()), items[i]);
    }
    for (size_t i = 0; i < free.size(); ++i)
      track(group, next++, name);
  }

  std::string text;

private:
  /// What viewers keep of a time. Where one instruction ends as another begins
  /// their sums of cycles may differ in the last bits.
  static double thousandths(double time) {
    return std::round(time * 1000) / 1000;
  }
  void add(const Json &event) {
    text += text.empty() ? "\n" : ",\n";
    text += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
};

static Json nodesOf(const program::Kernel &kernel) {
  Json nodes = Json::array();
  if (kernel.onnx_nodes())
    for (const flatbuffers::String *node : *kernel.onnx_nodes())
      nodes.push_back(node->str());
  return nodes;
}

static const program::Kernel *kernelOf(const Call &call, size_t launch) {
  const program::Program &program = call.program();
  const uint32_t kernel = call.launch(launch).kernel();
  return program.kernels() && kernel < program.kernels()->size()
             ? program.kernels()->Get(kernel)
             : nullptr;
}

std::string Trace::kernelName(size_t launch) const {
  const program::Kernel *kernel = kernelOf(call, launch);
  return kernel ? kernel->name()->str() : "launch " + std::to_string(launch);
}

void Trace::writeKernels(Writer &writer) const {
  writer.group(Writer::Kernels, "kernels");
  std::vector<Item> items;
  for (size_t l = 0; l < launches.size(); ++l) {
    if (launches[l].count == 0)
      continue;
    Json args = {{"launch", l}, {"routine", call.launch(l).routine()}};
    if (const program::Kernel *kernel = kernelOf(call, l)) {
      args["kind"] = kernel->kind() ? kernel->kind()->str() : "";
      args["onnx_nodes"] = nodesOf(*kernel);
      args["predicted_cycles"] = kernel->predicted_cycles();
      args["lower_bound_cycles"] = kernel->lower_bound_cycles();
    }
    items.push_back(
        {launches[l].begin, launches[l].end, kernelName(l), std::move(args)});
  }
  int next = 0;
  writer.layOut(Writer::Kernels, next, "launches", std::move(items));
}

void Trace::writeClasses(Writer &writer) const {
  writer.group(Writer::Classes, "PE classes");
  int next = 0;
  for (int g = 0; g < int(program.classes()->size()) * bands; ++g) {
    std::vector<Item> routines, instructions;
    for (auto at = work.lower_bound({g, 0});
         at != work.end() && at->first.first == g; ++at)
      routines.push_back(
          {at->second.begin,
           at->second.end,
           kernelName(at->first.second),
           {{"launch", at->first.second}, {"entries", at->second.count}}});
    for (auto at = sums.lower_bound({g, 0, INT32_MIN});
         at != sums.end() && std::get<0>(at->first) == g; ++at)
      instructions.push_back(itemOf(at->second, std::get<1>(at->first)));
    writer.layOut(Writer::Classes, next, groupName(g), std::move(routines));
    writer.layOut(Writer::Classes, next, groupName(g) + ", instructions",
                  std::move(instructions));
  }
}

Trace::Item Trace::itemOf(const Sum &sum, size_t launch) const {
  return {sum.begin,
          sum.end,
          sum.name,
          {{"launch", launch},
           {"kernel", kernelName(launch)},
           {"executions", sum.count},
           {"elements", sum.elements},
           {"busy_cycles", sum.busy},
           {"waits_to_receive_cycles", sum.waitsToReceive},
           {"waits_to_send_cycles", sum.waitsToSend}}};
}

void Trace::writeStreams(Writer &writer) const {
  writer.group(Writer::Streams, "host streams");
  int next = 0;
  for (size_t s = 0; s < streams.size(); ++s) {
    if (streams[s].count == 0)
      continue;
    const program::HostStream &stream = *program.streams()->Get(unsigned(s));
    const bool in = stream.direction() == program::Direction::In;
    writer.layOut(Writer::Streams, next,
                  stream.name()->str() + (in ? ", in" : ", out"),
                  {{streams[s].begin,
                    streams[s].end + 1,
                    stream.name()->str(),
                    {{"words", streams[s].count},
                     {"color", stream.color()},
                     {"channels", stream.channels()->size()}}}});
  }
}

void Trace::writeColors(Writer &writer) const {
  writer.group(Writer::Colors, "colors");
  int next = 0;
  for (auto at = colors.begin(); at != colors.end();) {
    const int color = at->first.first;
    std::vector<Item> items;
    for (; at != colors.end() && at->first.first == color; ++at)
      items.push_back(
          {at->second.begin,
           at->second.end,
           kernelName(at->first.second),
           {{"launch", at->first.second}, {"words_sent", at->second.count}}});
    writer.layOut(Writer::Colors, next, "color " + std::to_string(color),
                  std::move(items));
  }
}

void Trace::writeLinks(Writer &writer) const {
  static constexpr const char *names[] = {"north", "south", "east", "west",
                                          "up the ramp"};
  std::map<std::pair<int, int>, std::vector<Item>> links;
  auto add = [&](const Burst &burst) {
    links[{burst.pe, burst.port}].push_back(
        {burst.begin,
         burst.end,
         "color " + std::to_string(burst.color),
         {{"words", burst.words}}});
  };
  for (const Burst &burst : bursts)
    add(burst);
  for (const auto &[where, burst] : running)
    add(burst);
  if (!links.empty())
    writer.group(Writer::Links, "links");
  int next = 0;
  for (auto &[link, items] : links)
    writer.layOut(Writer::Links, next,
                  std::to_string(link.first % width) + "," +
                      std::to_string(link.first / width) + " " +
                      names[link.second],
                  std::move(items));
}

void Trace::writePes(Writer &writer) const {
  std::vector<Slice> all = slices;
  double latest = 0;
  for (const Span &span : launches)
    latest = std::max(latest, span.end);
  // What the end of the run, or of the recording, has cut off.
  for (const auto &[pe, at] : open)
    if (at.open)
      all.push_back({pe, 0, at.task, at.launch, at.begin,
                     std::max(at.begin, latest), "", 0, 0, 0, true});
  std::sort(all.begin(), all.end(), [](const Slice &a, const Slice &b) {
    // What lies in another slice comes after it.
    return std::tuple(a.pe, a.thread, a.begin, -a.end, -a.task, a.name) <
           std::tuple(b.pe, b.thread, b.begin, -b.end, -b.task, b.name);
  });
  size_t i = 0;
  for (size_t at = 0; at < shownPes.size(); ++at) {
    const int pe = shownPes[at], group = Writer::Pes + int(at);
    const program::PEClass &peClass =
        *program.classes()->Get(unsigned(classes[size_t(pe)]));
    writer.group(group, "PE " + std::to_string(pe % width) + "," +
                            std::to_string(pe / width) + ", class " +
                            peClass.name()->str());
    for (int thread = -1; i < all.size() && all[i].pe == pe; ++i) {
      const Slice &slice = all[i];
      if (slice.thread != thread) {
        thread = slice.thread;
        writer.track(group, thread,
                     thread == 0 ? "main thread"
                                 : "microthread " + std::to_string(thread - 1));
      }
      Json args = {{"launch", slice.launch},
                   {"kernel", kernelName(slice.launch)}};
      std::string name = slice.name;
      if (slice.task == -2) {
        args["elements"] = slice.elements;
        args["waits_to_receive_cycles"] = slice.waitsToReceive;
        args["waits_to_send_cycles"] = slice.waitsToSend;
      } else {
        name =
            slice.task < 0
                ? kernelName(slice.launch)
                : "task " +
                      peClass.tasks()->Get(unsigned(slice.task))->name()->str();
      }
      if (slice.unfinished)
        name += ", unfinished";
      writer.slice(group, thread, {slice.begin, slice.end, name, args});
    }
  }
}

std::string Trace::json() const {
  Writer writer;
  writeKernels(writer);
  writeClasses(writer);
  writeStreams(writer);
  writeColors(writer);
  writeLinks(writer);
  writePes(writer);
  const Json other = {{"format", "wsec-trace-1"},
                      {"model", program.model() ? program.model()->str() : ""},
                      {"unit", "a microsecond is a cycle of the wafer"},
                      {"clock_ghz", program.machine()->clock_ghz()},
                      {"mesh", {width, program.machine()->height()}},
                      {"pes_shown", shownPes.size()},
                      {"links_shown", showsLinks},
                      {"left_out_slices", leftOutSlices},
                      {"left_out_instruction_sums", leftOutSums}};
  return "{\"otherData\":" +
         other.dump(-1, ' ', false, Json::error_handler_t::replace) +
         ",\n\"traceEvents\":[" + writer.text + "\n]}\n";
}

} // namespace wsec::runtime
