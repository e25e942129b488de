// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of a product whose weights stream past: Matmul.cpp says how.

#include "compiler/kernels/attention/CachedTokens.h"
#include "compiler/kernels/move/RowExchange.h"
#include "compiler/kernels/product/MatmulShape.h"
#include "compiler/kernels/product/Product.h"

using namespace mlir;

namespace wsec {
namespace {

class MatmulWriter {
public:
  MatmulWriter(const MatmulForm &op, RoutineBuilder &b)
      : op(op), b(b), s(b.scalars()), shape(op, b.machine()),
        in(b.tile(op.getInput())), out(b.tile(op.getResult())),
        weight(shape.quantized ? HostTensor()
                               : b.source(op.getWeight(), op.getEntry())),
        hears(b.hears(StreamPattern::Column, out.active)), sums(out.buffer) {
    if (shape.apart)
      sums = b.scratch("sums", out.layout.words(b.width(), b.height()));
    // What takes words off the fabric has sizes that are known.
    const bool isOfMemory = shape.plan.buffered || shape.stored;
    channels = isOfMemory ? channelsOfCall(b, out) : Affine(out.channels);
  }

  bool isReduce() const { return shape.reduce; }
  void initialise();
  void finish();
  void broadcast();
  void reduce();

private:
  /// `count` lines from `first` on, their words as an operand over lines, own
  /// features and channels.
  using Body =
      function_ref<void(Affine first, int64_t count, const Operand &words)>;

  /// The guard of who uses weights, among those that hear them.
  Value isUser() const { return hears == out.active ? Value() : out.active; }
  /// Weights of a buffer, over lines, own features and channels.
  Operand weightsIn(const std::string &buffer);
  /// The words they come in, over lines of words and own features.
  Operand wordsIn(const std::string &buffer);
  int64_t wordLines(int64_t lines) const {
    return MatmulShape::wordLines(shape.plan, lines);
  }
  /// By the dimensions of the weight that run over lines and features.
  void streamWeights(size_t lines, size_t features);
  void inStoredBuffers(Value own, Body body);
  void inBlocks(Value own, Body body);
  void asTheyArrive(Value own, Body body);
  void inBuffers(Value own, Body body);
  void multiply(int64_t lines, Affine own, Operand sums, Operand words,
                Operand kept);
  void partialSums(int64_t features, const Operand &words);
  /// Sums of so many lines, before they are added to others.
  std::string partialScratch(int64_t lines) {
    return b.scratch("partial", lines * shape.pitch,
                     shape.plan.narrowSums ? shape.narrow : Type());
  }

  MatmulForm op;
  RoutineBuilder &b;
  ScalarBuilder &s;
  MatmulShape shape;
  Tile in, out;
  HostTensor weight;
  Value hears;       ///< whether weights come to this PE
  Injector injector; ///< of a plan that stores
  Affine channels;   ///< of which products are made
  std::string sums;  ///< the result, or f32 that become it
  std::string scratch;
};

/// The result starts as the bias, or as 0.
void MatmulWriter::initialise() {
  Operand start = Operand::immediate(0);
  if (op.getBias())
    start = b.bringVectors({*op.getBias()}, out.layout.features).front();
  b.vector(Opcode::Mov, {out.features, out.channels},
           Operand::memory(sums, 0, {out.pitch, 1}), {start});
}

/// Sums that were made apart are rounded once.
void MatmulWriter::finish() {
  if (shape.apart)
    b.vector(Opcode::Mov, {out.features, out.channels},
             Operand::memory(out.buffer, 0, {out.pitch, 1}),
             {Operand::memory(sums, 0, {out.pitch, 1})});
}

void MatmulWriter::streamWeights(size_t lines, size_t features) {
  if (shape.quantized)
    return shape.quantized->stream(b, shape.reduce ? in.features : out.features,
                                   out.active);
  ColumnWords words;
  words.tensor = weight.symbol;
  words.offset = weight.offset;
  words.index = weight.index;
  words.features = shape.tiling();
  words.lines = {shape.lines(), weight.strides[lines]};
  words.featureStep = weight.strides[features];
  SmallVector<ColumnWords, 2> all = {words};
  if (shape.takesOneMore()) {
    const int64_t block = shape.plan.block;
    words.offset += (shape.lines() - block) * words.lines.step;
    words.lines.size = block;
    all.push_back(words);
  }
  if (shape.plan.paired) {
    // Behind the last line of an odd number comes the same once more.
    const int64_t step = weight.strides[lines], pairs = shape.lines() / 2;
    words.halves = shape.narrow;
    words.halfStep = step;
    words.lines = {pairs, 2 * step};
    all = {words};
    words.halfStep = 0;
    words.lines = {1, 0};
    words.offset += 2 * pairs * step;
    if (shape.lines() % 2)
      all.push_back(words);
    if (pairs == 0)
      all.erase(all.begin());
  }
  if (shape.stored)
    injector = b.injectFromBuffers(all);
  else
    b.streamToColumns(all);
}

Operand MatmulWriter::wordsIn(const std::string &buffer) {
  if (!shape.plan.paired)
    return Operand::memory(buffer, 0, {int64_t(shape.own), 1});
  return Operand::memory(buffer, 0, {1, wordLines(shape.plan.block)});
}

Operand MatmulWriter::weightsIn(const std::string &buffer) {
  if (!shape.plan.paired)
    return Operand::memory(buffer, 0, {int64_t(shape.own), 1, 0});
  return Operand::memory(b.halvesOf(buffer, shape.narrow), 0,
                         {1, 2 * wordLines(shape.plan.block), 0});
}

/// body for all lines in blocks; `own`: features of this PE.
void MatmulWriter::inBlocks(Value own, Body body) {
  if (shape.stored)
    return inStoredBuffers(own, body);
  if (shape.plan.buffered)
    return inBuffers(own, body);
  asTheyArrive(own, body);
}

void MatmulWriter::asTheyArrive(Value own, Body body) {
  int64_t lines = shape.lines(), block = shape.plan.block;
  auto use = [&](Affine first, int64_t count) {
    b.where(isUser(), [&] { body(first, count, b.columnWords(2)); });
    b.dropColumnWords(Affine(own) * count);
  };
  b.where(hears, [&] {
    b.loop(lines / block, [&](Affine i) { use(i * block, block); });
    if (lines % block)
      use(lines / block * block, lines % block);
  });
}

/// The same with words in two buffers in turns. One is filled while the other
/// is used.
void MatmulWriter::inBuffers(Value own, Body body) {
  const int64_t block = shape.plan.block;
  const int64_t whole = shape.lines() / block, rest = shape.lines() % block;
  std::string buffers[2];
  for (int64_t i = 0; i < std::min<int64_t>(2, shape.blocks()); ++i)
    buffers[i] = shape.quantized ? shape.quantized->arriving(b, block)
                                 : b.scratch("weights", shape.arrivalWords());
  auto fill = [&](int64_t number, int64_t lines) {
    if (shape.quantized)
      return shape.quantized->fill(b, buffers[number % 2], lines, own);
    b.start(FillThread, Opcode::Mov, {wordLines(lines), own},
            wordsIn(buffers[number % 2]), {b.columnWords(2)});
  };
  auto use = [&](int64_t number, Affine first, int64_t lines) {
    const std::string &buffer = buffers[number % 2];
    b.where(isUser(), [&] {
      body(first, lines,
           shape.quantized
               ? shape.quantized->expand(b, buffer, first, lines, block, own)
               : weightsIn(buffer));
    });
  };
  auto sizeOf = [&](int64_t number) { return number < whole ? block : rest; };

  b.where(hears, [&] {
    fill(0, sizeOf(0));
    const int64_t pairs = std::max<int64_t>(0, whole - 1) / 2;
    b.loop(pairs, [&](Affine pair) {
      for (int64_t half : {0, 1}) {
        b.await(FillThread);
        fill(half + 1, block);
        use(half, pair * (2 * block) + Affine(half * block), block);
      }
    });
    for (int64_t number = 2 * pairs; number < shape.blocks(); ++number) {
      b.await(FillThread);
      if (number + 1 < shape.blocks())
        fill(number + 1, sizeOf(number + 1));
      use(number, number * block, sizeOf(number));
    }
  });
}

/// With words in three buffers in turns: injectors take a block from the
/// channel, the one before goes from them to the rest of the column, and all
/// use the one before that.
void MatmulWriter::inStoredBuffers(Value own, Body body) {
  const int64_t block = shape.plan.block;
  const int64_t whole = shape.lines() / block, blocks = shape.blocks();
  std::string buffers[3];
  for (int64_t i = 0; i < std::min<int64_t>(3, blocks); ++i)
    buffers[i] = b.scratch("weights", shape.arrivalWords());
  auto sizeOf = [&](int64_t number) {
    return number < whole ? block : shape.lines() % block;
  };
  auto words = [&](int64_t number) { return wordsIn(buffers[number % 3]); };
  Operand rest = Operand::fabric(b.color(StreamPattern::ColumnRest), 2);
  Value hears = b.hears(StreamPattern::ColumnRest, out.active);
  auto take = [&](int64_t number, int64_t lines) {
    b.start(ChannelThread, Opcode::Mov, {wordLines(lines), injector.block},
            words(number), {injector.incoming}, injector.isHere);
  };
  auto spread = [&](int64_t number, int64_t lines) {
    b.start(ColumnThread, Opcode::Mov, {wordLines(lines), injector.block}, rest,
            {words(number)}, injector.isHere);
    b.where(hears, [&] {
      b.start(FillThread, Opcode::Mov, {wordLines(lines), own}, words(number),
              {rest}, s.logicalNot(injector.isHere));
    });
  };
  auto use = [&](int64_t number, Affine first, int64_t lines) {
    b.where(out.active,
            [&] { body(first, lines, weightsIn(buffers[number % 3])); });
  };
  auto step = [&](int64_t number, Affine first, int64_t lines, int64_t next) {
    b.await(ChannelThread);
    b.await(FillThread);
    spread(number, lines);
    if (next > 0)
      take(number + 1, next);
    if (number > 0)
      use(number - 1, first, block);
  };

  take(0, sizeOf(0));
  step(0, 0, sizeOf(0), blocks > 1 ? sizeOf(1) : 0);
  const int64_t turns =
      (shape.takesOneMore() ? blocks - 1 : std::max<int64_t>(0, whole - 2)) / 3;
  b.loop(turns, [&](Affine turn) {
    for (int64_t i : {1, 2, 3})
      step(i, turn * (3 * block) + Affine((i - 1) * block), block, block);
  });
  for (int64_t number = 3 * turns + 1; number < blocks; ++number)
    step(number, (number - 1) * block, sizeOf(number),
         number + 1 < blocks ? sizeOf(number + 1) : 0);
  b.await(FillThread);
  use(blocks - 1, (blocks - 1) * block, sizeOf(blocks - 1));
}

/// sums += words * kept over lines, own features and channels.
void MatmulWriter::multiply(int64_t lines, Affine own, Operand sums,
                            Operand words, Operand kept) {
  if (shape.plan.buffered)
    return b.multiplyAdd({lines, own, channels}, shape.plan.inner, sums, words,
                         kept);
  if (!shape.oneChannel())
    return b.vector(Opcode::Fmac, {lines, own, channels}, sums, {words, kept});
  sums.strides.pop_back();
  kept.strides.pop_back();
  b.vector(Opcode::Fmac, {lines, own}, sums, {words, kept});
}

void MatmulWriter::broadcast() {
  streamWeights(0, 1);
  std::string activations = in.buffer;
  int64_t pitch = in.pitch;
  b.where(out.active, [&] {
    if (shape.exchanges) {
      activations = b.scratch("activations", shape.k * shape.pitch,
                              elementTypeOf(op.getInput()));
      pitch = shape.pitch;
      const Tile words = b.tile(op.getInput(), shape.pairing);
      const std::string kept =
          shape.pairing == Pairing::None ? activations : b.wordsOf(activations);
      multicastRow(b, words, {words.layout.features.total(), words.channels},
                   Operand::memory(kept, 0, {words.pitch, 1}),
                   Operand::fabric(b.color(StreamPattern::RowCast), 2));
    }
  });
  const bool apart = shape.plan.narrowSums;
  if (apart)
    scratch = partialScratch(int64_t(shape.own));
  const std::string &into = apart ? scratch : sums;
  const int64_t step = apart ? shape.pitch : out.pitch;
  inBlocks(out.features, [&](Affine first, int64_t features,
                             const Operand &words) {
    const SmallVector<Affine> all = {out.features, out.channels};
    const Operand partial = Operand::memory(into, 0, {step, 1});
    if (apart)
      b.vector(Opcode::Mov, all, partial, {Operand::immediate(0)});
    multiply(features, out.features, Operand::memory(into, 0, {0, step, 1}),
             words, Operand::memory(activations, first * pitch, {pitch, 0, 1}));
    if (!apart)
      return;
    const Operand its = Operand::memory(sums, 0, {out.pitch, 1});
    b.vector(Opcode::Add, all, its, {its, partial});
  });
}

void MatmulWriter::reduce() {
  streamWeights(1, 0);
  b.where(out.active, [&] {
    if (shape.exchanges) {
      keepRowSums(b, out, shape.n);
      scratch = partialScratch(shape.plan.block);
    }
  });
  inBlocks(in.features, [&](Affine first, int64_t features,
                            const Operand &words) {
    if (shape.exchanges) {
      partialSums(features, words);
      return passRowSums(b, out,
                         Operand::memory(scratch, 0, shape.partialStrides()),
                         features);
    }
    multiply(features, in.features,
             Operand::memory(sums, first * out.pitch, {out.pitch, 0, 1}), words,
             Operand::memory(in.buffer, 0, {0, in.pitch, 1}));
  });
}

/// The sums over own features of a block of result features. In buffers the
/// first term is a product; where there is none, the sums are 0.
void MatmulWriter::partialSums(int64_t features, const Operand &words) {
  const std::array<int64_t, 2> strides = shape.partialStrides();
  const int64_t line = strides[0], channel = strides[1];
  Operand sums = Operand::memory(scratch, 0, {line, 0, channel});
  Operand kept = Operand::memory(in.buffer, 0, {0, in.pitch, 1});
  Value terms = in.features;
  auto clear = [&](Value where) {
    b.where(where, [&] {
      b.vector(Opcode::Mov, {features, out.channels},
               Operand::memory(scratch, 0, {line, channel}),
               {Operand::immediate(0)});
    });
  };
  if (!shape.plan.buffered) {
    clear({});
    return multiply(features, terms, sums, words, kept);
  }
  Value hasTerms = s.constant(1);
  if (!shape.in.features.everywhere(b.width())) {
    hasTerms = s.less(0, terms);
    terms = s.max(terms, 1);
    clear(s.logicalNot(hasTerms));
  }
  b.where(hasTerms, [&] {
    // Over channels and features: a call for each channel.
    b.vector(
        Opcode::Mul, {out.channels, features},
        Operand::memory(scratch, 0, {channel, line}),
        {Operand::memory(words.buffer, words.offset, {0, words.strides[0]}),
         Operand::memory(in.buffer, 0, {1, 0})});
    Operand others = words;
    others.offset = others.offset + Affine(words.strides[1]);
    kept.offset = in.pitch;
    multiply(features, s.sub(terms, 1), sums, others, kept);
  });
}

} // namespace

void lowerStreamed(const MatmulForm &op, RoutineBuilder &b) {
  MatmulWriter writer(op, b);
  Tile out = b.tile(op.getResult());
  b.where(out.active, [&] { writer.initialise(); });
  if (writer.isReduce())
    writer.reduce();
  else
    writer.broadcast();
  b.where(out.active, [&] { writer.finish(); });
}

} // namespace wsec
