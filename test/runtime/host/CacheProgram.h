// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache of rows that is called by entries with arguments.
#ifndef TEST_RUNTIME_HOST_CACHEPROGRAM_H
#define TEST_RUNTIME_HOST_CACHEPROGRAM_H

#include "test/runtime/ExampleFile.h"
#include "test/runtime/TaskProgram.h"

namespace wsec::runtime::test {

using program::Direction;
using program::Opcode;
using program::Port;
using program::ScalarOp;

inline constexpr int height = 4, rows = 8, width = 4 * height;
inline constexpr int in = 1, out = 2;

/// Argument `index` of a routine.
inline Value argument(uint16_t index, int32_t scale = 1) {
  Value value;
  value.terms.push_back({program::TermKind::Local, index, scale});
  return value;
}

inline program::EntryT &addEntry(ProgramBuilder &builder,
                                 const std::string &name, int from = 0,
                                 int to = -1) {
  auto entry = std::make_unique<program::EntryT>();
  entry->name = name;
  if (from <= to) {
    auto argument = std::make_unique<program::ArgumentT>();
    argument->name = "row";
    argument->from = from;
    argument->to = to;
    entry->arguments.push_back(std::move(argument));
    entry->scalars.push_back({ScalarOp::Argument, 0, 0, 0});
  }
  builder.source.entries.push_back(std::move(entry));
  return *builder.source.entries.back();
}

inline program::LaunchT &addLaunch(program::EntryT &entry, uint32_t routine,
                                   uint32_t stream) {
  auto launch = std::make_unique<program::LaunchT>();
  launch->routine = routine;
  launch->kernel = routine;
  launch->streams = {stream};
  if (!entry.arguments.empty())
    launch->arguments = {0};
  entry.launches.push_back(std::move(launch));
  return *entry.launches.back();
}

/// Each PE of a column keeps four numbers of each row: `load` fills the first
/// two of them from a weight, `append` writes row `row` of x, `attend` sums up
/// the first `row`.
inline ProgramBuilder makeCache(const std::vector<float> &bundle, bool called) {
  ProgramBuilder builder(1, height);
  if (called) {
    builder.source.launch_color = 255;
    builder.source.routes.clear();
  }
  builder.source.model = "cache";
  builder.route(in, 0, 1, 0, 1, Port::West, {Port::Ramp, Port::South});
  builder.route(in, 0, 1, 1, height - 1, Port::North,
                {Port::Ramp, Port::South});
  builder.route(in, 0, 1, height - 1, height, Port::North, {Port::Ramp});
  builder.route(out, 0, 1, 0, height, Port::Ramp, {Port::East});
  ClassBuilder pes = builder.addClass("pes", 0, 1, 0, height);
  const Scalar first =
      pes.scalar(ScalarOp::Mul, pes.py().index, pes.constant(4).index);
  const uint16_t cache = pes.buffer("cache", rows * 4);
  pes.source->buffers[cache]->persistent = true;
  const uint16_t sum = pes.buffer("sum", 4);
  pes.routine(0).add(Opcode::Mov, {2, 4}, memory(cache, {4, 1}),
                     fabric(in, 2).window(first, width));
  pes.routine(1).add(Opcode::Mov, {4}, memory(cache, {1}, argument(0, 4)),
                     fabric(in).window(first, width));
  BodyBuilder reduce = pes.routine(2);
  reduce.add(Opcode::Mov, {4}, memory(sum, {1}), immediate(0));
  reduce.add(Opcode::Add, {argument(0), 4}, memory(sum, {0, 1}),
             memory(sum, {0, 1}), memory(cache, {4, 1}));
  reduce.add(Opcode::Mov, {4}, fabric(out), memory(sum, {1}));
  for (int routine : {1, 2})
    pes.source->routines[size_t(routine)]->arguments = 1;

  addBundle(builder, bundle);
  addWeight(builder, "past", {2, width});
  addTensor(builder, "x", program::TensorRole::Input, {rows, width});
  addTensor(builder, "y", program::TensorRole::Output, {width});
  const uint32_t loaded = builder.stream("loaded", Direction::In, in, {0});
  const uint32_t appended = builder.stream("appended", Direction::In, in, {0});
  const uint32_t attended = builder.stream("attended", Direction::Out, out, {});
  auto &streams = builder.source.streams;
  streams[loaded]->segments.push_back(
      makeSegment(0, 2, width, {width}, {1}, 0));
  const Scalar row = addScalar(*streams[appended], ScalarOp::Argument, 0);
  streams[appended]->segments.push_back(
      makeSegment(1, 1, 0, {width}, {1}, Value(row).times(width)));
  for (int y = 0; y < height; ++y)
    streams[attended]->channels.push_back({y, y, y + 1});
  const Scalar py = addScalar(*streams[attended], ScalarOp::Py);
  streams[attended]->segments.push_back(
      makeSegment(2, 1, 0, {4}, {1}, Value(py).times(4)));

  for (const char *name : {"fill", "write", "reduce"}) {
    auto kernel = std::make_unique<program::KernelT>();
    kernel->name = name;
    builder.source.kernels.push_back(std::move(kernel));
  }
  builder.source.entries.clear();
  addLaunch(addEntry(builder, "load"), 0, loaded);
  addLaunch(addEntry(builder, "append", 0, rows - 1), 1, appended);
  addLaunch(addEntry(builder, "attend", 1, rows), 2, attended);
  stateCodeBytes(builder);
  return builder;
}

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_HOST_CACHEPROGRAM_H
