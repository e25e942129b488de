// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Session.h"

#include "absl/strings/str_cat.h"
#include "runtime/memoryx/MemoryX.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/streams/StreamsEngine.h"
#include "runtime/wavelet/WaveletEngine.h"

#include <chrono>

namespace wsec::runtime {

namespace {

/// Counts what passes on its way to the wafer.
class CountingPort : public HostPort {
public:
  CountingPort(HostPort &port, Progress *progress)
      : port(port), progress(progress) {}

  uint64_t words(uint32_t stream, uint32_t channel) override {
    return port.words(stream, channel);
  }
  WordView next(uint32_t stream, uint32_t channel, size_t maxWords) override {
    WordView view = port.next(stream, channel, maxWords);
    if (progress)
      progress->words.fetch_add(view.words(), std::memory_order_relaxed);
    return view;
  }
  void store(uint32_t stream, uint32_t channel,
             const WordView &words) override {
    port.store(stream, channel, words);
  }
  const uint8_t *tensorElements(uint32_t tensor) override {
    return port.tensorElements(tensor);
  }
  uint8_t *outputElements(uint32_t tensor) override {
    return port.outputElements(tensor);
  }

private:
  HostPort &port;
  Progress *progress;
};

std::vector<int64_t> shapeOf(const program::Tensor &tensor) {
  if (!tensor.shape())
    return {};
  return {tensor.shape()->begin(), tensor.shape()->end()};
}

/// What the person who made the tensor can do about it; nothing if the shapes
/// differ in elements.
std::string remedy(DataType foundType, const std::vector<int64_t> &found,
                   DataType type, const std::vector<int64_t> &shape) {
  if (found == shape && foundType != type)
    return absl::StrCat("; convert it to ", dataTypeName(type));
  const uint32_t bytes = dataTypeBytes(type);
  if (foundType == type &&
      countElements(found, bytes) == countElements(shape, bytes))
    return "; reshape it";
  return "; the shape is fixed when the model is compiled";
}

} // namespace

Session::Session(const std::string &path,
                 const std::vector<std::string> &weightFolders)
    : Session(LoadedProgram::open(path), weightFolders) {}

Session::Session(std::shared_ptr<const LoadedProgram> program,
                 const std::vector<std::string> &weightFolders)
    : loaded(std::move(program)), store(loaded, weightFolders) {}

Session::~Session() = default;

std::vector<std::string> Session::names(program::TensorRole role) const {
  std::vector<std::string> names;
  for (const program::Tensor *tensor : *program().tensors())
    if (tensor->role() == role)
      names.push_back(tensor->name()->str());
  return names;
}

std::vector<std::string> Session::inputs() const {
  return names(program::TensorRole::Input);
}

std::vector<std::string> Session::outputs() const {
  return names(program::TensorRole::Output);
}

uint32_t Session::find(const std::string &name,
                       program::TensorRole role) const {
  const auto &tensors = *program().tensors();
  for (uint32_t i = 0; i < tensors.size(); ++i)
    if (tensors.Get(i)->role() == role &&
        tensors.Get(i)->name()->string_view() == name)
      return i;
  bool input = role == program::TensorRole::Input;
  throw Error(ErrorClass::BadTensor, std::string("the program has no ") +
                                         (input ? "input" : "output") + " " +
                                         inQuotes(name) +
                                         nearestNames(name, names(role)));
}

void Session::requireFit(uint32_t input, DataType type,
                         const std::vector<int64_t> &shape) const {
  const program::Tensor &tensor = store.tensor(input);
  const DataType expected = dataType(tensor.type());
  if (type != expected || shape != shapeOf(tensor))
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("input ", inQuotes(tensor.name()->string_view()),
                             ": expected ", describe(expected, shapeOf(tensor)),
                             ", found ", describe(type, shape),
                             remedy(type, shape, expected, shapeOf(tensor))));
}

absl::Status Session::accepts(const std::string &name, DataType type,
                              const std::vector<int64_t> &shape) const {
  return asStatus(
      [&] { requireFit(find(name, program::TensorRole::Input), type, shape); });
}

void Session::bindTensor(const std::string &name, HostTensor tensor) {
  const uint32_t index = find(name, program::TensorRole::Input);
  requireFit(index, tensor.type, tensor.shape);
  const program::Tensor &input = store.tensor(index);
  const uint64_t bytes = elementCount(input) * elementBytes(input.type());
  if (tensor.bytes.size() != bytes)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("input ", inQuotes(name), ": ",
                             describe(tensor.type, tensor.shape), " takes ",
                             bytes, " bytes, found ", tensor.bytes.size()));
  auto held = std::make_shared<const HostTensor>(std::move(tensor));
  // An empty tensor needs an address, too.
  static const uint8_t nothing = 0;
  const uint8_t *data = held->bytes.empty() ? &nothing : held->bytes.data();
  store.bindInput(index, data, held);
}

absl::Status Session::bind(const std::string &name, HostTensor tensor) {
  return asStatus([&] { bindTensor(name, std::move(tensor)); });
}

void Session::requireInputs() const {
  std::string missing;
  const auto &tensors = *program().tensors();
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const program::Tensor &tensor = *tensors.Get(i);
    if (tensor.role() != program::TensorRole::Input || store.owner(i))
      continue;
    missing += (missing.empty() ? "" : ", ") +
               inQuotes(tensor.name()->string_view()) + " (" +
               describe(dataType(tensor.type()), shapeOf(tensor)) + ")";
  }
  if (!missing.empty())
    throw Error(ErrorClass::BadTensor, "no tensor is given for " + missing);
}

// ---------------------------------------------------------------- engines

RunResult Session::emulateStrips(const EngineOptions &options, HostPort &port) {
  if (!strips || !(options == stripsOptions)) {
    strips = std::make_unique<StripsEngine>(program(), options);
    stripsOptions = options;
    timed.reset();
  }
  return strips->run(port);
}

/// Values, and operations to replay, are those of strips; cycles, which depend
/// on no data, those of a run of streams.
RunResult Session::emulateReplayed(const EngineOptions &options,
                                   HostPort &port) {
  RunResult result = emulateStrips(options, port);
  if (!timed) {
    MemoryX memory(store);
    timed = StreamsEngine(program(), options).run(memory);
  }
  result.cycles = timed->cycles;
  result.launches = timed->launches;
  result.kernelCycles = timed->kernelCycles;
  return result;
}

RunResult Session::emulate(const EngineOptions &options, Engine engine,
                           HostPort &port) {
  const Engine resolved = resolveEngine(engine, program());
  if (engine == Engine::Burst && resolved == Engine::Streams &&
      options.replay && !options.observer &&
      StripsEngine::unsupported(program()).empty())
    return emulateReplayed(options, port);
  switch (resolved) {
  case Engine::Wavelet:
    return WaveletEngine(program(), options).run(port);
  case Engine::Strips:
    return emulateStrips(options, port);
  default:
    return StreamsEngine(program(), options).run(port);
  }
}

absl::StatusOr<SessionRun> Session::run(EngineOptions options,
                                        Progress *progress, Engine engine) {
  return asStatusOr([&] { return runProgram(options, progress, engine); });
}

SessionRun Session::runProgram(EngineOptions options, Progress *progress,
                               Engine engine) {
  requireInputs();
  ran = false;
  store.clearOutputs();
  if (progress)
    options.furthestLaunch = &progress->launch;
  SessionRun run;
  auto start = std::chrono::steady_clock::now();
  MemoryX memory(store);
  if (progress)
    progress->total = memory.wordsIn();
  CountingPort port(memory, progress);
  run.result = emulate(options, engine, port);
  run.countedBy = resolveEngine(engine, program());
  if (!run.result.stopped)
    memory.finish();
  store.checkUnchanged();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  run.seconds = took.count();
  run.streamedWeightBytes = memory.weightWordsIn() * sizeof(float);
  ran = !run.result.stopped;
  return run;
}

absl::StatusOr<HostTensor> Session::output(const std::string &name) const {
  return asStatusOr([&] { return readOutput(name); });
}

HostTensor Session::readOutput(const std::string &name) const {
  uint32_t index = find(name, program::TensorRole::Output);
  if (!ran)
    throw Error(ErrorClass::BadTensor,
                "output " + inQuotes(name) + " is known after a run only");
  const program::Tensor &output = store.tensor(index);
  HostTensor tensor{dataType(output.type()), shapeOf(output), {}};
  uint64_t bytes = elementCount(output) * elementBytes(output.type());
  auto source = uint32_t(output.alias());
  const uint8_t *data =
      output.alias() < 0 ||
              store.tensor(source).role() == program::TensorRole::Output
          ? store.outputElements(output.alias() < 0 ? index : source)
          : store.elements(source);
  if (bytes > 0)
    tensor.bytes.assign(data, data + bytes);
  // An output may equal a weight, which is read only now.
  store.checkUnchanged();
  return tensor;
}

} // namespace wsec::runtime
