// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random nests on the SRAM of a strip, whose words change their forms, against
// the same elements computed one by one on plain memory.
#include "runtime/strips/NestRunner.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace wsec::runtime {
namespace {

using program::ElementType;
using program::Opcode;

constexpr int64_t words = 40;

/// The SRAM of each lane, in halves of words.
using Plain = std::vector<std::vector<uint16_t>>;

Number read(const std::vector<uint16_t> &sram, ElementType type,
            NumberKind kind, int64_t element) {
  uint32_t bits = 0;
  if (elementSize(type) == 4)
    std::memcpy(&bits, &sram[size_t(2 * element)], 4);
  else
    bits = sram[size_t(element)];
  return decodeElement(type, kind, bits);
}

void write(std::vector<uint16_t> &sram, ElementType type, NumberKind kind,
           int64_t element, Number number) {
  const uint32_t bits = encodeElement(type, kind, number);
  if (elementSize(type) == 4)
    std::memcpy(&sram[size_t(2 * element)], &bits, 4);
  else
    sram[size_t(element)] = uint16_t(bits);
}

/// An operand of up to three loops.
struct Operand {
  enum Kind { None, Sram, Fabric, Immediate } kind = None;
  SramElements sram;
  std::shared_ptr<float[]> chunk; ///< Fabric: [step][lane], or alike
  bool alike = false;
  float immediate = 0;

  ElementType type() const {
    return kind == Sram ? sram.type : ElementType::F32;
  }
};

class RandomSram {
public:
  RandomSram(unsigned seed, int lanes)
      : generator(seed), lanes(lanes), plain(size_t(lanes)), code(makeCode()),
        strip(0, 0, code, 0, rowsOf(lanes), {}, {}) {
    strip.reset();
    for (int lane = 0; lane < lanes; ++lane)
      for (int64_t half = 0; half < 2 * words; ++half) {
        const auto bits = uint16_t(0x3000 + pick(0x0fff));
        plain[size_t(lane)].push_back(bits);
        std::memcpy(strip.half(half, lane), &bits, 2);
      }
  }

  void step() {
    constexpr Opcode ops[] = {Opcode::Mov, Opcode::Mov,  Opcode::Add,
                              Opcode::Mul, Opcode::Fmac, Opcode::Fmac};
    Nest nest;
    nest.op = ops[pick(std::size(ops))];
    nest.dimensions = 2 + pick(3);
    for (int d = 0; d + 1 < nest.dimensions; ++d)
      nest.extent[d] = size_t(1 + pick(4));
    const int lane = pick(4) == 0 ? pick(lanes) : -1;
    nest.extent[nest.dimensions - 1] = lane < 0 ? size_t(lanes) : 1;
    Operand dst, a, b;
    inSram(dst, nest, /*mayStay=*/nest.op == Opcode::Fmac);
    source(a, nest);
    if (nest.op != Opcode::Mov)
      source(b, nest);
    std::vector<ElementType> types;
    for (const Operand *operand : {&a, &b})
      if (operand->kind == Operand::Sram || operand->kind == Operand::Fabric)
        types.push_back(operand->type());
    NumberKind kind = NumberKind::Single;
    const bool halves =
        dst.type() == ElementType::F16 &&
        std::all_of(types.begin(), types.end(),
                    [](ElementType type) { return type == ElementType::F16; });
    if (halves)
      kind = NumberKind::Half;
    nest.types.numbers = kind;
    nest.ordered = overlaps(dst, a, nest) || overlaps(dst, b, nest);
    for (int its : inTurn(lane, nest.op == Opcode::Mov)) {
      Nest run = nest;
      NestRunner::Operands operands{operand(dst, nest), operand(a, nest),
                                    operand(b, nest)};
      NestRunner(strip, its).run(run, operands);
      for (int l = its < 0 ? 0 : its; l < (its < 0 ? lanes : its + 1); ++l)
        compute(nest, kind, dst, a, b, l, its >= 0);
    }
    keep.push_back(a.chunk);
    keep.push_back(b.chunk);
  }

  void compare(unsigned seed) {
    strip.memory.bringAllHome();
    strip.memory.executor().flush();
    for (int lane = 0; lane < lanes; ++lane)
      for (int64_t half = 0; half < 2 * words; ++half)
        ASSERT_EQ(std::memcmp(strip.half(half, lane),
                              &plain[size_t(lane)][size_t(half)], 2),
                  0)
            << "seed " << seed << ", lane " << lane << ", half " << half;
  }

  void sortViews() { strip.memory.sortViews(); }

  int pick(size_t count) { return int(generator() % count); }

private:
  static ClassCode makeCode() {
    ClassCode code;
    code.firstDataWord = 0;
    code.endDataWord = words;
    return code;
  }
  static std::vector<int> rowsOf(int lanes) {
    std::vector<int> rows;
    for (int lane = 0; lane < lanes; ++lane)
      rows.push_back(lane);
    return rows;
  }

  /// Random elements whose indices are all in the SRAM.
  void inSram(Operand &operand, const Nest &nest, bool mayStay) {
    constexpr ElementType types[] = {ElementType::F32, ElementType::F32,
                                     ElementType::F16, ElementType::BF16};
    operand.kind = Operand::Sram;
    SramElements &its = operand.sram;
    its.type = types[pick(4)];
    const int64_t size = its.halves() ? 2 * words : words;
    int64_t reach = 0, next = 1;
    const bool inOrder = pick(2) == 0;
    for (int d = nest.dimensions - 1; d-- > 0;) {
      int64_t stride = inOrder ? next : pick(7) + (mayStay ? 0 : 1);
      if (!mayStay && !inOrder)
        stride = next * (1 + pick(2)); // No element twice.
      its.stride[d] = stride;
      next = stride == 0 ? next : stride * int64_t(nest.extent[d]);
      reach += stride * int64_t(nest.extent[d] - 1);
    }
    if (reach >= size) {
      std::fill_n(its.stride, maxDimensions, 0);
      its.stride[nest.dimensions - 2] = 1;
      reach = int64_t(nest.extent[nest.dimensions - 2]) - 1;
    }
    its.first = pick(size_t(size - reach));
    its.bufferBegin = 0;
    its.bufferEnd = words;
  }

  /// Of SRAM, which may be walked anyhow, of the fabric, or a number.
  void source(Operand &operand, const Nest &nest) {
    const int kind = pick(8);
    if (kind < 4)
      return inSram(operand, nest, true);
    operand.kind = kind == 7 ? Operand::Immediate : Operand::Fabric;
    operand.immediate = float(1 + pick(4)) / 4;
    if (operand.kind == Operand::Immediate)
      return;
    operand.alike = pick(2) == 0;
    operand.chunk.reset(new float[512]);
    for (int i = 0; i < 512; ++i)
      operand.chunk[i] = float(pick(64)) / 16 - 1;
  }

  NestOperand operand(const Operand &from, const Nest &nest) {
    NestOperand result;
    if (from.kind == Operand::Sram)
      result.sram = from.sram;
    if (from.kind == Operand::Immediate) {
      immediates.push_back(std::make_unique<float>(from.immediate));
      result.place.data = immediates.back().get();
    }
    if (from.kind == Operand::Fabric) {
      StripMemory::Place &place = result.place;
      place.data = from.chunk.get();
      place.owner = from.chunk;
      place.laneStride = from.alike ? 0 : 1;
      ptrdiff_t next = from.alike ? 1 : lanes;
      for (int d = nest.dimensions - 1; d-- > 0;) {
        place.stride[d] = next;
        next *= ptrdiff_t(nest.extent[d]);
      }
    }
    return result;
  }

  static std::pair<int64_t, int64_t> halvesOf(const SramElements &its,
                                              const Nest &nest) {
    int64_t last = its.first;
    for (int d = 0; d + 1 < nest.dimensions; ++d)
      last += its.stride[d] * int64_t(nest.extent[d] - 1);
    const int64_t size = its.halves() ? 1 : 2;
    return {its.first * size, (last + 1) * size};
  }

  /// A lane, or others behind it, as those that get what one sends; often all.
  std::vector<int> inTurn(int lane, bool copies) {
    std::vector<int> result{lane};
    if (lane < 0 || !copies || pick(2) == 0)
      return result;
    const int count = pick(2) == 0 ? lanes : 1 + pick(size_t(lanes));
    for (int i = 1; i < count; ++i)
      result.push_back((lane + i) % lanes);
    return result;
  }

  /// As an engine finds out: other elements of the same words.
  static bool overlaps(const Operand &dst, const Operand &source,
                       const Nest &nest) {
    if (source.kind != Operand::Sram)
      return false;
    bool same = dst.sram.type == source.sram.type &&
                dst.sram.first == source.sram.first;
    for (int d = 0; d + 1 < nest.dimensions; ++d)
      same &=
          nest.extent[d] == 1 || dst.sram.stride[d] == source.sram.stride[d];
    const auto [low, high] = halvesOf(dst.sram, nest);
    const auto [from, to] = halvesOf(source.sram, nest);
    return !same && low < to && from < high;
  }

  Number value(const Operand &from, NumberKind kind, int lane, size_t step,
               const int64_t *index, const Nest &nest, bool alone) {
    if (from.kind == Operand::Immediate)
      return immediateNumber(kind, from.immediate);
    if (from.kind == Operand::Fabric) {
      const float word = from.chunk[from.alike ? step
                                               : step * size_t(lanes) +
                                                     size_t(alone ? 0 : lane)];
      uint32_t bits;
      std::memcpy(&bits, &word, 4);
      return decodeElement(ElementType::F32, kind, bits);
    }
    int64_t element = from.sram.first;
    for (int d = 0; d + 1 < nest.dimensions; ++d)
      element += index[d] * from.sram.stride[d];
    return read(plain[size_t(lane)], from.sram.type, kind, element);
  }

  /// What the nest means; `alone`: for that lane only, whose words a chunk has.
  void compute(const Nest &nest, NumberKind kind, const Operand &dst,
               const Operand &a, const Operand &b, int lane, bool alone) {
    size_t steps = 1;
    for (int d = 0; d + 1 < nest.dimensions; ++d)
      steps *= nest.extent[d];
    for (size_t step = 0; step < steps; ++step) {
      int64_t index[maxDimensions] = {}, element = dst.sram.first;
      size_t rest = step;
      for (int d = nest.dimensions - 1; d-- > 0; rest /= nest.extent[d])
        index[d] = int64_t(rest % nest.extent[d]);
      for (int d = 0; d + 1 < nest.dimensions; ++d)
        element += index[d] * dst.sram.stride[d];
      std::vector<uint16_t> &sram = plain[size_t(lane)];
      const Number x = value(a, kind, lane, step, index, nest, alone);
      const Number y = b.kind == Operand::None
                           ? x
                           : value(b, kind, lane, step, index, nest, alone);
      const Number old = read(sram, dst.sram.type, kind, element);
      write(sram, dst.sram.type, kind, element,
            evaluate(nest.op, kind, x, y, old));
    }
  }

  std::mt19937 generator;
  const int lanes;
  Plain plain;
  const ClassCode code;
  Strip strip;
  std::vector<std::shared_ptr<float[]>> keep;
  std::vector<std::unique_ptr<float>> immediates;
};

TEST(StripMemoryTest, FormsOfWordsDoNotShow) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomSram sram(seed, 1 + int(seed % 5));
    for (int i = 0; i < 12; ++i) {
      sram.step();
      if (sram.pick(8) == 0)
        sram.sortViews();
    }
    ASSERT_NO_FATAL_FAILURE(sram.compare(seed));
  }
}

/// Words of a fabric chunk, in rows `pitch` apart, to words of lanes (-1: all).
void copyWords(Strip &strip, const std::shared_ptr<float[]> &chunk,
               int64_t word, size_t count, int lane, size_t rows = 1,
               ptrdiff_t pitch = 0) {
  Nest nest;
  nest.op = Opcode::Mov;
  nest.dimensions = 3;
  nest.extent[0] = rows;
  nest.extent[1] = count;
  nest.extent[2] = lane < 0 ? size_t(strip.lanes) : 1;
  NestOperand to, from;
  to.sram = SramElements{ElementType::F32, word};
  to.sram->stride[0] = int64_t(count);
  to.sram->stride[1] = 1;
  from.place.data = chunk.get();
  from.place.stride[0] = pitch;
  from.place.stride[1] = 1;
  from.place.owner = chunk;
  NestRunner::Operands operands{to, from, {}};
  NestRunner(strip, lane).run(nest, operands);
}

// Weights that a lane sends to all others, behind activations that came word by
// word: each of these is a view.
TEST(StripMemoryTest, MoreViewsThanForms) {
  constexpr int64_t many = 300;
  ClassCode code;
  code.endDataWord = many + 1;
  Strip strip(0, 0, code, 0, {0, 1, 2}, {}, {});
  strip.reset();
  std::vector<std::shared_ptr<float[]>> chunks;
  for (int64_t word = 0; word <= many; ++word) {
    chunks.emplace_back(new float[1]{float(word)});
    for (int lane = word < many ? -1 : 0; lane < (word < many ? 0 : 3); ++lane)
      copyWords(strip, chunks.back(), word, 1, lane);
  }
  strip.memory.bringAllHome();
  strip.memory.executor().flush();
  for (int64_t word = 0; word <= many; ++word)
    for (int lane = 0; lane < 3; ++lane)
      EXPECT_EQ(strip.memory.home(word)[lane], float(word)) << lane;
}

// Lanes that get words at addresses of their own, which overlap, and then all
// of them others in place of some.
TEST(StripMemoryTest, ViewsOfLanesThatOverlap) {
  ClassCode code;
  code.endDataWord = 25;
  Strip strip(0, 0, code, 0, {0, 1, 2}, {}, {});
  strip.reset();
  std::vector<std::shared_ptr<float[]>> chunks;
  const int64_t first[] = {0, 5, 15};
  for (int lane = 0; lane < 3; ++lane) {
    chunks.emplace_back(new float[10]);
    for (int i = 0; i < 10; ++i)
      chunks.back()[i] = float(100 * (lane + 1) + i);
    copyWords(strip, chunks.back(), first[lane], 10, lane);
  }
  Nest five;
  five.op = Opcode::Mov;
  five.dimensions = 2;
  five.extent[0] = 13;
  five.extent[1] = 3;
  const float value = 5;
  NestOperand to, from;
  to.sram = SramElements{ElementType::F32, 12};
  to.sram->stride[0] = 1;
  from.place.data = &value;
  NestRunner::Operands operands{to, from, {}};
  NestRunner(strip, -1).run(five, operands);
  strip.memory.bringAllHome();
  strip.memory.executor().flush();
  for (int lane = 0; lane < 3; ++lane)
    for (int64_t word = 12; word < 25; ++word)
      EXPECT_EQ(strip.memory.home(word)[lane], 5) << lane << ", " << word;
  EXPECT_EQ(strip.memory.home(5)[0], 105);
  EXPECT_EQ(strip.memory.home(5)[1], 200);
}

// Lanes get rows of words, and then others in place of some: what each has left
// of the rows stays.
TEST(StripMemoryTest, LanesKeepTheRestOfViews) {
  constexpr int64_t words = 60;
  std::mt19937 random(1);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 500; ++round) {
    ClassCode code;
    code.endDataWord = words;
    Strip strip(0, 0, code, 0, {0, 1, 2}, {}, {});
    strip.reset();
    std::vector<std::vector<float>> expected(3, std::vector<float>(words, -1));
    std::shared_ptr<float[]> chunk;
    for (int64_t times = pick(2, 12); times > 0; --times) {
      const int64_t rows = pick(1, 5), count = pick(1, 8), pitch = pick(8, 10);
      const int64_t word = pick(0, words - rows * count);
      chunk.reset(new float[64]);
      for (int i = 0; i < 64; ++i)
        chunk[i] = float(1000 * times + i);
      // Some get the same, one after the other.
      for (int lane = int(pick(0, 2)), last = int(pick(0, 2)); lane <= last;
           ++lane) {
        copyWords(strip, chunk, word, size_t(count), lane, size_t(rows), pitch);
        for (int64_t i = 0; i < rows * count; ++i)
          expected[size_t(lane)][size_t(word + i)] =
              chunk[i / count * pitch + i % count];
      }
    }
    strip.memory.bringAllHome();
    strip.memory.executor().flush();
    for (int lane = 0; lane < 3; ++lane)
      for (int64_t word = 0; word < words; ++word)
        if (const float its = expected[size_t(lane)][size_t(word)]; its >= 0)
          ASSERT_EQ(strip.memory.home(word)[lane], its)
              << round << ": lane " << lane << ", word " << word;
  }
}

} // namespace
} // namespace wsec::runtime
