// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/HostChecker.h"
#include "runtime/files/ProceduralFile.h"
#include "runtime/files/WeightFolders.h"
#include "runtime/program/Checker.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"
#include "runtime/program/Wire.h"
#include "runtime/program/check/MachineChecker.h"
#include "runtime/program/check/ScalarChecker.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace wsec::runtime {

/// More bytes than any store holds; sizes below it can be added freely.
static constexpr uint64_t largestBytes = uint64_t(1) << 50;

const program::Tensor &tensorAt(const program::Program &program, int64_t index,
                                const std::string &what, const Where &where) {
  if (index >= int64_t(program.tensors()->size()))
    throw badProgram(where, what + " tensor " + std::to_string(index) +
                                ", which does not exist");
  return *program.tensors()->Get(flatbuffers::uoffset_t(index));
}

void checkShape(const flatbuffers::Vector<int64_t> *shape, const Where &where) {
  uint64_t count = 1;
  if (!shape)
    return;
  if (shape->size() > largestTensorRank)
    throw badProgram(where, "has " + std::to_string(shape->size()) +
                                " dimensions, at most " +
                                std::to_string(largestTensorRank));
  checkAligned(*shape, where);
  for (int64_t dimension : *shape) {
    if (dimension < 0)
      throw badProgram(where, "dimension " + std::to_string(dimension) +
                                  " is negative");
    uint64_t bytes;
    if (__builtin_mul_overflow(count, uint64_t(dimension), &count) ||
        __builtin_mul_overflow(count, uint64_t(8), &bytes) ||
        bytes > largestBytes)
      throw badProgram(where, "the shape takes more than " +
                                  std::to_string(largestBytes) + " bytes");
  }
}

void checkStride(const char *name, int64_t stride, const Where &where) {
  if (stride > largestScalar || stride < -largestScalar)
    throw badProgram(where, std::string(name) + " " + std::to_string(stride) +
                                " is too large, at most " +
                                std::to_string(largestScalar));
}

namespace {

using program::Tensor;
using program::TensorRole;

void checkWeight(const Tensor &tensor, const program::Program &program,
                 const Where &where) {
  uint64_t bytes = elementCount(tensor) * elementBytes(tensor.type());
  if (tensor.bytes() != bytes)
    throw badProgram(where, "states " + std::to_string(tensor.bytes()) +
                                " bytes, its shape takes " +
                                std::to_string(bytes));
  size_t files = program.files() ? program.files()->size() : 0;
  if (tensor.file() < 0 || size_t(tensor.file()) >= files)
    throw badProgram(where, "refers to file " + std::to_string(tensor.file()) +
                                ", which does not exist");
  const program::File &file =
      *program.files()->Get(flatbuffers::uoffset_t(tensor.file()));
  const bool computed =
      file.path() && ProceduralFile::isNamedBy(file.path()->str());
  if (computed && (tensor.type() != program::ElementType::F32 ||
                   tensor.offset() % sizeof(float) != 0))
    throw badProgram(where, "is computed, and does not consist of f32 at a "
                            "multiple of 4 bytes");
  uint64_t size = file.size();
  if (tensor.offset() > size || bytes > size - tensor.offset())
    throw badProgram(where, "lies beyond the " + std::to_string(size) +
                                " bytes of its file");
}

void checkConstant(const Tensor &tensor, const Where &where) {
  uint64_t bytes = elementCount(tensor) * elementBytes(tensor.type());
  uint64_t found = tensor.data() ? tensor.data()->size() : 0;
  if (found != bytes)
    throw badProgram(where, "has " + std::to_string(found) +
                                " bytes of data, its shape takes " +
                                std::to_string(bytes));
}

void checkAlias(const Tensor &tensor, const program::Program &program,
                const Where &where) {
  if (tensor.alias() < 0)
    return;
  if (tensor.role() != TensorRole::Output)
    throw badProgram(where, "only an output can equal another tensor");
  const Tensor &source = tensorAt(program, tensor.alias(), "equals", where);
  if (source.alias() >= 0 || &source == &tensor)
    throw badProgram(where, "equals a tensor that equals another one");
  if (source.type() != tensor.type() ||
      elementCount(source) != elementCount(tensor))
    throw badProgram(where, "equals tensor " + inQuotes(source.name()->str()) +
                                " of another type or size");
}

/// What a caller may give, or get, shorter.
void checkLengthAxes(const Tensor &tensor, const Where &where) {
  if (!tensor.length_axes())
    return;
  if (tensor.role() != TensorRole::Input && tensor.role() != TensorRole::Output)
    throw badProgram(where, "only an input or an output has a length");
  const auto *shape = tensor.shape();
  for (const uint8_t axis : *tensor.length_axes())
    if (!shape || axis >= shape->size() ||
        shape->Get(axis) != shape->Get(tensor.length_axes()->Get(0)))
      throw badProgram(where, "has a length along axis " +
                                  std::to_string(axis) +
                                  ", which it has not, or which differs from "
                                  "that along another");
}

void checkNames(const program::Program &program) {
  std::vector<std::string_view> names;
  for (const Tensor *tensor : *program.tensors())
    if (tensor->role() == TensorRole::Input ||
        tensor->role() == TensorRole::Output)
      names.push_back(tensor->name()->string_view());
  std::sort(names.begin(), names.end());
  auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin != names.end())
    throw badProgram({nullptr, "program"}, "two inputs or outputs are named " +
                                               inQuotes(std::string(*twin)));
}

/// Steps to plan the words of a stream: its scalars and blocks are evaluated in
/// every column of an In stream, in every column and every row of an Out
/// stream, and in every PE where they ask for both coordinates. A stream that a
/// compiler writes has some ten scalars and extents: so much of a column is
/// work for the file's size, and counts for nothing.
void addPlan(const program::HostStream &stream, const program::Machine &machine,
             CheckerWork &work, const Where &where) {
  const bool in = stream.direction() == program::Direction::In;
  const std::vector<uint8_t> axes = axesOf(stream.scalars());
  uint64_t steps = axes.size(), served = 0;
  bool separable = true;
  for (const program::Segment *segment : *stream.segments()) {
    steps += 2 + segment->extents()->size();
    separable &= in || isSeparable(*segment, axes);
  }
  for (const program::Channel *channel : *stream.channels())
    served += uint64_t(channel->end() - channel->begin());
  constexpr uint64_t stepsOfShort = 16; // of a column
  const uint64_t width = uint64_t(machine.width());
  const uint64_t times = in          ? served
                         : separable ? served + width
                                     : served * width;
  const bool isShort =
      times <= width + uint64_t(machine.height()) && steps <= stepsOfShort;
  work.add(times, isShort ? 1 : steps, "to plan its words", where);
}

/// One direction of one stream: channels lie in rows of their own, inside the
/// mesh. No two carry a row off it.
void checkChannels(const program::HostStream &stream,
                   const program::Machine &machine, const Where &where) {
  bool in = stream.direction() == program::Direction::In;
  int32_t limit = in ? machine.width() : machine.height();
  if (int64_t(stream.channels()->size()) > machine.height())
    throw badProgram(where, "has " + std::to_string(stream.channels()->size()) +
                                " channels, the mesh has " +
                                std::to_string(machine.height()) + " rows");
  std::vector<const program::Channel *> channels;
  for (const program::Channel *channel : *stream.channels()) {
    Where here{&where, "channel", int64_t(channels.size())};
    if (channel->row() < 0 || channel->row() >= machine.height())
      throw badProgram(here, "row " + std::to_string(channel->row()) +
                                 " is outside the mesh of " +
                                 std::to_string(machine.height()) + " rows");
    if (channel->begin() < 0 || channel->begin() > channel->end() ||
        channel->end() > limit)
      throw badProgram(here, "serves [" + std::to_string(channel->begin()) +
                                 ", " + std::to_string(channel->end()) +
                                 ") of " + std::to_string(limit) +
                                 (in ? " columns" : " rows"));
    channels.push_back(channel);
  }
  std::sort(channels.begin(), channels.end(), [](auto *a, auto *b) {
    return std::pair(a->begin(), a->end()) < std::pair(b->begin(), b->end());
  });
  for (size_t i = 1; i < channels.size() && !in; ++i)
    if (channels[i]->begin() < channels[i - 1]->end())
      throw badProgram(where, "two channels serve row " +
                                  std::to_string(channels[i]->begin()));
  std::sort(channels.begin(), channels.end(),
            [](auto *a, auto *b) { return a->row() < b->row(); });
  for (size_t i = 1; i < channels.size(); ++i)
    if (channels[i]->row() == channels[i - 1]->row())
      throw badProgram(where, "two channels use row " +
                                  std::to_string(channels[i]->row()));
}

/// The rows of one edge where words cross it: a channel each.
class EdgeRows {
public:
  EdgeRows(const char *edge, int32_t channels)
      : edge(edge), channels(size_t(channels)) {}

  void add(int32_t row, const Where &where) {
    if (!rows.insert(row).second || rows.size() <= channels)
      return;
    throw errorAt(ErrorClass::MachineLimit, where,
                  "row " + std::to_string(row) +
                      " is one more channel of the " + edge +
                      " edge than the " + std::to_string(channels) +
                      " of the machine: use rows that are in use, such as " +
                      std::to_string(*rows.begin()) +
                      ", and let their words go on inside the mesh");
  }

private:
  const char *edge;
  size_t channels;
  std::set<int32_t> rows;
};

/// Streams of one edge may share rows, and take turns there. Launch wavelets
/// enter in row 0.
void checkEdges(const program::Program &program) {
  const program::Machine &machine = *program.machine();
  EdgeRows west("west", machine.channels()), east("east", machine.channels());
  if (program.launch_color() != noLaunchColor)
    west.add(0, {nullptr, "program"});
  for (const program::HostStream *stream : *program.streams()) {
    const Where where{nullptr, "stream", -1, stream->name()};
    EdgeRows &edge =
        stream->direction() == program::Direction::In ? west : east;
    int64_t index = 0;
    for (const program::Channel *channel : *stream->channels())
      edge.add(channel->row(), {&where, "channel", index++});
  }
}

void checkIndexTensor(const program::Segment &segment, const Interval &lines,
                      const program::Program &program, const Where &where) {
  if (segment.index_tensor() < 0)
    return;
  const Tensor &ids =
      tensorAt(program, segment.index_tensor(), "takes rows from", where);
  if (ids.role() == TensorRole::Output ||
      (ids.type() != program::ElementType::I32 &&
       ids.type() != program::ElementType::I64))
    throw badProgram(where, "takes rows from " + inQuotes(ids.name()->str()) +
                                ", which is not a tensor of indices");
  if (segment.index_count() < 1)
    throw badProgram(where, "takes rows from a table of " +
                                std::to_string(segment.index_count()) +
                                " rows");
  const auto count = int64_t(elementCount(ids));
  if (segment.index_at() >= count)
    throw badProgram(where, "takes row " + std::to_string(segment.index_at()) +
                                " of " + inQuotes(ids.name()->str()) +
                                ", which has " + std::to_string(count) +
                                " indices");
  if (segment.index_at() < 0 && lines.high > count)
    throw badProgram(where, "has " + std::to_string(lines.high) + " lines, " +
                                inQuotes(ids.name()->str()) + " has " +
                                std::to_string(count) + " indices");
}

bool isFloat(program::ElementType type) {
  return type == program::ElementType::F32 ||
         type == program::ElementType::F16 ||
         type == program::ElementType::BF16 ||
         type == program::ElementType::F64 ||
         type >= program::ElementType::F8E4M3FN;
}

/// The wire carries what the tensor holds, or the other way round.
void checkElements(const program::Segment &segment,
                   const program::HostStream &stream, const Tensor &tensor,
                   const Where &where) {
  const bool out = stream.direction() == program::Direction::Out;
  const std::string name = "tensor " + inQuotes(tensor.name()->str()) + " of " +
                           program::EnumNameElementType(tensor.type());
  if (segment.accumulate() &&
      !(out && tensor.type() == program::ElementType::F32 &&
        isFloat(stream.type())))
    throw badProgram(where, "accumulates in " + name +
                                ": floats that go out do, in one of F32");
  if (isFloat(stream.type()))
    return;
  const bool holds = !out || tensor.type() != program::ElementType::Bool;
  if (isFloat(tensor.type()) || !holds)
    throw badProgram(where, std::string(out ? "writes " : "reads ") +
                                program::EnumNameElementType(stream.type()) +
                                (out ? " to " : " from ") + name +
                                ", which does not hold it exactly");
}

/// Words that PEs take and send as any others.
void checkHalves(const program::Segment &segment,
                 const program::HostStream &stream, const Where &where) {
  using program::ElementType;
  if (segment.halves() == ElementType::F32)
    return;
  if (!isNarrowFloat(segment.halves()))
    throw badProgram(where, "has halves of words of an element type other than "
                            "F16, BF16 and CB16");
  if (stream.type() != ElementType::F32 || stream.indexed() ||
      stream.packing() != program::Packing::Single)
    throw badProgram(where, "has halves of words in a stream that is not of "
                            "F32");
}

/// Elements of 16 bits may be two in a wavelet, or have their number beside
/// them.
void checkWire(const program::HostStream &stream, const Where &where) {
  using program::ElementType;
  const ElementType type = stream.type();
  if (!wireType(type))
    throw badProgram(where, "has elements of a type that no wavelet carries");
  if (stream.packing() > program::Packing::MAX)
    throw badProgram(where, "has an unknown packing");
  const Wire wire(stream);
  if ((wire.pairs() || wire.indexed) && !wire.is16())
    throw badProgram(where,
                     std::string(wire.pairs() ? "has pairs of" : "numbers") +
                         " elements of 32 bits");
  if (wire.pairs() && wire.indexed)
    throw badProgram(where, "has pairs and numbers in one wavelet");
  if (wire.indexed && stream.direction() == program::Direction::Out)
    throw badProgram(where, "numbers elements that go out");
}

/// Sums and other values in one tensor would depend on who comes first.
void checkAccumulation(const program::Program &program) {
  std::set<uint32_t> sums, others;
  for (const program::HostStream *stream : *program.streams())
    if (stream->direction() == program::Direction::Out)
      for (const program::Segment *segment : *stream->segments())
        (segment->accumulate() ? sums : others).insert(segment->tensor());
  for (const program::Entry *entry : *program.entries())
    for (unsigned i = 0; entry->copies() && i < entry->copies()->size(); ++i)
      if (entry->copies()->Get(i)->direction() == program::Direction::Out)
        others.insert(entry->copies()->Get(i)->tensor());
  for (uint32_t tensor : sums)
    if (others.count(tensor))
      throw badProgram(
          {nullptr, "tensor", int64_t(tensor),
           program.tensors()->Get(tensor)->name()},
          "is added to by one stream and written by another, or by a copy");
}

void checkSegment(const program::Segment &segment,
                  const program::HostStream &stream,
                  const program::Program &program,
                  const std::vector<Interval> &scalars, const Where &where) {
  const Tensor &tensor =
      tensorAt(program, segment.tensor(), "refers to", where);
  bool out = stream.direction() == program::Direction::Out;
  if (tensor.role() != TensorRole::Intermediate &&
      out != (tensor.role() == TensorRole::Output))
    throw badProgram(where, std::string(out ? "writes" : "reads") + " tensor " +
                                inQuotes(tensor.name()->str()) + ", which is " +
                                (out ? "not " : "") + "an output");
  if (out && tensor.alias() >= 0)
    throw badProgram(where, "writes output " + inQuotes(tensor.name()->str()) +
                                ", which equals another tensor");
  checkAligned(*segment.strides(), where);
  size_t rank = segment.extents()->size();
  if (rank != segment.strides()->size() || rank > largestSegmentRank)
    throw badProgram(where, "has " + std::to_string(rank) + " extents and " +
                                std::to_string(segment.strides()->size()) +
                                " strides, at most " +
                                std::to_string(largestSegmentRank));
  Interval lines = checkAffine(segment.lines(), scalars, {}, {&where, "lines"});
  if (out && segment.index_tensor() >= 0)
    throw badProgram(where, "takes rows from tensor " +
                                std::to_string(segment.index_tensor()) +
                                ": only what goes in does");
  checkElements(segment, stream, tensor, where);
  checkHalves(segment, stream, where);
  checkAffine(segment.offset(), scalars, {}, {&where, "offset"});
  for (const program::Affine *extent : *segment.extents())
    checkAffine(extent, scalars, {}, {&where, "extent"});
  checkIndexTensor(segment, lines, program, where);
  for (int64_t stride : *segment.strides())
    checkStride("stride", stride, where);
  checkStride("line stride", segment.line_stride(), where);
  checkStride("index stride", segment.index_stride(), where);
  checkStride("index count", segment.index_count(), where);
}

} // namespace

/// Without a path a file is the bundle, of which there is one.
static void checkFiles(const program::Program &program) {
  if (!program.files())
    return;
  int64_t index = 0, bundles = 0;
  for (const program::File *file : *program.files()) {
    Where where{nullptr, "weight file", index++, file->path()};
    const bool named = file->path() && file->path()->size() > 0;
    if (!named && ++bundles > 1)
      throw badProgram(where, "is a second bundle");
    std::optional<std::string> problem;
    if (named && ProceduralFile::isNamedBy(file->path()->str())) {
      if (!ProceduralFile::parse(file->path()->str()))
        problem = "names numbers to compute in a form that is not known";
    } else if (named) {
      problem = WeightFolders::problemOf(file->path()->str());
    }
    if (problem)
      throw badProgram(where, *problem);
  }
}

void checkTensors(const program::Program &program) {
  checkFiles(program);
  int64_t index = 0;
  for (const Tensor *tensor : *program.tensors()) {
    Where where{nullptr, "tensor", index++, tensor->name()};
    if (tensor->role() > TensorRole::MAX)
      throw badProgram(where, "has the unknown role " +
                                  std::to_string(int(tensor->role())));
    if (tensor->type() > program::ElementType::MAX)
      throw badProgram(where, "has the unknown element type " +
                                  std::to_string(int(tensor->type())));
    checkShape(tensor->shape(), where);
    constexpr uint32_t mostExperts = 1 << 16;
    if (tensor->experts() > 0 && (tensor->role() != TensorRole::Intermediate ||
                                  tensor->type() != program::ElementType::I32 ||
                                  tensor->experts() > mostExperts))
      throw badProgram(where, "has numbers of experts, and is no intermediate "
                              "of int32 with at most " +
                                  std::to_string(mostExperts) + " of them");
    if (tensor->sparsity() && tensor->role() != TensorRole::Weight)
      throw badProgram(where, "is the sparse form of a matrix, but no weight");
    if (tensor->role() == TensorRole::Weight && !tensor->sparsity())
      checkWeight(*tensor, program, where);
    if (tensor->role() == TensorRole::Constant)
      checkConstant(*tensor, where);
  }
  index = 0;
  for (const Tensor *tensor : *program.tensors()) {
    Where where{nullptr, "tensor", index++, tensor->name()};
    if (tensor->sparsity())
      checkSparsity(*tensor, program, where);
  }
  for (const Tensor *tensor : *program.tensors()) {
    const Where where{nullptr, "tensor", -1, tensor->name()};
    checkAlias(*tensor, program, where);
    checkLengthAxes(*tensor, where);
  }
  checkNames(program);
  checkParameters(program);
}

void checkStreams(const program::Program &program, const CarriedRanges &carried,
                  CheckerWork &work) {
  if (!program.streams())
    return;
  const program::Machine &machine = *program.machine();
  // Scalars are evaluated at (column, row of a channel) going in and anywhere
  // going out.
  program::Rect mesh(0, machine.width(), 1, 0, machine.height(), 1);
  uint32_t number = 0;
  for (const program::HostStream *stream : *program.streams()) {
    Where where{nullptr, "stream", -1, stream->name()};
    if (stream->direction() > program::Direction::MAX)
      throw badProgram(where, "has an unknown direction");
    checkUsableColor(machine, stream->color(), where);
    checkWire(*stream, where);
    work.add(1, stream->channels()->size(), "to check its channels", where);
    checkChannels(*stream, machine, where);
    auto scalars = checkScalars(
        stream->scalars(), {{mesh}, carried.ofStream(number++)}, work, where);
    int64_t index = 0;
    for (const program::Segment *segment : *stream->segments())
      checkSegment(*segment, *stream, program, scalars,
                   {&where, "segment", index++});
    addPlan(*stream, machine, work, where);
  }
  checkEdges(program);
  checkAccumulation(program);
}

uint64_t elementCount(const Tensor &tensor) {
  uint64_t count = 1;
  if (tensor.shape())
    for (int64_t dimension : *tensor.shape())
      count *= uint64_t(dimension);
  return count;
}

uint32_t elementBytes(program::ElementType type) {
  switch (type) {
  case program::ElementType::F32:
  case program::ElementType::I32:
  case program::ElementType::U32:
    return 4;
  case program::ElementType::F16:
  case program::ElementType::BF16:
  case program::ElementType::CB16:
  case program::ElementType::I16:
  case program::ElementType::U16:
    return 2;
  case program::ElementType::I64:
  case program::ElementType::U64:
  case program::ElementType::F64:
    return 8;
  case program::ElementType::Bool:
  default:
    return 1;
  }
}

/// What launches of one entry do to an intermediate tensor: write it, then read
/// it.
static void checkIntermediates(const program::Program &program,
                               const program::Entry &entry) {
  Where where{nullptr, "entry", -1, entry.name()};
  std::set<uint32_t> written, read;
  int64_t index = 0;
  for (const program::Launch *launch : *entry.launches()) {
    Where here{&where, "launch", index++};
    std::set<uint32_t> writes, reads;
    for (unsigned i = 0; launch->streams() && i < launch->streams()->size();
         ++i) {
      const program::HostStream &stream =
          *program.streams()->Get(launch->streams()->Get(i));
      const bool out = stream.direction() == program::Direction::Out;
      for (const program::Segment *segment : *stream.segments()) {
        (out ? writes : reads).insert(segment->tensor());
        if (segment->index_tensor() >= 0)
          reads.insert(uint32_t(segment->index_tensor()));
      }
    }
    auto name = [&](uint32_t tensor) {
      return inQuotes(program.tensors()->Get(tensor)->name()->string_view());
    };
    auto passes = [&](uint32_t tensor) {
      return program.tensors()->Get(tensor)->role() == TensorRole::Intermediate;
    };
    for (uint32_t tensor : reads) {
      if (passes(tensor) && !written.count(tensor))
        throw badProgram(here, "reads intermediate " + name(tensor) +
                                   ", which no launch before it writes");
      read.insert(tensor);
    }
    for (uint32_t tensor : writes) {
      if (passes(tensor) && read.count(tensor))
        throw badProgram(here, "writes intermediate " + name(tensor) +
                                   ", which is read before: all launches that "
                                   "write it come before those that read it");
      written.insert(tensor);
    }
  }
}

void checkIntermediates(const program::Program &program) {
  for (const program::Tensor *tensor : *program.tensors())
    if (tensor->role() == TensorRole::Intermediate) {
      for (const program::Entry *entry : *program.entries())
        checkIntermediates(program, *entry);
      return;
    }
}

} // namespace wsec::runtime
