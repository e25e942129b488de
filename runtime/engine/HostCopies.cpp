// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/HostCopies.h"

#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime {

namespace {

/// One copy: where the elements of each PE lie in the tensor.
class Copy {
public:
  Copy(const program::Program &program, const program::HostCopy &copy,
       HostPort &host)
      : copy(copy), rect(*copy.rect()),
        columns((rect.x1() - rect.x0() + rect.xstep() - 1) / rect.xstep()),
        rows((rect.y1() - rect.y0() + rect.ystep() - 1) / rect.ystep()),
        tensor(*program.tensors()->Get(copy.tensor())),
        in(copy.direction() == program::Direction::In),
        size(elementSize(tensor.type())) {
    if (in)
      from = host.tensorElements(copy.tensor());
    else
      to = host.outputElements(copy.tensor());
    if (!from && !to)
      fail("the host has no elements of it");
    int64_t elements = 1;
    if (tensor.shape())
      for (int64_t extent : *tensor.shape())
        elements *= extent;
    if (elements != columns * rows * int64_t(copy.elements()))
      fail("it has " + std::to_string(elements) + " elements, " +
           std::to_string(columns * rows) + " PEs have " +
           std::to_string(copy.elements()) + " each");
  }

  void run(const ClassOf &classOf, const SramWindow &sram) {
    for (int64_t j = 0; j < rows; ++j)
      for (int64_t i = 0; i < columns; ++i) {
        const Coordinate pe{rect.x0() + int(i) * rect.xstep(),
                            rect.y0() + int(j) * rect.ystep()};
        const BufferCode &buffer = bufferOf(classOf(pe), pe);
        const int64_t bytes = int64_t(copy.elements()) * size;
        uint8_t *at = sram(pe, buffer.address, bytes, in);
        if (!at)
          throw Error(ErrorClass::UninitializedRead,
                      "the host copies from buffer " + inQuotes(buffer.name) +
                          " of PE " + toString(pe) +
                          " what nothing has written");
        move(at, i, j);
      }
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw Error(ErrorClass::BadProgram,
                "copy between tensor " + inQuotes(tensor.name()->str()) +
                    " and buffer " + inQuotes(copy.buffer()->str()) + ": " +
                    what);
  }

  const BufferCode &bufferOf(const ClassCode *code, Coordinate pe) const {
    if (!code)
      fail("PE " + toString(pe) + " has no code");
    auto found = std::find_if(code->buffers.begin(), code->buffers.end(),
                              [&](const BufferCode &b) {
                                return b.name == copy.buffer()->string_view();
                              });
    if (found == code->buffers.end())
      fail("class " + inQuotes(code->name) + " has no such buffer");
    if (found->type != tensor.type())
      fail("their types differ");
    if (found->elements < int64_t(copy.elements()))
      fail("the buffer has " + std::to_string(found->elements) +
           " elements, not " + std::to_string(copy.elements()));
    return *found;
  }

  /// The elements of the PE in column `i`, row `j`.
  void move(uint8_t *sram, int64_t i, int64_t j) {
    const int64_t n = copy.elements();
    if (n == 0)
      return;
    const bool byRow = copy.order() == program::CopyOrder::Row;
    const int64_t first = byRow ? (j * columns + i) * n : i * rows + j;
    const int64_t step = byRow ? 1 : columns * rows;
    if (byRow) {
      if (in)
        std::memcpy(sram, from + first * size, size_t(n) * size);
      else
        std::memcpy(to + first * size, sram, size_t(n) * size);
      return;
    }
    for (int64_t e = 0; e < n; ++e) {
      const int64_t at = (first + e * step) * size;
      if (in)
        std::memcpy(sram + e * size, from + at, size);
      else
        std::memcpy(to + at, sram + e * size, size);
    }
  }

  const program::HostCopy &copy;
  const program::Rect &rect;
  const int64_t columns, rows;
  const program::Tensor &tensor;
  const bool in;
  const uint32_t size;
  const uint8_t *from = nullptr;
  uint8_t *to = nullptr;
};

} // namespace

void copyBeforeLaunch(const Call &call, uint32_t launch, HostPort &host,
                      const ClassOf &classOf, const SramWindow &sram) {
  if (!call.copies())
    return;
  for (const program::HostCopy *copy : *call.copies())
    if (copy->launch() == launch)
      Copy(call.program(), *copy, host).run(classOf, sram);
}

} // namespace wsec::runtime
