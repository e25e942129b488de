// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/GatheredWords.h"

#include "runtime/pe/UnalignedFloat.h"
#include "runtime/pe/VectorKernels.h"
#include "runtime/strips/Recording.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime {

GatheredWords::GatheredWords(std::vector<Chunk> chunks, size_t words,
                             StripQueue &queue)
    : fronts(std::move(chunks)), words(words), lanes(fronts.size()),
      queue(queue) {}

Chunk GatheredWords::chunk() const {
  Chunk result;
  // Parts of the chunk are told from one another by this, as if the words lay
  // behind it; nobody reads them there.
  result.data = fronts.front().data;
  result.rows = 1;
  result.length = words;
  result.laneStride = 1;
  result.paced = fronts.front().paced;
  for (const Chunk &front : fronts) {
    result.first = std::max(result.first, front.first);
    result.last = std::max(result.last, front.last);
  }
  return result;
}

Chunk GatheredWords::bring(Chunk part) {
  Block wanted{size_t(part.data - fronts.front().data), part.length, part.rows,
               part.rows > 1 ? size_t(part.rowStride) : part.length};
  if (!holds(wanted)) {
    fill(wanted);
    last = wanted;
  }
  const size_t at = wanted.first - last.first;
  const size_t row = at / last.step, column = at % last.step;
  part.data = last.memory.get() + (row * last.pitch() + column) * lanes;
  part.wordStride = ptrdiff_t(lanes);
  part.rowStride = part.rows > 1 ? ptrdiff_t(last.pitch() * lanes) : 0;
  part.owner = last.memory;
  part.buffer = last.buffer;
  part.gathered = nullptr;
  return part;
}

bool GatheredWords::holds(const Block &wanted) const {
  if (last.rows == 0 || wanted.first < last.first)
    return false;
  const size_t at = wanted.first - last.first;
  const size_t row = at / last.step, column = at % last.step;
  return row + wanted.rows <= last.rows &&
         column + wanted.length <= last.length &&
         (wanted.rows == 1 || wanted.step == last.step);
}

void GatheredWords::fill(Block &block) const {
  const size_t floats = block.rows * block.pitch() * lanes;
  block.memory.reset(new float[floats]);
  if (queue.recording)
    block.buffer = queue.recording->addScratch(block.memory.get(), floats);
  if (interleaves(block))
    return;
  for (size_t lane = 0; lane < lanes; ++lane) {
    const Chunk &front = fronts[lane];
    if (isRectangle(block, front)) {
      copy(block, lane, 0, block.rows, 0, block.length);
      continue;
    }
    for (size_t row = 0; row < block.rows; ++row)
      for (size_t column = 0; column < block.length;) {
        const size_t at = block.first + row * block.step + column;
        const size_t count =
            std::min(block.length - column, front.length - at % front.length);
        copy(block, lane, row, 1, column, count);
        column += count;
      }
  }
}

/// Whether the words of a block follow one another in a front, or its rows are
/// rows of the block.
bool GatheredWords::isRectangle(const Block &block, const Chunk &front) {
  return front.linear() ||
         (block.first % front.length + block.length <= front.length &&
          (block.rows == 1 || block.step == front.length));
}

ptrdiff_t GatheredWords::rowOf(const Block &block, const Chunk &front) {
  return front.linear() ? ptrdiff_t(block.step) * front.wordStride
                        : front.rowStride;
}

/// Brings all lanes at once, if their words lie in the same way.
bool GatheredWords::interleaves(const Block &block) const {
  const Chunk &one = fronts.front();
  std::vector<const float *> sources;
  std::vector<uint32_t> buffers;
  sources.reserve(lanes);
  buffers.reserve(lanes);
  for (const Chunk &front : fronts) {
    if (!isRectangle(block, front) || front.wordStride != one.wordStride ||
        rowOf(block, front) != rowOf(block, one))
      return false;
    sources.push_back(front.at(block.first));
    buffers.push_back(front.buffer);
  }
  const InterleaveProblem problem{
      block.rows,        block.length,  lanes, ptrdiff_t(block.pitch() * lanes),
      rowOf(block, one), one.wordStride};
  float *to = block.memory.get();
  interleave(problem, to, sources.data());
  if (queue.recording)
    queue.recording->interleave(uint32_t(queue.readerIndex), problem, to,
                                block.buffer, sources, buffers);
  return true;
}

/// Copies part of a block for one lane, whose words follow one another, or
/// whose rows are those of the block.
void GatheredWords::copy(const Block &block, size_t lane, size_t row,
                         size_t rows, size_t column, size_t length) const {
  const Chunk &front = fronts[lane];
  const float *from =
      front.part(block.first + row * block.step + column, 1).data;
  const ptrdiff_t fromStep = rowOf(block, front);
  const auto width = ptrdiff_t(lanes);
  const ptrdiff_t toStep = ptrdiff_t(block.pitch()) * width;
  float *to =
      block.memory.get() + (row * block.pitch() + column) * lanes + lane;
  if (queue.recording)
    queue.recording->copy(uint32_t(queue.readerIndex), rows, length,
                          {to, {toStep, width}}, block.buffer,
                          {from, {fromStep, front.wordStride}}, front.buffer);
  for (size_t i = 0; i < rows; ++i, from += fromStep, to += toStep) {
    const UnalignedFloat *word = from;
    float *target = to;
    for (size_t j = 0; j < length;
         ++j, word += front.wordStride, target += width)
      *target = *word;
  }
}

} // namespace wsec::runtime
