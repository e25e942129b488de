// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/InChannel.h"
#include "runtime/memoryx/Elements.h"
#include "runtime/memoryx/StridedWords.h"
#include "runtime/pe/HalfKernels.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime {

/// Words written out at a time, unless a single line is longer: few enough to
/// be read from the cache, in memory that the allocator keeps.
static constexpr uint64_t writtenWords = 1 << 14;

InChannel::InChannel(const TensorStore &store,
                     const program::HostStream &stream,
                     const program::Channel &channel,
                     const std::vector<int64_t> &arguments, uint64_t &blocks)
    : store(store), stream(stream) {
  for (const program::Segment *segment : *stream.segments())
    parts.push_back({segment, Wire(stream, *segment), 0, 0, {}, {}});
  std::vector<int64_t> scalars;
  for (int64_t column = channel.begin(); column < channel.end(); ++column) {
    evaluateScalars(stream.scalars(), column, channel.row(), scalars,
                    arguments.data());
    for (Part &part : parts)
      addColumn(part, scalars, blocks);
  }
  for (const Part &part : parts) {
    uint64_t words;
    if (__builtin_mul_overflow(part.lineWords, uint64_t(part.lines), &words) ||
        words > largestStreamWords - total)
      throw tooLong();
    total += words;
    const program::TensorRole role =
        store.tensor(part.segment->tensor()).role();
    if (role == program::TensorRole::Weight ||
        role == program::TensorRole::Constant)
      weights += words;
  }
  std::erase_if(parts, [](const Part &part) { return part.lineWords == 0; });
}

Error InChannel::tooLong() const {
  return Error(ErrorClass::BadProgram,
               "stream " + inQuotes(stream.name()->string_view()) +
                   " is too long");
}

void InChannel::addColumn(Part &part, const std::vector<int64_t> &scalars,
                          uint64_t &blocks) const {
  const program::Segment &segment = *part.segment;
  bool gathers = segment.index_tensor() >= 0;
  Block block = makeBlock(segment, scalars);
  int64_t lines = evaluateAffine(*segment.lines(), scalars);
  if (block.elements == 0 || lines <= 0)
    return;
  if (!part.blocks.empty() && part.lines != lines)
    throw Error(ErrorClass::BadProgram,
                "stream " + inQuotes(stream.name()->string_view()) +
                    " has columns of one channel with " +
                    std::to_string(part.lines) + " and " +
                    std::to_string(lines) + " lines");
  part.lines = lines;
  checkBounds(block, stream, store.tensor(segment.tensor()), lines,
              segment.line_stride(), gathers ? segment.index_count() : 1,
              gathers ? segment.index_stride() : 0);
  part.lineWords += part.wire.wavelets(block.elements);
  // Numbers and pairs begin anew with each block.
  const bool joins =
      !part.blocks.empty() && !part.wire.indexed &&
      (!part.wire.pairs() || part.blocks.back().elements % 2 == 0);
  if (!joins || !part.blocks.append(block)) {
    part.blocks.push(block);
    if (++blocks > mostBlocks)
      throw Error(ErrorClass::WorkLimit,
                  "stream " + inQuotes(stream.name()->string_view()) +
                      " and those before it bring more than " +
                      std::to_string(mostBlocks) +
                      " blocks that do not lie side by side; let fewer columns "
                      "or segments take part");
  }
  if (part.lineWords > largestStreamWords)
    throw tooLong();
}

void InChannel::restart() {
  taken = part = keptAt = readyRow = readyWord = 0;
  line = 0;
  ready = {};
}

WordView InChannel::next(size_t maxWords) {
  if (readyRow >= ready.rows) {
    if (parts.empty() || maxWords == 0)
      return {};
    if (line >= parts[part].lines) {
      part = (part + 1) % parts.size();
      line = 0;
    }
    if (part == 0 && line == 0)
      keptAt = 0;
    group = SIZE_MAX;
    Part &its = parts[part];
    ready = viewInPlace(its);
    if (ready.empty())
      ready = written(its);
    ready.constant = isConstant(its);
    readyRow = readyWord = 0;
  }
  WordView view = ready;
  view.data += readyRow * ready.stride + readyWord * ready.wordStride;
  if (readyWord == 0 && maxWords >= ready.length) {
    view.rows = std::min({ready.rows - readyRow, group - readyRow % group,
                          maxWords / ready.length});
    readyRow += view.rows;
  } else {
    view.rows = 1;
    view.length = std::min(ready.length - readyWord, maxWords);
    if (view.halves)
      view.halves += readyWord;
    readyWord += view.length;
    if (readyWord == ready.length) {
      readyWord = 0;
      ++readyRow;
    }
  }
  if (readyRow >= ready.rows)
    ready.owner.reset(); // It may be the last use of these words.
  taken += view.words();
  return view;
}

/// Whether lines of a part are the same in all runs.
bool InChannel::isConstant(const Part &part) const {
  const program::Tensor &tensor = store.tensor(part.segment->tensor());
  const program::TensorRole role = tensor.role();
  return (role == program::TensorRole::Weight ||
          role == program::TensorRole::Constant) &&
         !tensor.parameter() && // It may be trained.
         part.segment->index_tensor() < 0 && part.halves.empty();
}

WordView InChannel::written(Part &part) {
  findHalves(part);
  group = size_t(linesAtOnce(part));
  const bool keeps = kept && isConstant(part);
  if (keeps && keptAt < keptLines->size()) {
    const WordView &view = (*keptLines)[keptAt++];
    line += int64_t(view.rows);
    return view;
  }
  WordView view = pairsFollow(part) ? writePairs(part) : writeLines(part);
  if (!keeps || keptAt != keptLines->size())
    return view;
  if (kept->room.take(view.words() * sizeof(float))) {
    keptLines->push_back(view);
    ++keptAt;
  } else {
    keptAt = SIZE_MAX; // Those that follow have no place of their own.
  }
  return view;
}

/// Whether each line takes a row that its own number names.
static bool haveOwnRows(const program::Segment &segment) {
  return segment.index_tensor() >= 0 && segment.index_at() < 0;
}

WordView InChannel::viewInPlace(const Part &part) {
  const program::Segment &segment = *part.segment;
  if (store.computed(segment.tensor()))
    return {};
  const Block &block = part.blocks.front();
  const uint8_t *data = store.elements(segment.tensor());
  bool words = part.wire.plain() && store.tensor(segment.tensor()).type() ==
                                        program::ElementType::F32;
  if (!words || haveOwnRows(segment) || part.blocks.size() > 1 ||
      block.rank > 2 || block.runStride() < 0)
    return {};
  WordView view;
  view.length = block.runLength();
  view.wordStride = size_t(block.runStride());
  view.owner = store.owner(segment.tensor());
  int64_t first = block.offset + rowOffset(segment, 0);
  if (block.rank == 2) {
    // One line at a time: its runs are the rows.
    if (block.strides[0] < 0)
      return {};
    view.rows = size_t(block.extents[0]);
    view.stride = size_t(block.strides[0]);
    first += line * segment.line_stride();
    ++line;
  } else {
    if (segment.line_stride() < 0)
      return {};
    view.rows = size_t(part.lines);
    view.stride = size_t(segment.line_stride());
    line = part.lines;
  }
  view.data = reinterpret_cast<const float *>(data) + first;
  return view;
}

/// The last words of blocks with an odd number of elements. Words of two
/// elements that are as all others do not tell.
void InChannel::findHalves(Part &part) const {
  if (!part.wire.pairs() || stream.packing() != part.wire.packing ||
      !part.halves.empty())
    return;
  bool odd = false;
  part.blocks.forEach([&](const Block &block) { odd |= block.elements % 2; });
  if (!odd)
    return;
  part.halves.resize(part.lineWords);
  uint64_t end = 0;
  part.blocks.forEach([&](const Block &block) {
    end += part.wire.wavelets(block.elements);
    part.halves[end - 1] = block.elements % 2;
  });
}

/// Asks the memory for elements that lie far from one another.
void InChannel::prefetch(const Part &part, const Block &block) const {
  const program::Segment &segment = *part.segment;
  if (block.rank != 2 || store.computed(segment.tensor()) ||
      segment.index_tensor() >= 0)
    return;
  const uint64_t size = elementBytes(store.tensor(segment.tensor()).type());
  const uint8_t *data =
      store.elements(segment.tensor()) +
      uint64_t(block.offset + line * segment.line_stride()) * size;
  const bool runs = std::abs(block.strides[0]) > std::abs(block.strides[1]);
  const int far = runs ? 0 : 1;
  const int64_t bytes = (block.extents[1 - far] - 1) *
                        std::abs(block.strides[1 - far]) * int64_t(size);
  if (bytes >= 4096)
    return;
  for (int64_t i = 0; i < block.extents[far]; ++i)
    for (int64_t at = 0; at < bytes + 64; at += 64)
      __builtin_prefetch(data + i * block.strides[far] * int64_t(size) +
                         std::min(at, bytes));
}

int64_t InChannel::linesAtOnce(const Part &part) const {
  const uint64_t most = std::max<uint64_t>(1, writtenWords / part.lineWords);
  return int64_t(std::min<uint64_t>(most, uint64_t(part.lines - line)));
}

/// Lines whose elements lie far from one another, beside those of the next
/// lines: as many as share lines of the cache.
int64_t InChannel::groupsAtOnce(const Part &part, int64_t lines) const {
  constexpr int64_t shared = 16;
  constexpr uint64_t mostWords = 1 << 18; // of all that is written
  const program::Segment &segment = *part.segment;
  const bool beside = part.wire.plain() && segment.line_stride() == 1 &&
                      segment.index_tensor() < 0 &&
                      part.blocks.front().runStride() != 1 &&
                      !store.computed(segment.tensor());
  if (!beside || lines >= shared)
    return 1;
  const uint64_t room = mostWords / (uint64_t(lines) * part.lineWords);
  return int64_t(std::clamp<uint64_t>(room, 1, uint64_t(shared / lines)));
}

bool InChannel::narrows(const Part &part) const {
  return isNarrowFloat(part.wire.type) &&
         store.tensor(part.segment->tensor()).type() ==
             program::ElementType::F32;
}

bool InChannel::pairsFollow(const Part &part) const {
  bool follow = narrows(part) && part.wire.pairs() && !part.wire.indexed &&
                !store.computed(part.segment->tensor()) &&
                part.segment->index_tensor() < 0 &&
                part.segment->line_stride() == 2;
  if (follow)
    part.blocks.forEach([&](const Block &block) {
      follow &= block.runLength() == 2 && block.runStride() == 1;
    });
  return follow;
}

WordView InChannel::writePairs(const Part &part) {
  const int64_t lines = linesAtOnce(part);
  const auto *data =
      reinterpret_cast<const float *>(store.elements(part.segment->tensor()));
  std::shared_ptr<float[]> words(
      new float[size_t(lines) * size_t(part.lineWords)]);
  auto *to = reinterpret_cast<uint16_t *>(words.get());
  part.blocks.forEach([&](const Block &block) {
    for (uint64_t run = 0; run < block.elements / 2; ++run, to += 2 * lines) {
      const float *from = data + block.runStart(run) + 2 * line;
      narrow(part.wire.type, size_t(2 * lines), from, to);
    }
  });
  line += lines;
  return {words.get(), size_t(lines), part.lineWords, 1, words, size_t(lines)};
}

WordView InChannel::writeLines(Part &part) {
  const int64_t lines = std::min(
      int64_t(group) * groupsAtOnce(part, int64_t(group)), part.lines - line);
  std::shared_ptr<float[]> words(
      new float[size_t(lines) * size_t(part.lineWords)]);
  float *column = words.get();
  part.blocks.forEachGroup([&](Block block, size_t count, int64_t step) {
    if (part.wire.plain()) {
      writeBlocks(part, block, count, step, 0, lines, column, part.lineWords);
      column += count * block.elements;
      return;
    }
    for (size_t i = 0; i < count; ++i, block.offset += step) {
      prefetch(part, block);
      packBlock(part, block, lines, column);
      column += part.wire.wavelets(block.elements);
    }
  });
  line += lines;
  return {words.get(),
          size_t(lines),
          part.lineWords,
          part.lineWords,
          words,
          1,
          part.halves.empty() ? nullptr : part.halves.data()};
}

void InChannel::writeBlocks(const Part &part, const Block &block, size_t count,
                            int64_t step, int64_t first, int64_t lines,
                            float *words, size_t pitch) const {
  const program::Segment &segment = *part.segment;
  const int64_t from = line + first;
  const uint64_t length = block.runLength(), runs = block.elements / length;
  const TensorStore::Computed *source = store.computed(segment.tensor());
  if (!source && !haveOwnRows(segment) &&
      store.tensor(segment.tensor()).type() == program::ElementType::F32) {
    StridedWords all;
    all.loop(lines, segment.line_stride(), int64_t(pitch));
    all.loop(int64_t(count), step, int64_t(block.elements));
    int64_t inner = int64_t(block.elements);
    for (uint32_t d = 0; d < block.rank; ++d) {
      inner /= block.extents[d];
      all.loop(block.extents[d], block.strides[d], inner);
    }
    const int64_t start = block.offset + lineOffset(segment, from);
    return all.copy(store.elements(segment.tensor()) + start * 4, words);
  }
  for (int64_t l = 0; l < lines; ++l) {
    float *to = words + size_t(l) * pitch;
    for (size_t i = 0; i < count; ++i) {
      const int64_t moved = lineOffset(segment, from + l) + int64_t(i) * step;
      for (uint64_t run = 0; run < runs; ++run, to += length)
        if (source)
          source->read(uint64_t(block.runStart(run) + moved), block.runStride(),
                       length, to);
        else
          readRun(part, program::ElementType::F32, block.runStart(run) + moved,
                  block, to);
    }
  }
}

/// A run of a block from element `first` on, as a wire of a type has it.
void InChannel::readRun(const Part &part, program::ElementType wire,
                        int64_t first, const Block &block,
                        void *elements) const {
  const program::Tensor &tensor = store.tensor(part.segment->tensor());
  const uint64_t length = block.runLength();
  if (const auto *source = store.computed(part.segment->tensor())) {
    std::vector<float> values(length);
    source->read(uint64_t(first), block.runStride(), length, values.data());
    readWire(wire, program::ElementType::F32,
             reinterpret_cast<const uint8_t *>(values.data()), 0, 1, length,
             elements);
    return;
  }
  const uint8_t *data = store.elements(part.segment->tensor());
  const size_t good = readWire(wire, tensor.type(), data, first,
                               block.runStride(), length, elements);
  if (good == length)
    return;
  const int64_t wrong = first + int64_t(good) * block.runStride();
  throw Error(ErrorClass::BadTensor,
              "element " + std::to_string(wrong) + " of tensor " +
                  inQuotes(tensor.name()->string_view()) + " is " +
                  printedIndex(tensor.type(), data, uint64_t(wrong)) +
                  ": stream " + inQuotes(stream.name()->string_view()) +
                  " carries " + program::EnumNameElementType(wire) +
                  ", which holds integers " + wholeRange(wire) +
                  "; let it carry another type");
}

bool InChannel::packFloats(const Part &part, const Block &block, int64_t lines,
                           float *words) const {
  if (!narrows(part) || !part.wire.pairs())
    return false;
  const program::Segment &segment = *part.segment;
  const auto length = size_t(block.elements);
  const bool apart = block.rank == 2 && block.runLength() == 2 &&
                     block.strides[0] == 1 && !store.computed(segment.tensor());
  if (apart) { // The halves of words are two runs.
    const auto *data =
        reinterpret_cast<const float *>(store.elements(segment.tensor()));
    for (int64_t l = 0; l < lines; ++l) {
      const float *from = data + block.offset + lineOffset(segment, line + l);
      narrowPairs(
          part.wire.type, length / 2, from, from + block.strides[1],
          reinterpret_cast<uint32_t *>(words + size_t(l) * part.lineWords));
    }
    return true;
  }
  constexpr int64_t most = 1 << 13; // elements at a time, unless a line is more
  const int64_t at = std::max<int64_t>(1, most / int64_t(length));
  std::vector<float> values(length * size_t(std::min(at, lines)));
  for (int64_t first = 0; first < lines; first += at) {
    const int64_t count = std::min(at, lines - first);
    writeBlocks(part, block, 1, 0, first, count, values.data(), length);
    for (int64_t l = 0; l < count; ++l) {
      float *to = words + size_t(first + l) * part.lineWords;
      if (length % 2)
        to[length / 2] = 0; // The last one is alone.
      narrow(part.wire.type, length, values.data() + size_t(l) * length,
             reinterpret_cast<uint16_t *>(to));
    }
  }
  return true;
}

void InChannel::packBlock(const Part &part, const Block &block, int64_t lines,
                          float *words) const {
  if (packFloats(part, block, lines, words))
    return;
  const uint64_t length = block.runLength(), runs = block.elements / length;
  std::vector<uint16_t> halves(part.wire.is16() ? block.elements + 1 : 0);
  for (int64_t l = 0; l < lines; ++l) {
    const int64_t moved = lineOffset(*part.segment, line + l);
    float *to = words + size_t(l) * part.lineWords;
    for (uint64_t run = 0; run < runs; ++run) {
      const int64_t first = block.runStart(run) + moved;
      if (part.wire.is16())
        readRun(part, part.wire.type, first, block,
                halves.data() + run * length);
      else
        readRun(part, part.wire.type, first, block, to + run * length);
    }
    if (part.wire.pairs())
      // The first of a pair is in the lower half; the last may be alone.
      std::memcpy(to, halves.data(), part.wire.wavelets(block.elements) * 4);
    else if (part.wire.is16())
      for (uint64_t i = 0; i < block.elements; ++i) {
        const uint32_t number = part.wire.indexed ? uint32_t(i & 0xffff) : 0;
        const uint32_t word = halves[i] | number << 16;
        std::memcpy(to + i, &word, 4);
      }
  }
}

int64_t InChannel::lineOffset(const program::Segment &segment,
                              int64_t line) const {
  return line * segment.line_stride() + rowOffset(segment, line);
}

int64_t InChannel::rowOffset(const program::Segment &segment,
                             int64_t line) const {
  if (segment.index_tensor() < 0)
    return 0;
  auto ids = uint32_t(segment.index_tensor());
  const int64_t at = segment.index_at() < 0 ? line : segment.index_at();
  int64_t row =
      readIndex(store.tensor(ids).type(), store.elements(ids), uint64_t(at));
  int64_t rows = segment.index_count();
  if (row < -rows || row >= rows)
    throw Error(ErrorClass::BadTensor,
                inQuotes(store.tensor(ids).name()->string_view()) +
                    " asks for row " + std::to_string(row) + " (element " +
                    std::to_string(at) + ") of '" +
                    store.tensor(segment.tensor()).name()->str() +
                    "', which has " + std::to_string(rows) + " rows");
  return (row < 0 ? row + rows : row) * segment.index_stride();
}

} // namespace wsec::runtime
