// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// train-steps PROGRAM OUT.npz ENGINE OPTIMIZER RATE INPUT=FILE.npy ...: steps
// of a program that makes gradients, as many as the inputs have along their
// first axis, of as many calls as they have along the second. OPTIMIZER is sgd,
// adamw or adafactor. OUT.npz has, by step, what the last call wrote to each
// output, the cycles and the norm of the gradients, and the parameters after
// the last step as parameter.NAME.
#include "runtime/host/Npy.h"
#include "runtime/host/OutputFiles.h"
#include "runtime/train/Trainer.h"

#include <cstdio>
#include <cstring>

using namespace wsec::runtime;

static StoreOptions optionsOf(const std::string &optimizer) {
  StoreOptions options;
  options.update = adamW({.beta2 = 0.999, .weightDecay = 0.01});
  if (optimizer == "sgd")
    options.update = sgd();
  if (optimizer == "adafactor")
    options.update = adafactor();
  return options;
}

/// Element `index` along the first axis, whose own first axis is calls: these
/// go one behind the other.
static HostTensor batchOf(const HostTensor &tensor, size_t index) {
  const size_t bytes = tensor.bytes.size() / size_t(tensor.shape.at(0));
  const auto begin = tensor.bytes.begin() + ptrdiff_t(index * bytes);
  HostTensor batch{tensor.type,
                   {tensor.shape.begin() + 2, tensor.shape.end()},
                   {begin, begin + ptrdiff_t(bytes)}};
  batch.shape.at(0) *= tensor.shape.at(1);
  return batch;
}

/// One behind the other along a new first axis.
static void append(HostTensor &all, const HostTensor &part) {
  if (all.shape.empty()) {
    all = {part.type, part.shape, {}};
    all.shape.insert(all.shape.begin(), 0);
  }
  ++all.shape.front();
  all.bytes.insert(all.bytes.end(), part.bytes.begin(), part.bytes.end());
}

static HostTensor scalar(double value) {
  const auto number = float(value);
  HostTensor tensor{DataType::Float32, {}, std::vector<uint8_t>(4)};
  std::memcpy(tensor.bytes.data(), &number, 4);
  return tensor;
}

static void train(const std::vector<std::string> &words) {
  auto trainer = valueOf(Trainer::open(
      std::make_unique<Cluster>(valueOf(Session::open(words.at(0))), 1),
      optionsOf(words.at(3))));
  const Engine engine = engineNamed(words.at(2)).value();
  NamedTensors inputs;
  for (size_t i = 5; i < words.size(); ++i) {
    const size_t at = words[i].find('=');
    inputs.emplace_back(words[i].substr(0, at),
                        readNpy(words[i].substr(at + 1)));
  }
  Cluster &wafers = trainer->wafers();
  const Call call = valueOf(wafers.session().callOf("", {}));
  std::map<std::string, HostTensor> kept;
  const int64_t steps = inputs.at(0).second.shape.at(0),
                calls = inputs.at(0).second.shape.at(1);
  for (int64_t step = 0; step < steps; ++step) {
    wafers.clearInputs();
    for (const auto &[name, tensor] : inputs)
      requireOk(wafers.bind(name, batchOf(tensor, size_t(step))));
    const auto keepLast = [&](unsigned, uint64_t number,
                              const Session &session) {
      if (number + 1 < uint64_t(calls))
        return;
      for (const std::string &name : session.written())
        append(kept[name], valueOf(session.output(name)));
    };
    const ClusterRun run =
        valueOf(trainer->makeGradients(call, {}, engine, keepLast)).run;
    append(kept["cycles"], scalar(run.cycles() / double(calls)));
    append(kept["norm"], scalar(valueOf(trainer->endStep(std::stod(words.at(4)),
                                                         double(calls)))
                                    .gradientNorm));
  }
  ParameterStore &store = trainer->store();
  for (size_t number = 0; number < store.size(); ++number) {
    const std::vector<float> weights = store.weights(number);
    HostTensor tensor{DataType::Float32,
                      {store.shape(number).begin(), store.shape(number).end()},
                      std::vector<uint8_t>(weights.size() * 4)};
    std::memcpy(tensor.bytes.data(), weights.data(), tensor.bytes.size());
    kept["parameter." + store.name(number)] = std::move(tensor);
  }
  OutputFiles files;
  files.add(words.at(1), formatNpz({kept.begin(), kept.end()}));
  files.commit();
}

int main(int argc, char **argv) {
  try {
    train({argv + 1, argv + argc});
  } catch (const std::exception &error) {
    std::fprintf(stderr, "train-steps: %s\n", error.what());
    return 1;
  }
  return 0;
}
