// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Channels of the host, and the code that spreads what comes in and sends out
// what is left, as compiled programs do it.
#include "runtime/pe/Arithmetic.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/differential/Assembly.h"
#include "test/runtime/differential/Patterns.h"

namespace wsec::runtime::test {

using program::Direction;
using program::Opcode;
using program::Port;

void Assembly::channel(Direction direction, int color, int row, int words,
                       int routine, program::ElementType type) {
  channels.push_back({direction, color, row, words, routine, type});
}

void Assembly::addChannels(const std::vector<int> &order) {
  for (const Channel &channel : channels) {
    const auto at = std::find(order.begin(), order.end(), channel.routine);
    const std::string number = std::to_string(result.channels.size());
    const uint32_t stream = program.stream("s" + number, channel.direction,
                                           channel.color, {channel.row});
    // All of its words belong to PE (0, 0).
    const bool in = channel.direction == Direction::In;
    program::HostStreamT &its = *program.source.streams[stream];
    its.type = channel.type;
    const Scalar x = addScalar(its, program::ScalarOp::Px);
    const Scalar zero = addScalar(its, program::ScalarOp::Constant, 0);
    const Scalar first =
        addScalar(its, program::ScalarOp::Equal, x.index, zero.index);
    addTensor(program, "t" + number,
              in ? program::TensorRole::Input : program::TensorRole::Output,
              {channel.words});
    its.segments.push_back(
        makeSegment(uint32_t(program.source.tensors.size() - 1), 1, 0,
                    {Value(first).times(channel.words)}, {1}, 0));
    program.source.entries[0]
        ->launches[size_t(at - order.begin())]
        ->streams.push_back(stream);
    result.channels.push_back({in, channel.words});
  }
}

/// The buffers of a PE that the host fills or reads.
std::vector<uint16_t> Assembly::streamed(Coordinate pe, Access access) const {
  const program::PEClassT &code = *classes[size_t(key(pe))];
  std::vector<uint16_t> result;
  for (size_t i = 0; i < code.buffers.size(); ++i) {
    const auto found = buffers.find(code.buffers[i]->name);
    if (found != buffers.end() && (found->second.access & access))
      result.push_back(uint16_t(i));
  }
  return result;
}

static int elementsOf(const program::BufferT &buffer) {
  return int(buffer.bytes / elementSize(buffer.type));
}

/// Each row gets its words on one channel; every PE keeps a window of each line
/// of them, one line for a buffer of each PE.
void Assembly::fillBuffers(int routine) {
  const int color = takeColors(1)[0];
  const Form form{hostType(), program::Packing::Single};
  for (int y = 0; y < height; ++y) {
    size_t lines = 0;
    int total = 0;
    for (int x = 0; x < width; ++x) {
      Setting setting{Port::West, portBit(Port::Ramp), {}, false, {}};
      if (x + 1 < width)
        setting.transmit |= portBit(Port::East);
      set(color, {x, y}, setting);
      lines = std::max(lines, streamed({x, y}, In).size());
    }
    for (size_t line = 0; line < lines; ++line) {
      std::vector<int> sizes, starts;
      int words = 0;
      for (int x = 0; x < width; ++x) {
        const std::vector<uint16_t> its = streamed({x, y}, In);
        const program::PEClassT &code = *classes[size_t(key({x, y}))];
        starts.push_back(words);
        sizes.push_back(line < its.size() ? elementsOf(*code.buffers[its[line]])
                                          : 0);
        words += sizes.back();
      }
      for (int x = 0; x < width; ++x) {
        PE &pe = at({x, y});
        const std::vector<uint16_t> its = streamed({x, y}, In);
        const uint16_t into = line < its.size() ? its[line]
                              : pe.source.buffers.empty()
                                  ? pe.code.buffer(name("none"), 1)
                                  : uint16_t(0);
        pe.routine(routine).add(
            Opcode::Mov, {sizes[size_t(x)]}, memory(into, {1}),
            wire(color, form)
                .window(sizes[size_t(x)] ? starts[size_t(x)] : 0, words));
      }
      total += words;
    }
    if (total > 0)
      channel(Direction::In, color, y, total, routine, form.type);
  }
}

/// Along each row every PE sends its own words, then those of the PEs before.
void Assembly::sendBuffers(int routine) {
  const std::vector<int> colors = takeColors(3);
  const Form form{hostType(), program::Packing::Single};
  for (int y = 0; y < height; ++y) {
    int before = 0;
    for (int x = 0; x < width; ++x) {
      PE &pe = at({x, y});
      const bool last = x + 1 == width;
      const int to = last ? colors[2] : colors[size_t(x % 2)];
      const int from = colors[size_t((x + 1) % 2)];
      set(to, {x, y}, {Port::Ramp, portBit(Port::East), {}, false, {}});
      if (x > 0)
        set(from, {x, y}, {Port::West, portBit(Port::Ramp), {}, false, {}});
      TaskBody body = pe.routine(routine);
      int own = 0;
      for (uint16_t buffer : streamed({x, y}, Out)) {
        const int words = elementsOf(*pe.source.buffers[buffer]);
        body.add(Opcode::Mov, {words}, wire(to, form), memory(buffer, {1}));
        own += words;
      }
      if (before > 0)
        body.add(Opcode::Mov, {before}, wire(to, form), wire(from, form));
      before += own;
    }
    if (before > 0)
      channel(Direction::Out, colors[2], y, before, routine, form.type);
  }
}

/// With commands the next launch may begin at once: nothing may be left to
/// microthreads at the end of a routine.
void Assembly::awaitThreads() {
  for (auto &pe : pes)
    for (const auto &[routine, used] : pe->threads)
      if (used > 0)
        pe->routine(routine).await(uint8_t((1u << used) - 1));
}

} // namespace wsec::runtime::test
