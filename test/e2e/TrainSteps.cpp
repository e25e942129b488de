// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// train-steps PROGRAM OUT.npz ENGINE OPTIMIZER RATE INPUT=FILE.npy ...: steps
// of a program that makes gradients, as many as the inputs have along their
// first axis, of as many calls as they have along the second. OPTIMIZER is sgd,
// adamw or adafactor. OUT.npz has, by step, what the last call wrote to each
// output, the cycles and the norm of the gradients, and the parameters after
// the last step as parameter.NAME.
#include "runtime/host/Batch.h"
#include "runtime/host/Npy.h"
#include "runtime/host/OutputFiles.h"
#include "runtime/train/Trainer.h"

#include <cstdio>
#include <cstring>

using namespace wsec::runtime;

template <class T>
static T valueOf(absl::StatusOr<T> value) {
  requireOk(value.status());
  return *std::move(value);
}

static StoreOptions optionsOf(const std::string &optimizer) {
  StoreOptions options;
  options.update = adamW({.beta2 = 0.999, .weightDecay = 0.01});
  if (optimizer == "sgd")
    options.update = sgd();
  if (optimizer == "adafactor")
    options.update = adafactor();
  return options;
}

/// Element `index` along the first axis.
static HostTensor partOf(const HostTensor &tensor, size_t index) {
  const size_t bytes = tensor.bytes.size() / size_t(tensor.shape.at(0));
  const auto begin = tensor.bytes.begin() + ptrdiff_t(index * bytes);
  return {tensor.type,
          {tensor.shape.begin() + 1, tensor.shape.end()},
          {begin, begin + ptrdiff_t(bytes)}};
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
  auto trainer = valueOf(Trainer::open(valueOf(Session::open(words.at(0))),
                                       optionsOf(words.at(3))));
  const Engine engine = engineNamed(words.at(2)).value();
  NamedTensors inputs;
  for (size_t i = 5; i < words.size(); ++i) {
    const size_t at = words[i].find('=');
    inputs.emplace_back(words[i].substr(0, at),
                        readNpy(words[i].substr(at + 1)));
  }
  Session &session = trainer->session();
  std::map<std::string, HostTensor> kept;
  const int64_t steps = inputs.at(0).second.shape.at(0),
                calls = inputs.at(0).second.shape.at(1);
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t call = 0; call < calls; ++call) {
      for (const auto &[name, tensor] : inputs)
        requireOk(session.bind(
            name, partOf(partOf(tensor, size_t(step)), size_t(call))));
      const SessionRun run = valueOf(trainer->call({}, engine));
      if (call + 1 < calls)
        continue;
      append(kept["cycles"], scalar(run.result.cycles));
    }
    for (const std::string &name : session.written())
      append(kept[name], valueOf(session.output(name)));
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
