// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/text/PeText.h"
#include "runtime/program/Call.h"
#include "tools/wse-inspect/text/ConstantText.h"
#include "tools/wse-inspect/text/PeTextParts.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <set>

namespace wsec::runtime {

using namespace program;

namespace {

/// Stands where a program has no launch color.
constexpr int remoteCalls = 255;

class ProgramPrinter {
public:
  ProgramPrinter(const ProgramT &program, const TextOptions &options)
      : program(program), options(options) {
    for (const auto &entry : program.entries)
      for (const auto &launch : entry->launches)
        launches.push_back(launch.get());
  }

  std::string run();

private:
  void nameKernels();
  void nameRoutines();
  void findKernelsOfRoutines();
  bool isKernelOfRoutine(uint32_t kernel, uint32_t routine) const;
  std::map<uint32_t, std::string> describeLaunches() const;
  std::string headline() const;
  Rect mesh() const {
    return {0, program.machine->width, 1, 0, program.machine->height, 1};
  }
  std::string tensor(size_t index) const {
    return symbolText(program.tensors[index]->name);
  }
  void print(const TensorT &tensor);
  void print(const RouteRuleT &route);
  void print(const HostStreamT &stream);
  void print(const SegmentT &segment, const ValueNames &values,
             TextLines &lines);
  void print(const KernelT &kernel, const std::string &name);
  bool isPlain() const;
  void printEntry(const EntryT &entry);
  void printLaunches(const EntryT &entry, const ValueNames &values,
                     TextLines &lines);
  void print(const LaunchT &launch, const ValueNames &values, TextLines &lines);
  void print(const HostCopyT &copy, TextLines &lines);
  void print(const ValueT &value, TextLines &lines);
  static std::string resourceName(size_t number) {
    return "constant_" + std::to_string(number);
  }
  void printResources();

  const ProgramT &program;
  const TextOptions &options;
  std::vector<const LaunchT *> launches; ///< of all entries
  RoutineNames routines;
  std::vector<std::string> kernels;
  /// Kernels from here on are those that launches without one get.
  size_t writtenKernels = 0;
  /// Constants that are too long for a line, in the order of their names.
  std::vector<const TensorT *> resources;
  TextLines out;
};

} // namespace

//===----------------------------------------------------------------------===//
// Kernels and routines
//===----------------------------------------------------------------------===//

// What emission makes for the launches of a routine that name no kernel.
bool ProgramPrinter::isKernelOfRoutine(uint32_t number,
                                       uint32_t routine) const {
  const KernelT &kernel = *program.kernels[number];
  Rect around(INT_MAX, 0, 1, INT_MAX, 0, 1);
  for (const auto &peClass : program.classes)
    for (const auto &its : peClass->routines)
      if (its->id == routine)
        for (const Rect &rect : peClass->rects)
          around = Rect(std::min(around.x0(), rect.x0()),
                        std::max(around.x1(), rect.x1()), 1,
                        std::min(around.y0(), rect.y0()),
                        std::max(around.y1(), rect.y1()), 1);
  return kernel.kind == "routine" && kernel.onnx_nodes.empty() &&
         kernel.bound.empty() && kernel.predicted_cycles == 0 &&
         kernel.lower_bound_cycles == 0 && kernel.region &&
         std::memcmp(kernel.region.get(), &around, sizeof around) == 0;
}

// They are the last ones, in the order of their first launches.
void ProgramPrinter::findKernelsOfRoutines() {
  std::map<uint32_t, uint32_t> kernelOf;
  std::set<std::string> names;
  size_t first = program.kernels.size();
  for (const LaunchT *launch : launches)
    if (launch->kernel < program.kernels.size() &&
        program.kernels[launch->kernel]->kind == "routine")
      first = std::min(first, size_t(launch->kernel));
  writtenKernels = first;
  for (const LaunchT *launch : launches) {
    if (launch->kernel < first)
      continue;
    auto [known, isNew] = kernelOf.emplace(launch->routine, launch->kernel);
    const bool inOrder = launch->kernel == first + kernelOf.size() - 1;
    if (known->second != launch->kernel || (isNew && !inOrder) ||
        !isKernelOfRoutine(launch->kernel, launch->routine) ||
        (isNew && !names.insert(program.kernels[launch->kernel]->name).second))
      writtenKernels = program.kernels.size();
  }
  if (first + kernelOf.size() != program.kernels.size())
    writtenKernels = program.kernels.size();
}

/// `name`, or as much more of it as nobody has taken.
static std::string unique(std::string name, std::set<std::string> &taken) {
  while (!taken.insert(name).second)
    name += "_";
  return name;
}

// Other writers than wsec may have given a kernel the name of something else.
void ProgramPrinter::nameKernels() {
  std::set<std::string> taken;
  for (const auto &tensor : program.tensors)
    taken.insert(tensor->name);
  for (const auto &stream : program.streams)
    taken.insert(stream->name);
  for (const auto &peClass : program.classes)
    taken.insert(peClass->name);
  for (size_t kernel = 0; kernel < writtenKernels; ++kernel)
    kernels.push_back(unique(program.kernels[kernel]->name, taken));
}

void ProgramPrinter::nameRoutines() {
  std::set<std::string> taken;
  for (const auto &peClass : program.classes) {
    for (const auto &buffer : peClass->buffers)
      taken.insert(buffer->name);
    for (const auto &task : peClass->tasks)
      taken.insert(task->name);
  }
  auto add = [&](uint32_t routine, const std::string &name) {
    routines.emplace(routine, unique(name, taken));
  };
  for (const LaunchT *launch : launches) {
    if (routines.count(launch->routine))
      continue;
    const KernelT &kernel = *program.kernels[launch->kernel];
    add(launch->routine, launch->kernel >= writtenKernels
                             ? kernel.name
                             : (kernel.kind.empty() ? "routine" : kernel.kind) +
                                   "_" + std::to_string(launch->routine));
  }
  for (const auto &peClass : program.classes)
    for (const auto &routine : peClass->routines)
      if (!routines.count(routine->id))
        add(routine->id, "routine_" + std::to_string(routine->id));
}

std::map<uint32_t, std::string> ProgramPrinter::describeLaunches() const {
  std::map<uint32_t, std::pair<size_t, std::string>> launches;
  for (const LaunchT *launch : this->launches)
    if (launch->kernel < writtenKernels &&
        launches[launch->routine].first++ == 0)
      launches[launch->routine].second =
          quotedText(program.kernels[launch->kernel]->name);
  std::map<uint32_t, std::string> notes;
  for (const auto &[routine, its] : launches)
    notes[routine] =
        "for " + its.second +
        (its.first == 1 ? ""
                        : " and " + std::to_string(its.first - 1) + " more");
  return notes;
}

void ProgramPrinter::print(const KernelT &kernel, const std::string &name) {
  std::string nodes;
  for (const std::string &node : kernel.onnx_nodes)
    nodes += (nodes.empty() ? "" : ", ") + quotedText(node);
  out.line("kernel " + symbolText(name) + " kind " + quotedText(kernel.kind) +
           " nodes [" + nodes + "] region " +
           rectText(kernel.region ? *kernel.region : mesh()) + " cycles " +
           realText(kernel.predicted_cycles) + " of " +
           realText(kernel.lower_bound_cycles) + " bound " +
           quotedText(kernel.bound));
}

void ProgramPrinter::print(const LaunchT &launch, const ValueNames &values,
                           TextLines &lines) {
  std::string text = "launch " + symbolText(routines.at(launch.routine));
  std::string carried;
  for (uint16_t scalar : launch.arguments)
    carried += (carried.empty() ? "" : ", ") + values.scalar(scalar);
  if (!carried.empty())
    text += "(" + carried + ")";
  if (launch.follows)
    text += " follows";
  if (launch.kernel < writtenKernels)
    text += " for " + symbolText(kernels[launch.kernel]);
  std::string streams;
  for (uint32_t stream : launch.streams)
    streams += (streams.empty() ? "" : ", ") +
               symbolText(program.streams[stream]->name);
  if (!streams.empty())
    text += " streams [" + streams + "]";
  std::string slots;
  for (const Slot &slot : launch.slots)
    slots += (slots.empty() ? "#pe.slot<order " : ", #pe.slot<order ") +
             std::to_string(slot.order()) + " from " +
             std::to_string(slot.begin()) + " to " +
             std::to_string(slot.end()) + " ahead " +
             std::to_string(slot.ahead()) + ">";
  lines.line(text + (slots.empty() ? "" : " slots [" + slots + "]"));
}

// Then launches and copies stand in the program itself.
bool ProgramPrinter::isPlain() const {
  const EntryT &first = *program.entries[0];
  return program.entries.size() == 1 && first.name == mainEntry &&
         first.arguments.empty() && first.scalars.empty();
}

void ProgramPrinter::printLaunches(const EntryT &entry,
                                   const ValueNames &values, TextLines &lines) {
  std::multimap<size_t, const HostCopyT *> copies;
  for (const auto &copy : entry.copies)
    copies.emplace(copy->launch, copy.get());
  std::multimap<size_t, const ValueT *> heldAfter;
  for (const auto &value : entry.values)
    heldAfter.emplace(value->launch, value.get());
  for (size_t number = 0; number <= entry.launches.size(); ++number) {
    auto [copy, end] = copies.equal_range(number);
    for (; copy != end; ++copy)
      print(*copy->second, lines);
    if (number == entry.launches.size())
      break;
    print(*entry.launches[number], values, lines);
    auto [held, last] = heldAfter.equal_range(number);
    for (; held != last; ++held)
      print(*held->second, lines);
  }
}

void ProgramPrinter::printEntry(const EntryT &entry) {
  std::vector<std::string> names;
  std::string arguments;
  for (const auto &argument : entry.arguments) {
    names.push_back(argument->name);
    arguments += (arguments.empty() ? "%" : ", %") + argument->name + " from " +
                 std::to_string(argument->from) + " to " +
                 std::to_string(argument->to);
  }
  out.open("entry " + symbolText(entry.name) +
           (arguments.empty() ? "" : "(" + arguments + ")"));
  const ValueNames values(entry.scalars, names);
  TextLines lines = out.inner();
  printLaunches(entry, values, lines);
  values.printScalars(out);
  out.append(std::move(lines));
  out.close();
}

//===----------------------------------------------------------------------===//
// Routes and the host
//===----------------------------------------------------------------------===//

void ProgramPrinter::print(const RouteRuleT &route) {
  std::string positions;
  for (const SwitchPosition &position : route.positions)
    positions +=
        (positions.empty() ? "" : ", ") +
        (position.receive() >= 0
             ? "from " + snakeCase(EnumNamePort(Port(position.receive())))
             : "to " + portsText(position.transmit()));
  std::string text = "route " + std::to_string(route.color) + " " +
                     rectText(*route.rect) + " from " +
                     snakeCase(EnumNamePort(route.receive)) + " to " +
                     portsText(route.transmit);
  if (!positions.empty())
    text += " switch [" + positions + "]";
  if (route.ring)
    text += " ring";
  if (route.pop != PopMode::Never)
    text += " pop " + snakeCase(EnumNamePopMode(route.pop));
  if (route.initial)
    text += " initial " + std::to_string(route.initial);
  out.line(text);
}

static std::string tensorText(const std::vector<int64_t> &shape,
                              ElementType type) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + typeText(type) + ">";
}

void ProgramPrinter::print(const TensorT &tensor) {
  std::string text = "tensor " + snakeCase(EnumNameTensorRole(tensor.role)) +
                     " " + symbolText(tensor.name);
  const std::string type = tensorText(tensor.shape, tensor.type);
  if (tensor.sparsity) {
    const SparsityT &sparse = *tensor.sparsity;
    auto number = [&](const char *before, auto value) {
      text += before + std::to_string(value);
    };
    text += " sparse <" + this->tensor(sparse.tensor);
    number(" at ", sparse.offset);
    number(" strides [", sparse.strides.at(0));
    number(", ", sparse.strides.at(1));
    number("] rows ", sparse.rows);
    number(" columns ", sparse.columns);
    number(" keep ", sparse.kept);
    number(" of ", sparse.group);
    number(" rest ", sparse.rest);
    text += sparse.method == SparsityMethod::Random ? " random" : " topk";
    number(" seed ", sparse.seed);
    number(" step ", sparse.index_step);
    text += ">";
  } else if (tensor.role == TensorRole::Weight) {
    const TextFile &file = options.files.at(size_t(tensor.file));
    text += " from <" + quotedText(file.path) + " at " +
            std::to_string(file.start + tensor.offset) + ">";
  }
  if (tensor.role == TensorRole::Constant) {
    const ConstantText value(tensor);
    text += " = " +
            (value.isShort()
                 ? value.run()
                 : "dense_resource<" + resourceName(resources.size()) + ">") +
            " : " + type;
    if (!value.isShort())
      resources.push_back(&tensor);
  }
  if (tensor.alias >= 0)
    text += " alias " + this->tensor(size_t(tensor.alias));
  if (!tensor.parameter.empty())
    text += " parameter " + quotedText(tensor.parameter);
  if (tensor.gradient) {
    const GradientT &gradient = *tensor.gradient;
    text += " gradient <" + quotedText(gradient.parameter) + " at " +
            std::to_string(gradient.offset);
    for (size_t d = 0; d < gradient.strides.size(); ++d)
      text += (d ? ", " : " strides [") + std::to_string(gradient.strides[d]);
    if (!gradient.strides.empty())
      text += "]";
    if (gradient.rows >= 0)
      text += " rows " + this->tensor(size_t(gradient.rows));
    text += ">";
  }
  if (tensor.experts > 0)
    text += " choose of " + std::to_string(tensor.experts);
  out.line(text + " : " + type);
}

/// [%x * 4, strides = [1]]
static std::string accessText(const ValueNames &values, const AffineT &offset,
                              const std::vector<int64_t> &strides) {
  std::string list;
  for (int64_t stride : strides)
    list += (list.empty() ? "" : ", ") + std::to_string(stride);
  return "[" + values.sum(offset) + ", strides = [" + list + "]]";
}

void ProgramPrinter::print(const SegmentT &segment, const ValueNames &values,
                           TextLines &lines) {
  std::string text = "segment " + tensor(segment.tensor) +
                     accessText(values, *segment.offset, segment.strides) +
                     " over " + values.list(segment.extents);
  if (!segment.lines->terms.empty() || segment.lines->constant != 1 ||
      segment.line_stride != 0)
    text += " lines " + values.sum(*segment.lines) + " step " +
            std::to_string(segment.line_stride);
  if (segment.index_tensor >= 0)
    text += " indexed " + tensor(size_t(segment.index_tensor)) +
            (segment.index_at < 0 ? ""
                                  : " at " + std::to_string(segment.index_at)) +
            " step " + std::to_string(segment.index_stride) + " rows " +
            std::to_string(segment.index_count);
  if (segment.accumulate)
    text += " accumulate";
  if (segment.halves != ElementType::F32)
    text += " halves " + typeText(segment.halves);
  lines.line(text);
}

/// " (%a0, %a1)", as far as they are used.
static std::string argumentsText(const std::vector<ScalarNode> &nodes) {
  int32_t count = 0;
  for (const ScalarNode &node : nodes)
    if (node.op() == ScalarOp::Argument)
      count = std::max(count, node.a() + 1);
  std::string text;
  for (int32_t i = 0; i < count; ++i)
    text += (i ? ", %a" : " (%a") + std::to_string(i);
  return text.empty() ? "" : text + ")";
}

void ProgramPrinter::print(const HostStreamT &stream) {
  std::string channels;
  for (const Channel &channel : stream.channels)
    channels += (channels.empty() ? "" : ", ") + std::to_string(channel.row()) +
                " -> " + std::to_string(channel.begin()) + ":" +
                std::to_string(channel.end());
  std::string wire;
  if (stream.type != ElementType::F32)
    wire += " type " + typeText(stream.type);
  if (stream.packing == Packing::Pair)
    wire += " pair";
  if (stream.indexed)
    wire += " indexed";
  out.open("stream " + snakeCase(EnumNameDirection(stream.direction)) + " " +
           symbolText(stream.name) + " color " + std::to_string(stream.color) +
           wire + " channels [" + channels + "]" +
           argumentsText(stream.scalars));
  const ValueNames values(stream.scalars);
  TextLines segments = out.inner();
  for (const auto &segment : stream.segments)
    print(*segment, values, segments);
  values.printScalars(out);
  out.append(std::move(segments));
  out.close();
}

void ProgramPrinter::print(const HostCopyT &copy, TextLines &lines) {
  const bool in = copy.direction == Direction::In;
  lines.line(std::string(in ? "copy in " : "copy out ") + tensor(copy.tensor) +
             (in ? " to " : " from ") + symbolText(copy.buffer) + " " +
             rectText(*copy.rect) +
             (copy.order == CopyOrder::Row ? "" : " order column"));
}

void ProgramPrinter::print(const ValueT &value, TextLines &lines) {
  lines.open("value " + quotedText(value.name) + " : " +
             tensorText(value.shape, value.type) + " in " +
             symbolText(value.buffer) + " " + rectText(*value.rect));
  const ValueNames names(value.scalars);
  TextLines piece = lines.inner();
  piece.line("piece " + accessText(names, *value.offset, value.strides) +
             " over " + names.list(value.extents) + " at " +
             accessText(names, *value.place, value.places));
  names.printScalars(lines);
  lines.append(std::move(piece));
  lines.close();
}

// Behind the program, where nobody has to read past them: the alignment in
// four bytes, then the elements.
void ProgramPrinter::printResources() {
  if (resources.empty())
    return;
  constexpr const char *digits = "0123456789ABCDEF";
  out.open("{-# dialect_resources:");
  out.open("builtin:");
  for (size_t number = 0; number < resources.size(); ++number) {
    const std::vector<uint8_t> &data = resources[number]->data;
    std::string text = resourceName(number) + ": \"0x20000000";
    text.reserve(text.size() + 2 * data.size() + 2);
    for (uint8_t byte : data)
      text.append({digits[byte >> 4], digits[byte & 15]});
    out.line(text + (number + 1 < resources.size() ? "\"," : "\""));
  }
  out.close();
  out.close(" #-}");
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

std::string ProgramPrinter::headline() const {
  const bool named = symbolText(program.model).find('"') == std::string::npos;
  std::string text = "pe.program " +
                     (named ? symbolText(program.model) : "@main") + " mesh [" +
                     std::to_string(program.machine->width) + ", " +
                     std::to_string(program.machine->height) + "] machine " +
                     quotedText(options.machine);
  if (program.launch_color != remoteCalls)
    text += " launch_color " + std::to_string(program.launch_color);
  if (!named)
    text += " model " + quotedText(program.model);
  // Absent ones are counted, but a model may have more than a program streams.
  if (program.parameters || program.weight_bytes)
    text += " attributes {parameters = " + std::to_string(program.parameters) +
            " : i64, weight_bytes = " + std::to_string(program.weight_bytes) +
            " : i64}";
  return text;
}

std::string ProgramPrinter::run() {
  findKernelsOfRoutines();
  nameKernels();
  nameRoutines();
  for (const std::string &comment : options.head)
    out.line("// " + comment);
  out.open(headline());
  for (const auto &tensor : program.tensors)
    print(*tensor);
  for (const auto &route : program.routes)
    print(*route);
  const std::map<uint32_t, std::string> notes = describeLaunches();
  for (const auto &peClass : program.classes)
    printClass(*peClass, routines, notes, out);
  for (const auto &stream : program.streams)
    print(*stream);
  for (size_t kernel = 0; kernel < writtenKernels; ++kernel)
    print(*program.kernels[kernel], kernels[kernel]);
  if (isPlain())
    printLaunches(*program.entries[0], ValueNames({}), out);
  else
    for (const auto &entry : program.entries)
      printEntry(*entry);
  out.close();
  printResources();
  return out.take();
}

std::string peText(const ProgramT &program, const TextOptions &options) {
  return ProgramPrinter(program, options).run();
}

} // namespace wsec::runtime
