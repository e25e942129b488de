// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/BatchShare.h"
#include "runtime/program/Checker.h"

#include <algorithm>
#include <bit>

namespace wsec::runtime {

void BatchShare::join(const BatchShare &others) {
  run.join(others.run);
  losses.insert(losses.end(), others.losses.begin(), others.losses.end());
}

// ---------------------------------------------------------------- messages

void packShare(const BatchShare &share, Message &message) {
  std::vector<uint64_t> &numbers = message.numbers;
  for (const SystemRun &system : share.run.systems)
    numbers.insert(numbers.end(),
                   {system.calls, std::bit_cast<uint64_t>(system.cycles),
                    system.ownBytesIn, system.bytesOut});
  for (const double cycles : share.run.passCycles)
    numbers.push_back(std::bit_cast<uint64_t>(cycles));
  numbers.insert(numbers.end(), share.run.edgeBytes.begin(),
                 share.run.edgeBytes.end());
  for (const auto &[call, loss] : share.losses)
    numbers.insert(numbers.end(), {call, std::bit_cast<uint64_t>(loss)});
}

BatchShare unpackShare(const Message &message, const ClusterRun &like) {
  BatchShare share;
  share.run.systems.resize(like.systems.size());
  share.run.passCycles.resize(like.passCycles.size());
  share.run.edgeBytes.resize(like.edgeBytes.size());
  size_t at = 0;
  const auto next = [&] { return message.numbers.at(at++); };
  for (SystemRun &system : share.run.systems) {
    system.calls = next();
    system.cycles = std::bit_cast<double>(next());
    system.ownBytesIn = next();
    system.bytesOut = next();
  }
  for (double &cycles : share.run.passCycles)
    cycles = std::bit_cast<double>(next());
  for (uint64_t &bytes : share.run.edgeBytes)
    bytes = next();
  while (at < message.numbers.size()) {
    const uint64_t call = next();
    share.losses.emplace_back(call, std::bit_cast<double>(next()));
  }
  return share;
}

// ---------------------------------------------------------------- gradients

GradientSums::GradientSums(const Session &session, const Tree &tree,
                           uint64_t calls) {
  for (const program::Tensor *tensor : *session.program().tensors())
    if (tensor->parameter())
      elements.emplace_back(tensor->parameter()->str(), elementCount(*tensor));
  sums = std::vector<std::vector<SystemSum>>(
      tree.systems(),
      std::vector<SystemSum>(size(), SystemSum(ReduceOrder::Canonical, calls)));
}

void GradientSums::add(unsigned system, uint64_t call, const Session &session) {
  Gradients gradients = valueOf(session.gradients());
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto &[name, count] = elements[i];
    const auto its = gradients.find(name);
    sums[system][i].add(call, its != gradients.end()
                                  ? std::move(its->second)
                                  : std::vector<float>(count));
  }
}

void GradientSums::send(SampleRange systems, uint64_t batch,
                        ReductionLink &reduction) {
  for (size_t parameter = 0; parameter < size(); ++parameter)
    for (uint64_t system = systems.begin; system < systems.end; ++system)
      reduction.send(unsigned(system), unsigned(batch % 2 * size() + parameter),
                     sums[system][parameter].take());
}

Call untilLoss(const Call &call, const std::string &loss) {
  const program::Program &program = call.program();
  const auto isLoss = [&](const program::Segment *segment) {
    const program::Tensor &tensor = *program.tensors()->Get(segment->tensor());
    return tensor.role() == program::TensorRole::Output &&
           tensor.name()->string_view() == loss;
  };
  uint32_t end = 0;
  for (uint32_t l = 0; l < call.launches(); ++l) {
    const program::Launch &launch = call.launch(l);
    for (unsigned s = 0; launch.streams() && s < launch.streams()->size();
         ++s) {
      const program::HostStream &stream =
          *program.streams()->Get(launch.streams()->Get(s));
      if (stream.direction() == program::Direction::Out &&
          std::any_of(stream.segments()->begin(), stream.segments()->end(),
                      isLoss))
        end = l + 1;
    }
  }
  return end ? call.until(end) : call;
}

BatchShare makeShare(Cluster &wafers, const Call &call,
                     const EngineOptions &options, Engine engine,
                     const std::string &loss, GradientSums *sums,
                     const AfterCall &after) {
  BatchShare share;
  const auto take = [&](unsigned system, uint64_t number,
                        const Session &session) {
    if (!loss.empty())
      share.losses.emplace_back(number,
                                valueOf(session.output(loss)).number(0));
    if (sums)
      sums->add(system, number, session);
    if (after)
      after(system, number, session);
  };
  share.run = valueOf(wafers.run(call, options, nullptr, engine, take));
  return share;
}

} // namespace wsec::runtime
