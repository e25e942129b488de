// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/Facts.h"
#include "runtime/program/Call.h"
#include "runtime/program/Checker.h"
#include "runtime/program/RectSet.h"
#include "runtime/program/Scalars.h"
#include "runtime/program/Wire.h"
#include "runtime/program/check/StreamShape.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace wsec::runtime {

uint64_t countPes(const program::Program &program) {
  uint64_t count = 0;
  for (const program::PEClass *peClass : *program.classes())
    for (const program::Rect *rect : *peClass->rects())
      count += uint64_t(rectSize(*rect));
  return count;
}

SramPeak sramPeak(const program::Program &program) {
  SramPeak peak;
  for (const program::PEClass *peClass : *program.classes()) {
    uint64_t code =
        uint64_t(program.machine()->runtime_bytes()) + peClass->code_bytes();
    if (code > peak.bytes)
      peak = {code, ""};
    if (!peClass->buffers())
      continue;
    for (const program::Buffer *buffer : *peClass->buffers()) {
      uint64_t end = uint64_t(buffer->address()) + buffer->bytes();
      if (end <= peak.bytes)
        continue;
      bool named = buffer->onnx_node() && buffer->onnx_node()->size() > 0;
      peak = {end, (named ? buffer->onnx_node() : buffer->name())->str()};
    }
  }
  return peak;
}

namespace {

/// Words of weights, and elements in them.
struct Weights {
  uint64_t words = 0, elements = 0;

  Weights &operator+=(const Weights &other) {
    words += other.words;
    elements += other.elements;
    return *this;
  }
};

} // namespace

/// Which segments of a stream are of weights; none of one that leaves.
static std::vector<bool> weightSegments(const program::Program &program,
                                        const program::HostStream &stream) {
  std::vector<bool> areWeights;
  for (const program::Segment *segment : *stream.segments()) {
    const auto role = program.tensors()->Get(segment->tensor())->role();
    areWeights.push_back(stream.direction() == program::Direction::In &&
                         (role == program::TensorRole::Weight ||
                          role == program::TensorRole::Constant));
  }
  return areWeights;
}

/// The weights that one run of a stream sends: for each column it serves, the
/// blocks of these of its segments.
static Weights weightsOf(const program::HostStream &stream,
                         const std::vector<bool> &segments,
                         const std::vector<int64_t> &arguments) {
  Weights weights;
  std::vector<int64_t> scalars;
  auto addColumn = [&](int column, int row) {
    evaluateScalars(stream.scalars(), column, row, scalars, arguments.data());
    for (unsigned i = 0; i < segments.size(); ++i) {
      if (!segments[i])
        continue;
      const program::Segment *segment = stream.segments()->Get(i);
      uint64_t block = 1;
      for (const program::Affine *extent : *segment->extents())
        block *= uint64_t(evaluateAffine(*extent, scalars));
      const auto lines = uint64_t(evaluateAffine(*segment->lines(), scalars));
      weights +=
          {lines * Wire(stream, *segment).wavelets(block), lines * block};
    }
  };
  for (const program::Channel *channel : *stream.channels())
    for (int column = channel->begin(); column < channel->end(); ++column)
      addColumn(column, channel->row());
  return weights;
}

static Weights streamedWeights(const program::Program &program,
                               uint32_t entry) {
  const Call call = largestCall(program, entry);
  // A stream may feed many launches, and its words be weights in parts.
  std::map<std::pair<std::string, std::vector<bool>>, Weights> known;
  Weights weights;
  for (const program::Launch *launch : call.launchList())
    if (launch->streams())
      for (uint32_t stream : *launch->streams()) {
        const program::HostStream &its = *program.streams()->Get(stream);
        const std::vector<bool> areWeights = weightSegments(program, its);
        if (std::find(areWeights.begin(), areWeights.end(), true) ==
            areWeights.end())
          continue;
        const std::vector<int64_t> arguments = call.carried(*launch);
        auto [at, isNew] =
            known.try_emplace({streamShape(its, arguments), areWeights});
        if (isNew)
          at->second = weightsOf(its, areWeights, arguments);
        weights += at->second;
      }
  return weights;
}

uint64_t streamedWeightBytes(const program::Program &program, uint32_t entry) {
  return streamedWeights(program, entry).words * sizeof(float);
}

uint64_t streamedWeightBytes(const program::Program &program) {
  return precisionOf(program).streamedBytes;
}

const char *Precision::name() const {
  switch (format) {
  case program::ElementType::F16:
    return "f16";
  case program::ElementType::BF16:
    return "bf16";
  case program::ElementType::CB16:
    return "cb16";
  default:
    return "f32";
  }
}

Precision precisionOf(const program::Program &program) {
  Precision precision;
  for (const program::PEClass *peClass : *program.classes())
    for (unsigned b = 0; peClass->buffers() && b < peClass->buffers()->size();
         ++b) {
      const program::ElementType type = peClass->buffers()->Get(b)->type();
      if (isNarrowFloat(type))
        precision.format = type;
    }
  for (uint32_t entry = 0; entry < program.entries()->size(); ++entry) {
    const Weights weights = streamedWeights(program, entry);
    if (weights.words * sizeof(float) < precision.streamedBytes)
      continue;
    precision.streamedBytes = weights.words * sizeof(float);
    precision.streamedBytesAsF32 = weights.elements * sizeof(float);
  }
  return precision;
}

SparseWeights &SparseWeights::operator+=(const SparseWeights &other) {
  weights += other.weights;
  kept += other.kept;
  bytes += other.bytes;
  return *this;
}

std::string SparseWeights::text() const {
  if (weights == 0)
    return {};
  return absl::StrFormat("%d of %d weights kept (%.1f %%), %d bytes with "
                         "their indices",
                         kept, weights, 100 * density(), bytes);
}

SparseWeights sparseWeights(const program::Program &program,
                            const program::Launch &launch) {
  SparseWeights all;
  std::set<uint32_t> seen;
  for (unsigned i = 0; launch.streams() && i < launch.streams()->size(); ++i)
    for (const program::Segment *segment :
         *program.streams()->Get(launch.streams()->Get(i))->segments()) {
      const program::Tensor &tensor =
          *program.tensors()->Get(segment->tensor());
      const program::Sparsity *sparse = tensor.sparsity();
      if (!sparse || !seen.insert(segment->tensor()).second)
        continue;
      const auto rows = uint64_t(sparse->rows());
      const auto columns = uint64_t(sparse->columns());
      all +=
          {rows * columns,
           rows * (columns / sparse->group() * sparse->kept() + sparse->rest()),
           4 * elementCount(tensor)};
    }
  return all;
}

uint64_t tokensPerRun(const program::Program &program) {
  uint64_t tokens = 0;
  if (!program.streams())
    return tokens;
  for (const program::HostStream *stream : *program.streams())
    for (const program::Segment *segment : *stream->segments()) {
      if (segment->index_tensor() < 0)
        continue;
      const program::Tensor &ids =
          *program.tensors()->Get(unsigned(segment->index_tensor()));
      if (ids.role() != program::TensorRole::Input)
        continue;
      uint64_t count = 1;
      if (ids.shape())
        for (int64_t extent : *ids.shape())
          count *= uint64_t(extent);
      tokens = std::max(tokens, count);
    }
  return tokens;
}

std::optional<int64_t> vocabularyOf(const program::Program &program,
                                    uint32_t input) {
  std::optional<int64_t> least;
  for (unsigned i = 0; program.streams() && i < program.streams()->size(); ++i)
    for (const program::Segment *segment :
         *program.streams()->Get(i)->segments())
      if (segment->index_tensor() == int64_t(input) &&
          segment->index_count() > 0)
        least = std::min(least.value_or(segment->index_count()),
                         segment->index_count());
  return least;
}

} // namespace wsec::runtime
