// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/StoreOrder.h"

#include <algorithm>

namespace wsec::runtime {

StoreOrder::StoreOrder(const Call &call, HostPort &host) {
  const program::Program &program = call.program();
  if (!program.streams())
    return;
  for (const program::HostStream *stream : *program.streams()) {
    std::vector<uint32_t> &its = touched.emplace_back();
    auto add = [&](uint32_t tensor) {
      if (program.tensors()->Get(tensor)->role() ==
              program::TensorRole::Intermediate &&
          std::find(its.begin(), its.end(), tensor) == its.end())
        its.push_back(tensor);
    };
    for (const program::Segment *segment : *stream->segments()) {
      add(segment->tensor());
      if (segment->index_tensor() >= 0)
        add(uint32_t(segment->index_tensor()));
    }
  }
  for (uint32_t l = 0; l < call.launches(); ++l) {
    if (!call.launch(l).streams())
      continue;
    for (uint32_t s : *call.launch(l).streams()) {
      const program::HostStream &stream = *program.streams()->Get(s);
      if (stream.direction() == program::Direction::In || touched[s].empty())
        continue;
      for (uint32_t i = 0; i < stream.channels()->size(); ++i)
        for (uint32_t tensor : touched[s])
          tensors[tensor].missing += host.words(s, i) > 0;
    }
  }
}

std::optional<double> StoreOrder::complete(uint32_t stream) const {
  double last = 0;
  if (touched[stream].empty())
    return last;
  Lock guard(lock);
  for (uint32_t tensor : touched[stream]) {
    auto found = tensors.find(tensor);
    if (found == tensors.end())
      continue;
    if (found->second.missing > 0)
      return std::nullopt;
    last = std::max(last, found->second.last);
  }
  return last;
}

bool StoreOrder::arrived(uint32_t stream, double when) {
  bool completes = false;
  if (touched[stream].empty())
    return completes;
  Lock guard(lock);
  for (uint32_t index : touched[stream]) {
    Tensor &tensor = tensors[index];
    tensor.last = std::max(tensor.last, when);
    completes |= --tensor.missing == 0;
  }
  return completes;
}

} // namespace wsec::runtime
