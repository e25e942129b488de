// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/observe/Probe.h"

#include "runtime/engine/Rectangles.h"
#include "runtime/pe/Arithmetic.h"
#include "runtime/pe/Code.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/facts/Holdings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

namespace wsec::runtime {

// ---------------------------------------------------------------- asking

Probe::Probe(const program::Program &program) : Probe(Call(program)) {}

Probe::Probe(const Call &which)
    : call(which), program(call.program()), values(call) {
  const int width = program.machine()->width();
  classes.assign(size_t(width) * size_t(program.machine()->height()), -1);
  for (unsigned c = 0; c < program.classes()->size(); ++c)
    for (const program::Rect *rect : *program.classes()->Get(c)->rects())
      for (int y = rect->y0(); y < rect->y1(); y += rect->ystep())
        for (int x = rect->x0(); x < rect->x1(); x += rect->xstep())
          classes[size_t(y * width + x)] = int(c);
}

/// A number of at least 0 that is all of the text; else -1.
static long long wholeNumber(const std::string &text) {
  const bool digits = !text.empty() && text.size() < 18 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::atoll(text.c_str()) : -1;
}

std::string Probe::namePe(int pe) const {
  const int width = program.machine()->width();
  return "PE (" + std::to_string(pe % width) + ", " +
         std::to_string(pe / width) + ")";
}

int Probe::parsePe(const std::string &text, const std::string &flag) const {
  const size_t comma = text.find(',');
  const long long x = wholeNumber(text.substr(0, comma));
  const long long y =
      comma == text.npos ? -1 : wholeNumber(text.substr(comma + 1));
  if (x < 0 || y < 0)
    throw ProbeError(flag + " wants a PE as x,y first, found " +
                     inQuotes(text));
  const int width = program.machine()->width(),
            height = program.machine()->height();
  if (x >= width || y >= height)
    throw ProbeError(
        flag + ": PE (" + std::to_string(x) + ", " + std::to_string(y) +
        ") is outside of the mesh, which has " + std::to_string(width) + " x " +
        std::to_string(height) + " PEs");
  const int pe = int(y) * width + int(x);
  if (classes[size_t(pe)] < 0)
    throw ProbeError(flag + ": " + namePe(pe) + " has no code");
  return pe;
}

const program::PEClass &Probe::classOf(int pe) const {
  return *program.classes()->Get(unsigned(classes[size_t(pe)]));
}

void Probe::setUntil(const std::string &moment) {
  const size_t colon = moment.find(':');
  const std::string kind = moment.substr(0, colon);
  const std::string what = colon == moment.npos ? "" : moment.substr(colon + 1);
  const auto &launches = *call.entry().launches();
  if (colon == moment.npos && wholeNumber(moment) >= 0) {
    untilCycle = double(wholeNumber(moment));
    reason = "after cycle " + moment;
    return;
  }
  if (kind == "launch" && wholeNumber(what) >= 0) {
    if (wholeNumber(what) >= (long long)launches.size())
      throw ProbeError("--until: there is no launch " + what +
                       "; the program has " + std::to_string(launches.size()) +
                       ", from 0");
    untilLaunch = size_t(wholeNumber(what));
  } else if (kind == "kernel" && !what.empty()) {
    std::vector<std::string> names;
    for (unsigned l = 0; l < launches.size(); ++l)
      for (const std::string &name : namesOf(l)) {
        names.push_back(name);
        if (name == what)
          untilLaunch = std::min<size_t>(untilLaunch, l);
      }
    if (untilLaunch >= launches.size())
      throw ProbeError("--until: there is no kernel " + inQuotes(what) +
                       nearestNames(what, names));
  } else {
    throw ProbeError("--until wants a cycle, launch:N or kernel:NAME, found " +
                     inQuotes(moment));
  }
  reason = "before " + describeLaunch(untilLaunch);
}

std::vector<std::string> Probe::namesOf(size_t launch) const {
  const uint32_t index = call.launch(launch).kernel();
  if (!program.kernels() || index >= program.kernels()->size())
    return {};
  const program::Kernel &kernel = *program.kernels()->Get(index);
  std::vector<std::string> names = {kernel.name()->str()};
  if (kernel.onnx_nodes())
    for (const flatbuffers::String *node : *kernel.onnx_nodes())
      names.push_back(node->str());
  return names;
}

std::string Probe::describeLaunch(size_t launch) const {
  std::string text = "launch " + std::to_string(launch);
  const uint32_t kernel = call.launch(launch).kernel();
  if (program.kernels() && kernel < program.kernels()->size())
    text += " (kernel " +
            inQuotes(program.kernels()->Get(kernel)->name()->str()) + ")";
  return text;
}

void Probe::addBreak(const std::string &where) {
  const size_t colon = where.find(':');
  const int pe = parsePe(where.substr(0, colon), "--break");
  const std::string name = colon == where.npos ? "" : where.substr(colon + 1);
  std::vector<std::string> names;
  const program::PEClass &peClass = classOf(pe);
  for (unsigned t = 0; peClass.tasks() && t < peClass.tasks()->size(); ++t) {
    names.push_back(peClass.tasks()->Get(t)->name()->str());
    if (names.back() == name)
      return breaks.push_back({pe, int(t), ""});
  }
  std::set<uint32_t> routines;
  if (peClass.routines())
    for (const program::Routine *routine : *peClass.routines())
      routines.insert(routine->id());
  for (unsigned l = 0; l < call.launches(); ++l) {
    if (!routines.count(call.launch(l).routine()))
      continue;
    for (const std::string &known : namesOf(l)) {
      names.push_back(known);
      if (known == name)
        return breaks.push_back({pe, -1, name});
    }
  }
  throw ProbeError(
      "--break: " + namePe(pe) + ", class " + inQuotes(peClass.name()->str()) +
      ", runs no task or kernel " + inQuotes(name) + nearestNames(name, names));
}

int Probe::findBuffer(int pe, const std::string &name) const {
  std::vector<std::string> names;
  const program::PEClass &peClass = classOf(pe);
  for (unsigned b = 0; peClass.buffers() && b < peClass.buffers()->size();
       ++b) {
    names.push_back(peClass.buffers()->Get(b)->name()->str());
    if (names.back() == name)
      return int(b);
  }
  throw ProbeError("--peek: " + namePe(pe) + ", class " +
                   inQuotes(peClass.name()->str()) + ", has no buffer " +
                   inQuotes(name) + nearestNames(name, names));
}

void Probe::parseRange(Peek &peek, const std::string &range,
                       const std::string &what) const {
  const size_t colon = range.find(':');
  peek.from = wholeNumber(range.substr(0, colon));
  peek.to = colon == range.npos ? peek.from + 1
                                : wholeNumber(range.substr(colon + 1));
  if (peek.from < 0 || peek.to < peek.from)
    throw ProbeError("--peek wants a range of elements as [i] or [from:to], "
                     "found " +
                     inQuotes(what));
  const program::Buffer &buffer =
      *classOf(peek.pe).buffers()->Get(unsigned(peek.buffer));
  const int64_t elements = buffer.bytes() / elementSize(buffer.type());
  if (peek.to > elements)
    throw ProbeError("--peek: buffer " + inQuotes(buffer.name()->str()) +
                     " has " + std::to_string(elements) + " elements, " +
                     inQuotes(what) + " goes beyond");
}

/// "3,4", "3,4:x": a PE comes first.
static bool beginsWithPe(const std::string &text) {
  const size_t comma = text.find(',');
  return comma != text.npos && wholeNumber(text.substr(0, comma)) >= 0;
}

/// NAME[i,j,...], where a program knows its values; false if it is no such
/// thing.
bool Probe::addValuePeek(const std::string &what) {
  const size_t bracket = what.rfind('[');
  const std::string name = what.substr(0, bracket);
  const int value = values.find(name);
  if (beginsWithPe(what) || (value < 0 && bracket == what.npos))
    return false;
  if (value < 0)
    throw ProbeError("--peek: the PEs hold no value " + inQuotes(name) +
                     nearestNames(name, values.names()));
  const program::Value &its = *call.entry().values()->Get(unsigned(value));
  const size_t rank = its.shape() ? its.shape()->size() : 0;
  std::string shape, rest = bracket == what.npos || what.back() != ']'
                                ? std::string()
                                : what.substr(bracket + 1);
  uint64_t element = 0;
  bool good = !rest.empty();
  for (size_t d = 0; d < rank; ++d) {
    const int64_t extent = its.shape()->Get(unsigned(d));
    shape += (d ? ", " : "") + std::to_string(extent);
    const size_t end = rest.find(d + 1 < rank ? ',' : ']');
    const long long index = wholeNumber(rest.substr(0, end));
    good &= end != rest.npos && index >= 0 && index < extent;
    element = element * uint64_t(extent) + uint64_t(std::max(0ll, index));
    rest.erase(0, end == rest.npos ? end : end + 1);
  }
  if (!good || (rank > 0 && !rest.empty()))
    throw ProbeError(
        "--peek wants an element of value " + inQuotes(name) + " as " + name +
        "[" + (rank > 1 ? "i,j" + std::string(rank > 2 ? ",..." : "") : "i") +
        "], inside of [" + shape + "], found " + inQuotes(what));
  values.want(uint32_t(value));
  valuePeeks.push_back({uint32_t(value), element, what});
  return true;
}

void Probe::addPeek(const std::string &what) {
  if (addValuePeek(what))
    return;
  const size_t end = what.find_first_of(": ");
  Peek peek{parsePe(what.substr(0, end), "--peek")};
  if (end != what.npos) {
    std::string name = what.substr(end + 1), range;
    const size_t bracket = name.rfind('[');
    if (bracket != name.npos && name.back() == ']') {
      range = name.substr(bracket + 1, name.size() - bracket - 2);
      name.resize(bracket);
    }
    peek.buffer = findBuffer(peek.pe, name);
    if (bracket != what.npos && bracket < what.size())
      parseRange(peek, range, what);
  }
  peeks.push_back(peek);
}

bool Probe::stops() const {
  return !breaks.empty() || untilLaunch < call.launches() || stopsAtCycle();
}

bool Probe::stopsAtCycle() const { return std::isfinite(untilCycle); }

// ---------------------------------------------------------------- the run

void Probe::enter(ObservedPes pes, size_t launch, int task, double time) {
  values.enter(pes, launch, task, time);
  for (const Peek &peek : peeks)
    if (task < 0 && std::find(pes.begin(), pes.end(), peek.pe) != pes.end())
      entered[peek.pe] = int(launch);
  for (const Break &point : breaks) {
    if (point.task != task ||
        std::find(pes.begin(), pes.end(), point.pe) == pes.end())
      continue;
    const std::vector<std::string> names = namesOf(launch);
    if (task < 0 &&
        std::find(names.begin(), names.end(), point.kernel) == names.end())
      continue;
    stoppedAt = point.pe;
    stoppedTime = time;
    reason = "as " + namePe(point.pe) + " enters ";
    reason += task < 0 ? describeLaunch(launch)
                       : "task " +
                             inQuotes(classOf(point.pe)
                                          .tasks()
                                          ->Get(unsigned(task))
                                          ->name()
                                          ->str()) +
                             " in " + describeLaunch(launch);
    throw StopRun{};
  }
}

void Probe::inspect(const Inspection &state, RunEnd end) {
  values.untilLaunch = untilLaunch;
  values.inspect(state, end);
  char cycle[48];
  std::snprintf(cycle, sizeof(cycle), "cycle %.0f",
                std::ceil(stoppedAt >= 0 ? stoppedTime : state.cycle()));
  if (end == RunEnd::Stopped && stopsAtCycle() && stoppedAt < 0)
    report = "stopped " + reason + "\n";
  else if (end == RunEnd::Stopped)
    report = "stopped " + reason + ", " + cycle + "\n";
  else if (end == RunEnd::Failed)
    report = std::string("ends in an error, ") + cycle + "\n";
  else
    report = std::string("at the end, ") + cycle +
             (breaks.empty() ? "\n" : "; no break was reached\n");
  if (stoppedAt < 0 && peeks.empty() && valuePeeks.empty())
    report += describeAll(state);
  for (const ValuePeek &peek : valuePeeks)
    report += describeValue(peek);
  std::vector<int> order; // PEs as they were asked for
  if (stoppedAt >= 0)
    order.push_back(stoppedAt);
  for (const Peek &peek : peeks)
    if (std::find(order.begin(), order.end(), peek.pe) == order.end())
      order.push_back(peek.pe);
  for (int pe : order) {
    report += describePe(state, pe);
    for (const Peek &peek : peeks)
      if (peek.pe == pe)
        report += describeBuffers(state, peek);
  }
}

// ---------------------------------------------------------------- saying

static std::string listed(const char *title,
                          const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text +=
        (text.empty() ? std::string("  ") + title : "          ") + line + "\n";
  return text;
}

std::string Probe::describePe(const Inspection &state, int pe) const {
  std::string text = namePe(pe) + ", class " +
                     inQuotes(classOf(pe).name()->str()) +
                     (stoppedAt >= 0 && pe != stoppedAt && !state.simultaneous()
                          ? ", at another cycle (strips engine)\n"
                          : "\n");
  const std::string lines = listed("threads ", state.threads(pe)) +
                            listed("tasks   ", state.tasks(pe)) +
                            listed("queues  ", state.queues(pe));
  return text + (lines.empty() && pe != stoppedAt ? "  at rest\n" : lines);
}

/// Who waits for what, in rectangles.
std::string Probe::describeAll(const Inspection &state) const {
  const int width = program.machine()->width();
  std::map<std::string, std::vector<Coordinate>> who;
  for (int pe = 0; pe < int(classes.size()); ++pe)
    if (state.code(pe))
      for (const auto &lines :
           {state.threads(pe), state.tasks(pe), state.queues(pe)})
        for (const std::string &line : lines)
          who[line].push_back({pe % width, pe / width});
  std::string text;
  for (auto &[line, pes] : who)
    text += "  " + line + " at " + describeRectangles(std::move(pes)) + "\n";
  return text.empty() ? "  all PEs are at rest\n" : text;
}

std::string Probe::describeBuffers(const Inspection &state,
                                   const Peek &peek) const {
  std::string text;
  const auto *buffers = classOf(peek.pe).buffers();
  for (int b = 0; buffers && b < int(buffers->size()); ++b)
    if (peek.buffer < 0 || peek.buffer == b)
      text += describeBuffer(state, peek, b);
  return text;
}

static std::string valueOf(program::ElementType type, uint32_t bits) {
  if (type == program::ElementType::U32)
    return std::to_string(bits);
  if (isInteger(type))
    return std::to_string(
        decodeElement(type, NumberKind::Integer, bits).integer);
  char text[32];
  std::snprintf(text, sizeof(text),
                type == program::ElementType::F32 ? "%.9g" : "%.5g",
                double(decodeElement(type, NumberKind::Single, bits).real));
  return text;
}

std::string Probe::describeValue(const ValuePeek &peek) const {
  const program::Value &value = *call.entry().values()->Get(peek.value);
  const std::string after = ", after " + describeLaunch(value.launch());
  try {
    const std::vector<uint8_t> &elements = values.elements(peek.value);
    const size_t size = elementSize(value.type());
    uint32_t bits = 0;
    std::memcpy(&bits, elements.data() + peek.element * size, size);
    const Values::Place place = values.placeOf(peek.value, peek.element);
    return peek.text + " = " + valueOf(value.type(), bits) + ", in " +
           namePe(place.pe) + ", element " + std::to_string(place.element) +
           " of buffer " + inQuotes(value.buffer()->str()) + after + "\n";
  } catch (const Error &error) {
    return peek.text + ": " + error.message() + after + "\n";
  }
}

std::string Probe::describeOwner(int pe, int index, bool &lost) const {
  const auto launch = entered.find(pe);
  if (launch == entered.end())
    return ""; // it has run nothing
  const int width = program.machine()->width();
  const std::pair<int, int> at(pe % width, pe / width);
  const std::vector<Holdings> all =
      bufferHoldings(call.entry(), classOf(pe), &at);
  auto latest = [&](size_t buffer) {
    const Holding *found = nullptr;
    for (const Holding &holding : all[buffer])
      if (holding.first <= launch->second)
        found = &holding;
    return found;
  };
  const auto &buffers = *classOf(pe).buffers();
  const program::Buffer &its = *buffers.Get(unsigned(index));
  const Holding *holding = latest(size_t(index));
  for (unsigned b = 0; b < buffers.size(); ++b) {
    const program::Buffer &other = *buffers.Get(b);
    const Holding *after = int(b) == index ? nullptr : latest(b);
    if (!after || (holding && after->first <= holding->first) ||
        other.address() >= its.address() + its.bytes() ||
        its.address() >= other.address() + other.bytes())
      continue;
    lost = true;
    return ", its bytes are those of " + inQuotes(other.name()->str()) +
           " since launch " + std::to_string(after->first);
  }
  if (!holding)
    return ", not written yet";
  if (call.launches() == 1)
    return "";
  const std::string owner = ownerOf(program, *holding);
  std::string text = owner.empty() ? ""
                     : holding->kernel == Holding::host
                         ? ", of the host"
                         : ", of kernel " + inQuotes(owner);
  text += ", since launch " + std::to_string(holding->first);
  if (holding->last < launch->second)
    text += ", read last in launch " + std::to_string(holding->last);
  return text;
}

std::string Probe::describeBuffer(const Inspection &state, const Peek &peek,
                                  int index) const {
  const program::Buffer &buffer =
      *classOf(peek.pe).buffers()->Get(unsigned(index));
  const auto size = int64_t(elementSize(buffer.type()));
  const int64_t elements = buffer.bytes() / size;
  // Without a range as much as one looks through.
  const int64_t most = peek.buffer < 0 ? 8 : 64;
  const int64_t to = peek.to < 0 ? std::min(elements, most) : peek.to;
  std::string text = "  buffer  " + inQuotes(buffer.name()->str()) + ", " +
                     std::to_string(elements) + " x " +
                     program::EnumNameElementType(buffer.type()) + " at " +
                     std::to_string(buffer.address());
  bool lost = false;
  text += describeOwner(peek.pe, index, lost);
  if (lost) // only who asked for it by name hears of it
    return peek.buffer < 0 ? "" : text + "\n";
  constexpr int64_t perLine = 8;
  for (int64_t i = peek.from; i < to; ++i) {
    if ((i - peek.from) % perLine == 0)
      text += "\n    [" + std::to_string(i) + "]";
    uint32_t bits = 0;
    const bool known =
        state.read(peek.pe, buffer.address() + i * size, size_t(size), &bits);
    text += " " + (known ? valueOf(buffer.type(), bits) : "-");
  }
  if (peek.to < 0 && to < elements)
    text += "\n    and " + std::to_string(elements - to) + " more";
  return text + "\n";
}

} // namespace wsec::runtime
