// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small program that uses every part of the schema, and .wafer files in
// memory.
#ifndef TEST_RUNTIME_EXAMPLEFILE_H
#define TEST_RUNTIME_EXAMPLEFILE_H

#include "runtime/files/Digest.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Container.h"
#include "test/runtime/ProgramBuilder.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace wsec::runtime::test {

/// States the code size that the checker computes, buffers right above it.
inline void stateCodeBytes(ProgramBuilder &builder) {
  for (flatbuffers::uoffset_t i = 0; i < builder.source.classes.size(); ++i) {
    program::PEClassT &peClass = *builder.source.classes[i];
    peClass.code_bytes =
        uint32_t(codeBytes(*builder.finish().classes()->Get(i)));
    uint32_t address =
        uint32_t(builder.source.machine->runtime_bytes) + peClass.code_bytes;
    for (auto &buffer : peClass.buffers) {
      buffer->address = address;
      address += buffer->bytes;
    }
  }
}

/// The bytes of a .wafer file with `bundle` as its weight data.
inline std::vector<uint8_t> makeFile(ProgramBuilder &builder,
                                     const std::vector<float> &bundle = {}) {
  flatbuffers::FlatBufferBuilder flat;
  flat.Finish(program::Program::Pack(flat, &builder.source),
              program::ProgramIdentifier());
  uint64_t size = flat.GetSize();
  std::vector<uint8_t> file(containerMagic.begin(), containerMagic.end());
  for (int i = 0; i < 8; ++i)
    file.push_back(uint8_t(size >> (8 * i)));
  file.insert(file.end(), flat.GetBufferPointer(),
              flat.GetBufferPointer() + size);
  if (bundle.empty())
    return file;
  file.resize(bundleStart(size) + bundle.size() * sizeof(float));
  std::memcpy(file.data() + bundleStart(size), bundle.data(),
              bundle.size() * sizeof(float));
  return file;
}

inline program::TensorT &
addTensor(ProgramBuilder &builder, const std::string &name,
          program::TensorRole role, std::vector<int64_t> shape,
          program::ElementType type = program::ElementType::F32) {
  auto tensor = std::make_unique<program::TensorT>();
  tensor->name = name;
  tensor->role = role;
  tensor->type = type;
  tensor->shape = std::move(shape);
  builder.source.tensors.push_back(std::move(tensor));
  return *builder.source.tensors.back();
}

/// Adds a weight of f32 words that lies at `offset` bytes of the bundle.
inline program::TensorT &addWeight(ProgramBuilder &builder,
                                   const std::string &name,
                                   std::vector<int64_t> shape,
                                   uint64_t offset = 0) {
  program::TensorT &tensor =
      addTensor(builder, name, program::TensorRole::Weight, shape);
  tensor.file = 0;
  tensor.offset = offset;
  tensor.bytes = sizeof(float);
  for (int64_t dimension : tensor.shape)
    tensor.bytes *= uint64_t(dimension);
  return tensor;
}

inline void addBundle(ProgramBuilder &builder,
                      const std::vector<float> &bundle) {
  auto file = std::make_unique<program::FileT>();
  file->size = bundle.size() * sizeof(float);
  file->digest = digestOf(bundle.data(), file->size);
  builder.source.files.push_back(std::move(file));
}

inline std::unique_ptr<program::SegmentT>
makeSegment(uint32_t tensor, const Value &lines, int64_t lineStride,
            std::vector<Value> extents, std::vector<int64_t> strides,
            const Value &offset) {
  auto segment = std::make_unique<program::SegmentT>();
  segment->tensor = tensor;
  segment->lines = lines.build();
  segment->line_stride = lineStride;
  for (const Value &extent : extents)
    segment->extents.push_back(extent.build());
  segment->strides = std::move(strides);
  segment->offset = offset.build();
  return segment;
}

/// A scalar of a stream.
inline Scalar addScalar(program::HostStreamT &stream, program::ScalarOp op,
                        int a = 0, int b = 0, int c = 0) {
  stream.scalars.push_back({op, a, b, c});
  return {uint16_t(stream.scalars.size() - 1)};
}

/// output[i] = -(input[i] + weight[i]) on one PE; runs.
inline ProgramBuilder makeNegation(int words,
                                   const std::vector<float> &bundle) {
  using program::Direction;
  using program::Opcode;
  using program::Port;
  ProgramBuilder builder(1, 1);
  builder.source.model = "negation";
  builder.source.parameters = uint64_t(words);
  builder.source.weight_bytes = uint64_t(words) * 4;
  constexpr int in = 0, out = 1;
  builder.route(in, 0, 1, 0, 1, Port::West, {Port::Ramp});
  builder.route(out, 0, 1, 0, 1, Port::Ramp, {Port::East});
  ClassBuilder pes = builder.addClass("all", 0, 1, 0, 1);
  uint16_t sum = pes.buffer("sum", uint32_t(words));
  BodyBuilder body = pes.routine(0);
  body.add(Opcode::Mov, {words}, memory(sum, {1}), fabric(in));
  body.add(Opcode::Add, {words}, memory(sum, {1}), memory(sum, {1}),
           fabric(in));
  body.add(Opcode::Neg, {words}, fabric(out), memory(sum, {1}));
  addTensor(builder, "x", program::TensorRole::Input, {words});
  addBundle(builder, bundle);
  addWeight(builder, "w", {words});
  addTensor(builder, "y", program::TensorRole::Output, {words});
  uint32_t feed = builder.stream("feed", Direction::In, in, {0});
  uint32_t drain = builder.stream("drain", Direction::Out, out, {0});
  auto &streams = builder.source.streams;
  streams[feed]->segments.push_back(makeSegment(0, 1, 0, {words}, {1}, 0));
  streams[feed]->segments.push_back(makeSegment(1, 1, 0, {words}, {1}, 0));
  streams[drain]->segments.push_back(makeSegment(2, 1, 0, {words}, {1}, 0));
  builder.launch(0, {feed, drain}, "negate");
  stateCodeBytes(builder);
  return builder;
}

/// Valid, with every table and union member of the schema; not meant to run.
inline ProgramBuilder makeEverything(const std::vector<float> &bundle) {
  using program::Direction;
  using program::Opcode;
  using program::Port;
  using program::ScalarOp;
  ProgramBuilder builder(6, 4);
  builder.source.model = "everything";
  builder.route(0, 0, 6, 1, 2, Port::West, {Port::East, Port::Ramp});
  builder.route(1, 1, 6, 0, 4, Port::East, {Port::Ramp}, 2, 1);
  builder.route(1, 0, 6, 0, 4, Port::Ramp, {Port::West}, 2, 1);
  for (int loop : {2, 3})
    builder.route(loop, 0, 6, 0, 4, Port::Ramp, {Port::Ramp});
  for (int half = 0; half < 2; ++half) {
    ClassBuilder pes =
        builder.addClass(half ? "east" : "west", 3 * half, 3 * half + 3, 0, 4);
    Scalar x = pes.px(), y = pes.py(), parity = pes.parity(x);
    Scalar n = pes.constant(10), w = pes.constant(6);
    Scalar size = pes.scalar(ScalarOp::TileSize, n.index, w.index, x.index);
    Scalar start = pes.scalar(ScalarOp::TileStart, n.index, w.index, x.index);
    Scalar owner = pes.scalar(ScalarOp::TileIndex, n.index, w.index, x.index);
    Scalar guard = pes.both(pes.equal(y, 1), pes.negate(parity));
    pes.scalar(ScalarOp::Div, n.index, w.index);
    pes.scalar(ScalarOp::Sub, owner.index, start.index);
    uint16_t a = pes.buffer("a", 40), b = pes.buffer("b", 40);
    pes.source->buffers[1]->onnx_node = "node";
    BodyBuilder body = pes.routine(0);
    program::InstructionT &receive =
        body.add(Opcode::Mov, {2, size}, memory(a, {20, 1}),
                 fabric(0, 2).window(start, n));
    receive.thread = 1;
    receive.guard = int16_t(guard.index);
    body.loop(3, [&](BodyBuilder inner) {
      inner.add(Opcode::Fmac, {4, 5}, memory(b, {5, 1}),
                memory(a, {5, 1}, Value::loop(0, 2)), immediate(0.5f));
      inner.loop(2, [&](BodyBuilder most) {
        most.add(Opcode::Exp, {5}, memory(b, {1}, Value::loop(1, 5)),
                 memory(b, {1}));
      });
    });
    body.await(2);
    pes.routine(1).add(Opcode::Mov, {8}, fabric(Value(parity) + Value(2)),
                       memory(b, {1}));
  }
  addTensor(builder, "ids", program::TensorRole::Input, {1, 5},
            program::ElementType::I64);
  addBundle(builder, bundle);
  addWeight(builder, "table", {7, 10});
  program::TensorT &constant =
      addTensor(builder, "one", program::TensorRole::Constant, {2});
  constant.data.resize(8);
  addTensor(builder, "y", program::TensorRole::Output, {4, 10},
            program::ElementType::F16);
  addTensor(builder, "same", program::TensorRole::Output, {5},
            program::ElementType::I64)
      .alias = 0;
  auto tile = [&](program::HostStreamT &stream) {
    Scalar x = addScalar(stream, ScalarOp::Px);
    Scalar n = addScalar(stream, ScalarOp::Constant, 10);
    Scalar w = addScalar(stream, ScalarOp::Constant, 6);
    Scalar size =
        addScalar(stream, ScalarOp::TileSize, n.index, w.index, x.index);
    Scalar start =
        addScalar(stream, ScalarOp::TileStart, n.index, w.index, x.index);
    return std::pair(size, start);
  };
  uint32_t in = builder.stream("rows", Direction::In, 0, {});
  program::HostStreamT &rows = *builder.source.streams[in];
  rows.channels = {{1, 0, 4}, {3, 4, 6}};
  auto [size, start] = tile(rows);
  rows.segments.push_back(makeSegment(1, 7, 10, {size}, {1}, start));
  auto gathered = makeSegment(1, 5, 0, {size}, {1}, start);
  gathered->index_tensor = 0;
  gathered->index_stride = 10;
  gathered->index_count = 7;
  rows.segments.push_back(std::move(gathered));
  rows.segments.push_back(makeSegment(2, 1, 0, {2}, {1}, 0));
  uint32_t out = builder.stream("result", Direction::Out, 1, {});
  program::HostStreamT &result = *builder.source.streams[out];
  result.channels = {{0, 0, 2}, {2, 2, 4}};
  auto [outSize, outStart] = tile(result);
  Scalar y = addScalar(result, ScalarOp::Py);
  Value offset = Value(outStart) + Value(y).times(10);
  result.segments.push_back(makeSegment(3, 1, 0, {outSize}, {1}, offset));
  builder.launch(0, {in, out}, "first");
  builder.launch(1, {}, "second");
  builder.source.kernels[0]->region =
      std::make_unique<program::Rect>(ClassBuilder::makeRect(0, 6, 0, 4));
  builder.source.kernels[0]->onnx_nodes = {"a", "b"};
  stateCodeBytes(builder);
  return builder;
}

/// Where the program ends in a file that `makeFile` or the compiler wrote; in
/// any other, where the file does.
inline uint64_t programEnd(const std::vector<uint8_t> &file) {
  uint64_t bytes = 0;
  if (file.size() < containerHeaderBytes)
    return file.size();
  std::memcpy(&bytes, file.data() + containerMagic.size(), sizeof(bytes));
  return std::min<uint64_t>(file.size() - containerHeaderBytes, bytes) +
         containerHeaderBytes;
}

/// Whether the tables of the program in a file verify.
inline bool tablesVerify(const std::vector<uint8_t> &file) {
  const uint64_t end = programEnd(file);
  if (end <= containerHeaderBytes)
    return false;
  const uint64_t size = end - containerHeaderBytes;
  flatbuffers::Verifier verifier(file.data() + containerHeaderBytes, size, 64,
                                 flatbuffers::uoffset_t(size + 1024));
  return program::VerifyProgramBuffer(verifier);
}

/// Puts right the code sizes that classes state; the tables must verify. They
/// may lie over one another in a file of a stranger: if one of them does not
/// verify with the sizes written, none is.
inline void mendCodeBytes(std::vector<uint8_t> &file) {
  std::vector<uint8_t> mended = file;
  const auto *program =
      program::GetProgram(mended.data() + containerHeaderBytes);
  std::vector<uint64_t> sizes;
  for (const program::PEClass *peClass : *program->classes())
    sizes.push_back(codeBytes(*peClass));
  // Their places, before any of them is written over.
  std::vector<flatbuffers::Table *> tables;
  for (const program::PEClass *peClass : *program->classes())
    tables.push_back(reinterpret_cast<flatbuffers::Table *>(
        const_cast<program::PEClass *>(peClass)));
  for (size_t i = 0; i < tables.size() && tablesVerify(mended); ++i)
    tables[i]->SetField(program::PEClass::VT_CODE_BYTES, uint32_t(sizes[i]),
                        0u);
  if (tablesVerify(mended))
    file = std::move(mended);
}

/// 0, 1, 2, ...
inline std::vector<float> countUp(size_t count) {
  std::vector<float> words(count);
  std::iota(words.begin(), words.end(), 0.f);
  return words;
}

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_EXAMPLEFILE_H
