// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/Summary.h"
#include "runtime/program/Call.h"
#include "runtime/program/Lengths.h"
#include "runtime/program/RectSet.h"
#include "runtime/program/facts/Facts.h"
#include "runtime/program/facts/Residency.h"

#include <cstdio>
#include <map>
#include <memory>

namespace wsec::inspect {

using namespace runtime;

namespace {

std::string text(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

/// 64-bit FNV-1a of a table, independent of where the file keeps it.
template <typename Table>
std::string digest(const Table &table) {
  flatbuffers::FlatBufferBuilder builder;
  std::unique_ptr<typename Table::NativeTableType> copy(table.UnPack());
  builder.Finish(Table::Pack(builder, copy.get()));
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < builder.GetSize(); ++i)
    hash = (hash ^ builder.GetBufferPointer()[i]) * 0x100000001b3u;
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(hash));
  return digits;
}

size_t countInstructions(
    const flatbuffers::Vector<flatbuffers::Offset<program::Statement>> *body) {
  size_t count = 0;
  if (!body)
    return count;
  for (const program::Statement *statement : *body)
    if (const auto *loop = statement->kind_as_Loop())
      count += countInstructions(loop->body());
    else if (const auto *branch = statement->kind_as_If())
      count += countInstructions(branch->then()) +
               countInstructions(branch->otherwise());
    else
      count += statement->kind_as_Instruction() != nullptr;
  return count;
}

Json machineJson(const program::Machine &m) {
  return {{"name", text(m.name())},
          {"fabric", {m.fabric_width(), m.fabric_height()}},
          {"mesh", {m.width(), m.height()}},
          {"clock_ghz", m.clock_ghz()},
          {"sram_bytes", m.sram_bytes()},
          {"runtime_bytes", m.runtime_bytes()},
          {"colors", m.colors()},
          {"reserved_colors", m.reserved_colors()},
          {"channels", m.channels()},
          {"microthreads", m.microthreads()},
          {"digest", digest(m)}};
}

Json bufferJson(const program::Buffer &buffer) {
  return {{"name", text(buffer.name())},
          {"address", buffer.address()},
          {"bytes", buffer.bytes()},
          {"type", program::EnumNameElementType(buffer.type())},
          {"onnx_node", text(buffer.onnx_node())}};
}

Json tasksJson(const program::PEClass &peClass) {
  Json tasks = Json::array();
  if (!peClass.tasks())
    return tasks;
  for (const program::Task *task : *peClass.tasks())
    tasks.push_back({{"name", text(task->name())},
                     {"kind", program::EnumNameTaskKind(task->kind())},
                     {"id", task->id()},
                     {"blocked", task->blocked()},
                     {"instructions", countInstructions(task->body())},
                     {"digest", digest(*task)}});
  return tasks;
}

/// Queues and filters as lines of text: what happens to a color at the ramp.
Json rampJson(const program::PEClass &peClass) {
  Json lines = Json::array();
  if (peClass.queues())
    for (const program::QueueBinding *queue : *peClass.queues())
      lines.push_back("color " + std::to_string(queue->color()) +
                      (queue->output() ? ": output queue " : ": input queue ") +
                      std::to_string(queue->queue()));
  if (peClass.filters())
    for (const program::Filter *filter : *peClass.filters())
      lines.push_back(
          "color " + std::to_string(filter->color()) + ": filter by " +
          (filter->kind() == program::FilterKind::Range ? "index" : "count"));
  return lines;
}

Json classJson(const program::PEClass &peClass) {
  Json json = {{"name", text(peClass.name())}};
  uint64_t pes = 0, persistent = 0;
  Json rects = Json::array(), buffers = Json::array(), routines = Json::array();
  for (const program::Rect *rect : *peClass.rects()) {
    pes += uint64_t(rectSize(*rect));
    rects.push_back(describeRect(*rect));
  }
  if (peClass.buffers())
    for (const program::Buffer *buffer : *peClass.buffers()) {
      buffers.push_back(bufferJson(*buffer));
      persistent += buffer->persistent() ? buffer->bytes() : 0;
    }
  if (peClass.routines())
    for (const program::Routine *routine : *peClass.routines())
      routines.push_back({{"id", routine->id()},
                          {"instructions", countInstructions(routine->body())},
                          {"digest", digest(*routine)}});
  json["pes"] = pes;
  json["rects"] = rects;
  json["code_bytes"] = peClass.code_bytes();
  json["scalars"] = peClass.scalars() ? peClass.scalars()->size() : 0;
  json["buffers"] = buffers;
  json["persistent_bytes"] = persistent;
  json["routines"] = routines;
  json["tasks"] = tasksJson(peClass);
  json["ramp"] = rampJson(peClass);
  json["digest"] = digest(peClass);
  return json;
}

std::string portsOf(int transmit) {
  std::string ports;
  for (int port = 0; port < 5; ++port)
    if (transmit >> port & 1)
      ports += (ports.empty() ? "" : "+") +
               std::string(program::EnumNamePort(program::Port(port)));
  return ports.empty() ? "nothing" : ports;
}

/// The further positions of a rule's switch, and how it moves.
std::string switchOf(const program::RouteRule &rule) {
  std::string positions;
  if (rule.positions())
    for (const program::SwitchPosition *position : *rule.positions())
      positions += (positions.empty() ? "" : ", ") +
                   (position->receive() >= 0
                        ? "from " + std::string(program::EnumNamePort(
                                        program::Port(position->receive())))
                        : "to " + portsOf(position->transmit()));
  std::string text = positions.empty() ? "" : ", switch [" + positions + "]";
  if (rule.initial() > 0)
    text += ", starts in " + std::to_string(rule.initial());
  if (rule.ring())
    text += ", ring";
  if (rule.pop() != program::PopMode::Never)
    text += std::string(", pop ") + program::EnumNamePopMode(rule.pop());
  return text;
}

/// Rules by color, with how many PEs have one.
Json routesJson(const program::Program &program) {
  std::map<int, Json> colors;
  for (const program::RouteRule *rule : *program.routes()) {
    Json &color = colors[rule->color()];
    if (color.is_null())
      color = {{"color", rule->color()}, {"pes", 0}, {"rules", Json::array()}};
    color["pes"] = color["pes"].get<int64_t>() + rectSize(*rule->rect());
    color["rules"].push_back(describeRect(*rule->rect()) + ": " +
                             describeRule(*rule));
  }
  Json routes = Json::array();
  for (auto &[number, color] : colors)
    routes.push_back(std::move(color));
  return routes;
}

Json tensorsJson(const program::Program &program) {
  Json tensors = Json::array();
  for (uint32_t i = 0; i < program.tensors()->size(); ++i) {
    const program::Tensor *tensor = program.tensors()->Get(i);
    const bool isNumber = isLength(program, i);
    Json shape = Json::array();
    if (tensor->shape())
      for (int64_t extent : *tensor->shape())
        shape.push_back(extent);
    tensors.push_back(
        {{"name", text(tensor->name())},
         {"role",
          isNumber ? "Length" : program::EnumNameTensorRole(tensor->role())},
         {"type", program::EnumNameElementType(tensor->type())},
         {"shape", shape},
         {"digest", digest(*tensor)}});
    if (const auto *length = lengthOf(program, *tensor)) {
      tensors.back()["least"] = length->from();
      for (const uint8_t axis : *tensor->length_axes())
        tensors.back()["length_axes"].push_back(axis);
    }
  }
  return tensors;
}

Json filesJson(const program::Program &program) {
  Json files = Json::array();
  if (program.files())
    for (const program::File *file : *program.files())
      files.push_back({{"path", text(file->path())},
                       {"size", file->size()},
                       {"digest", file->digest()}});
  return files;
}

Json streamJson(const program::Program &program,
                const program::HostStream &stream) {
  Json tensors = Json::array();
  for (const program::Segment *segment : *stream.segments())
    tensors.push_back(text(program.tensors()->Get(segment->tensor())->name()));
  return {{"name", text(stream.name())},
          {"direction", program::EnumNameDirection(stream.direction())},
          {"color", stream.color()},
          {"channels", stream.channels()->size()},
          {"type", program::EnumNameElementType(stream.type())},
          {"packing", program::EnumNamePacking(stream.packing())},
          {"indexed", stream.indexed()},
          {"tensors", tensors},
          {"digest", digest(stream)}};
}

Json kernelJson(const program::Kernel &kernel) {
  Json nodes = Json::array();
  if (kernel.onnx_nodes())
    for (const flatbuffers::String *node : *kernel.onnx_nodes())
      nodes.push_back(node->str());
  return {{"name", text(kernel.name())},
          {"kind", text(kernel.kind())},
          {"onnx_nodes", nodes},
          {"region", kernel.region() ? describeRect(*kernel.region()) : ""},
          {"predicted_cycles", kernel.predicted_cycles()},
          {"lower_bound_cycles", kernel.lower_bound_cycles()},
          {"bound", text(kernel.bound())}};
}

Json copiesJson(const program::Program &program, const program::Entry &entry) {
  Json copies = Json::array();
  if (!entry.copies())
    return copies;
  for (const program::HostCopy *copy : *entry.copies())
    copies.push_back(
        {{"launch", copy->launch()},
         {"direction", program::EnumNameDirection(copy->direction())},
         {"tensor", text(program.tensors()->Get(copy->tensor())->name())},
         {"buffer", text(copy->buffer())},
         {"pes", describeRect(*copy->rect())},
         {"elements", copy->elements()},
         {"order", program::EnumNameCopyOrder(copy->order())}});
  return copies;
}

Json valuesJson(const program::Entry &entry) {
  Json values = Json::array();
  if (!entry.values())
    return values;
  for (const program::Value *value : *entry.values()) {
    Json shape = Json::array();
    if (value->shape())
      for (int64_t extent : *value->shape())
        shape.push_back(extent);
    values.push_back({{"name", text(value->name())},
                      {"type", program::EnumNameElementType(value->type())},
                      {"shape", shape},
                      {"launch", value->launch()},
                      {"buffer", text(value->buffer())},
                      {"pes", describeRect(*value->rect())}});
  }
  return values;
}

Json launchesJson(const program::Program &program,
                  const program::Entry &entry) {
  Json launches = Json::array();
  for (const program::Launch *launch : *entry.launches()) {
    Json streams = Json::array();
    if (launch->streams())
      for (uint32_t stream : *launch->streams())
        streams.push_back(text(program.streams()->Get(stream)->name()));
    bool known =
        program.kernels() && launch->kernel() < program.kernels()->size();
    launches.push_back(
        {{"routine", launch->routine()},
         {"kernel",
          known ? text(program.kernels()->Get(launch->kernel())->name()) : ""},
         {"streams", streams},
         {"arguments", launch->arguments() ? launch->arguments()->size() : 0}});
  }
  return launches;
}

Json entriesJson(const program::Program &program) {
  Json entries = Json::array();
  for (const program::Entry *entry : *program.entries()) {
    Json arguments = Json::array();
    if (entry->arguments())
      for (const program::Argument *argument : *entry->arguments())
        arguments.push_back({{"name", text(argument->name())},
                             {"from", argument->from()},
                             {"to", argument->to()}});
    entries.push_back({{"name", text(entry->name())},
                       {"call", describeEntry(*entry)},
                       {"arguments", arguments},
                       {"launches", launchesJson(program, *entry)},
                       {"copies", copiesJson(program, *entry)},
                       {"values", valuesJson(*entry)}});
  }
  return entries;
}

} // namespace

std::string describeRule(const program::RouteRule &rule) {
  return std::string(program::EnumNamePort(rule.receive())) + " -> " +
         portsOf(rule.transmit()) + switchOf(rule);
}

Json summarize(const program::Program &program) {
  Json json = {{"model", text(program.model())},
               {"compiler", text(program.compiler())},
               {"parameters", program.parameters()},
               {"weight_bytes", program.weight_bytes()},
               {"machine", machineJson(*program.machine())}};
  SramPeak peak = sramPeak(program);
  WeightResidency residency = weightResidency(program);
  json["memory"] = {{"pes", countPes(program)},
                    {"sram_peak_bytes", peak.bytes},
                    {"sram_owner", peak.owner},
                    {"resident_weight_bytes", residency.residentBytes},
                    {"buffered_weight_bytes", residency.bufferedBytes},
                    {"streamed_weight_bytes", streamedWeightBytes(program)}};
  json["launch_color"] = program.launch_color();
  if (const program::Proof *proof = program.proof())
    json["deadlock"] = {{"verdict", program::EnumNameVerdict(proof->verdict())},
                        {"reason", text(proof->reason())}};
  Json classes = Json::array(), streams = Json::array(),
       kernels = Json::array();
  for (const program::PEClass *peClass : *program.classes())
    classes.push_back(classJson(*peClass));
  if (program.streams())
    for (const program::HostStream *stream : *program.streams())
      streams.push_back(streamJson(program, *stream));
  if (program.kernels())
    for (const program::Kernel *kernel : *program.kernels())
      kernels.push_back(kernelJson(*kernel));
  json["classes"] = classes;
  json["routes"] = routesJson(program);
  json["tensors"] = tensorsJson(program);
  json["files"] = filesJson(program);
  json["streams"] = streams;
  json["kernels"] = kernels;
  json["entries"] = entriesJson(program);
  return json;
}

} // namespace wsec::inspect
