// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Session.h"
#include "runtime/host/CountingPort.h"
#include "runtime/host/Lengths.h"
#include "runtime/host/StateFile.h"

#include "absl/strings/str_cat.h"
#include "runtime/memoryx/MemoryX.h"
#include "runtime/memoryx/WrittenLines.h"
#include "runtime/observe/Observers.h"
#include "runtime/observe/Values.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"
#include "runtime/wavelet/WaveletEngine.h"

#include <algorithm>
#include <chrono>

namespace wsec::runtime {

namespace {

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
    : loaded(std::move(program)), store(loaded, weightFolders),
      state(loaded->program()) {}

Session::Session(const Session *sibling)
    : loaded(sibling->loaded), store(sibling->store.sibling()),
      state(loaded->program()) {}

std::unique_ptr<Session> Session::sibling() const {
  return std::unique_ptr<Session>(new Session(this));
}

std::unique_ptr<MemoryX> Session::streams(const Call &call) {
  return std::make_unique<MemoryX>(store, call);
}

std::vector<std::string> Session::names(program::TensorRole role) const {
  std::vector<std::string> names;
  for (const program::Tensor *tensor : *program().tensors())
    if (tensor->role() == role)
      names.push_back(tensor->name()->str());
  return names;
}

std::vector<std::string> Session::inputs() const {
  std::vector<std::string> given;
  for (uint32_t i = 0; i < program().tensors()->size(); ++i)
    if (store.tensor(i).role() == program::TensorRole::Input &&
        !isLength(program(), i))
      given.push_back(store.tensor(i).name()->str());
  return given;
}

std::vector<std::string> Session::outputs() const {
  return names(program::TensorRole::Output);
}

uint32_t Session::find(const std::string &name,
                       program::TensorRole role) const {
  const auto &tensors = *program().tensors();
  for (uint32_t i = 0; i < tensors.size(); ++i)
    if (tensors.Get(i)->role() == role &&
        tensors.Get(i)->name()->string_view() == name &&
        !isLength(program(), i))
      return i;
  bool input = role == program::TensorRole::Input;
  throw Error(ErrorClass::BadTensor,
              std::string("the program has no ") +
                  (input ? "input" : "output") + " " + inQuotes(name) +
                  nearestNames(name, input ? inputs() : names(role)));
}

std::vector<std::string> Session::parameters() const {
  std::vector<std::string> names;
  for (const program::Tensor *tensor : *program().tensors())
    if (tensor->parameter())
      names.push_back(tensor->parameter()->str());
  return names;
}

absl::StatusOr<HostTensor> Session::parameter(const std::string &name) const {
  return asStatusOr([&] {
    for (uint32_t i = 0; i < program().tensors()->size(); ++i) {
      const program::Tensor &its = store.tensor(i);
      if (!its.parameter() || its.parameter()->string_view() != name)
        continue;
      const uint8_t *data = store.elements(i);
      const uint64_t bytes = elementCount(its) * elementBytes(its.type());
      return HostTensor{
          dataType(its.type()), shapeOf(its), {data, data + bytes}};
    }
    throw Error(ErrorClass::BadTensor, "the program has no parameter " +
                                           inQuotes(name) +
                                           nearestNames(name, parameters()));
  });
}

absl::Status Session::bindParameters(ParameterSource &source) {
  return asStatus([&] { store.bindParameters(source); });
}

absl::StatusOr<Gradients> Session::gradients() const {
  return asStatusOr([&] {
    std::set<uint32_t> made;
    for (uint32_t i = 0; i < program().tensors()->size(); ++i) {
      if (!store.tensor(i).gradient())
        continue;
      if (isIn(lastOutputs, i))
        made.insert(i);
    }
    return gradientsOf(store, made);
  });
}

void Session::requireFit(uint32_t input, DataType type,
                         const std::vector<int64_t> &shape) const {
  const program::Tensor &tensor = store.tensor(input);
  const DataType expected = dataType(tensor.type());
  if (type == expected && lengthAt(program(), tensor, shape))
    return;
  if (const program::Argument *length = lengthOf(program(), tensor))
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("input ", inQuotes(tensor.name()->string_view()),
                             ": expected ", describe(expected, shapeOf(tensor)),
                             " or less, found ", describe(type, shape),
                             "; a call has a length from ", length->from(),
                             " to ", length->to()));
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
  if (const auto length = lengthAt(program(), input, tensor.shape)) {
    lengths[index] = *length;
    tensor = fromLength(tensor, input, *lengthOf(program(), input));
  }
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

/// The tensors that a call reads.
static std::set<uint32_t> readBy(const Call &call) {
  std::set<uint32_t> read;
  for (const program::Launch *launch : call.launchList())
    for (unsigned s = 0; launch->streams() && s < launch->streams()->size();
         ++s)
      for (const program::Segment *segment :
           *call.program()
                .streams()
                ->Get(launch->streams()->Get(s))
                ->segments()) {
        read.insert(segment->tensor());
        if (segment->index_tensor() >= 0)
          read.insert(uint32_t(segment->index_tensor()));
      }
  if (call.copies())
    for (const program::HostCopy *copy : *call.copies())
      read.insert(copy->tensor());
  return read;
}

/// Of the only entry, all.
void Session::requireInputs(const Call &call) const {
  std::string missing;
  const auto &tensors = *program().tensors();
  const bool alone = program().entries()->size() == 1;
  const std::set<uint32_t> read = readBy(call);
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const program::Tensor &tensor = *tensors.Get(i);
    if (!alone && !read.count(i))
      continue;
    if (tensor.role() != program::TensorRole::Input || store.owner(i) ||
        isLength(program(), i))
      continue;
    missing += (missing.empty() ? "" : ", ") +
               inQuotes(tensor.name()->string_view()) + " (" +
               describe(dataType(tensor.type()), shapeOf(tensor)) + ")";
  }
  if (!missing.empty())
    throw Error(ErrorClass::BadTensor, "no tensor is given for " + missing);
}

absl::Status Session::ready(const Call &call) const {
  return asStatus([&] { requireInputs(call); });
}

// ---------------------------------------------------------------- engines

static HostTensor readValue(const Call &call, const Values &values,
                            uint32_t index) {
  const program::Value &value = *call.entry().values()->Get(index);
  HostTensor tensor{dataType(value.type()), {}, values.elements(index)};
  if (value.shape())
    tensor.shape.assign(value.shape()->begin(), value.shape()->end());
  return tensor;
}

RunResult Session::emulateStrips(const Call &call, PersistentState *held,
                                 const EngineOptions &options, HostPort &port) {
  if (!strips || !(options == stripsOptions)) {
    strips = std::make_unique<StripsEngine>(program(), options);
    stripsOptions = options;
    timed.clear();
  }
  return strips->run(port, call, held);
}

/// Values, and operations to replay, are those of strips; cycles, which depend
/// on no data, those of a run of wavelet.
RunResult Session::emulateReplayed(const Call &call, PersistentState *held,
                                   const EngineOptions &options,
                                   HostPort &port) {
  std::optional<PersistentState> before;
  if (held && (!timed.contains(call) || !strips || !(options == stripsOptions)))
    before = *held;
  RunResult result = emulateStrips(call, held, options, port);
  auto at = timed.find(call);
  if (at == timed.end()) {
    MemoryX memory(store, call);
    store.clearOutputs(memory.outputs()); // what is added up is so only once
    at = timed
             .emplace(call, WaveletEngine(program(), options)
                                .run(memory, call, before ? &*before : nullptr))
             .first;
  }
  result.cycles = at->second.cycles;
  result.launches = at->second.launches;
  result.kernelCycles = at->second.kernelCycles;
  return result;
}

RunResult Session::emulate(const Call &call, PersistentState *held,
                           const EngineOptions &options, Engine engine,
                           HostPort &port) {
  const Engine chosen = engineOf(call, options, engine);
  if (engine == Engine::Burst && chosen == Engine::Wavelet && options.replay &&
      !options.observer && StripsEngine::unsupported(program()).empty())
    return emulateReplayed(call, held, options, port);
  return chosen == Engine::Strips
             ? emulateStrips(call, held, options, port)
             : emulateOnce(chosen, call, held, options, port);
}

/// Chosen once for all of its calls.
Engine Session::engineOf(const Call &call, const EngineOptions &options,
                         Engine engine) {
  const auto known = chosen.find({call, engine});
  if (known != chosen.end())
    return known->second;
  return chosen[{call, engine}] = chooseEngine(engine, call, options);
}

// ---------------------------------------------------------------- calls

absl::StatusOr<Call> Session::callOf(const std::string &entry,
                                     const NamedValues &arguments) const {
  return asStatusOr([&] {
    const uint32_t index = findEntry(program(), entry);
    return Call(program(), index,
                argumentValues(*program().entries()->Get(index), arguments));
  });
}

absl::StatusOr<SessionRun> Session::call(const Call &call,
                                         EngineOptions options,
                                         Progress *progress, Engine engine,
                                         const Relay &relay) {
  return asStatusOr(
      [&] { return runCall(call, options, progress, engine, relay); });
}

absl::StatusOr<SessionRun> Session::call(const std::string &entry,
                                         const NamedValues &arguments,
                                         EngineOptions options,
                                         Progress *progress, Engine engine) {
  absl::StatusOr<Call> which = callOf(entry, arguments);
  if (!which.ok())
    return which.status();
  return call(*which, options, progress, engine);
}

absl::StatusOr<SessionRun> Session::run(EngineOptions options,
                                        Progress *progress, Engine engine) {
  return call("", {}, options, progress, engine);
}

struct Session::Streams {
  Streams(TensorStore &store, const Call &call, WrittenLines *written)
      : call(call), memory(store, call, written) {}
  const Call call;
  MemoryX memory;
};

Session::~Session() = default;

/// What a call that fails or is stopped leaves as it was: the outputs of calls
/// before it. Gradients, which are large and nobody asks for later, are let go.
class Session::Earlier {
public:
  Earlier(Session &session, const std::set<uint32_t> &written)
      : session(session) {
    session.lastOutputs.clear();
    for (uint32_t i : written)
      if (session.known.erase(i) && session.isShown(i))
        held.emplace(i, session.store.takeOutput(i));
  }
  ~Earlier() {
    for (auto &[i, elements] : held) {
      session.store.putBack(i, std::move(elements));
      session.known.insert(i);
    }
  }
  Earlier(const Earlier &) = delete;
  Earlier &operator=(const Earlier &) = delete;

  void letGo() { held.clear(); }

private:
  Session &session;
  std::map<uint32_t, TensorStore::OutputElements> held;
};

/// Whether it is an output, or an output equals it, that is no gradient.
bool Session::isShown(uint32_t tensor) const {
  for (uint32_t i = 0; i < program().tensors()->size(); ++i) {
    const program::Tensor &its = store.tensor(i);
    if (its.role() == program::TensorRole::Output && !its.gradient() &&
        (i == tensor || its.alias() == int64_t(tensor)))
      return true;
  }
  return false;
}

/// Whether the streams of both calls are the same.
static bool streamsAgree(const Call &a, const Call &b) {
  if (a == b)
    return true;
  if (a.entryIndex() != b.entryIndex() || a.launches() != b.launches() ||
      a.copies())
    return false;
  for (const program::Launch *launch : a.launchList())
    if (const auto *streams = launch->streams())
      for (uint32_t stream : *streams)
        if (dependsOnArguments(*a.program().streams()->Get(stream)))
          return false;
  return true;
}

/// Those of the last call of the entry, if they can be. A run that fails leaves
/// none behind.
std::unique_ptr<Session::Streams>
Session::takeStreams(const Call &call, const EngineOptions &options) {
  std::unique_ptr<Streams> its = std::move(streamsOf[call.entryIndex()]);
  if (options.replay && !writtenLines)
    writtenLines = std::make_unique<WrittenLines>(options.recordingBytes);
  if (its && streamsAgree(its->call, call))
    its->memory.restart();
  else
    its = std::make_unique<Streams>(
        store, call, options.replay ? writtenLines.get() : nullptr);
  return its;
}

namespace {

/// Of a call, which it takes back unless it is let be.
class StateChange {
public:
  explicit StateChange(PersistentState &state) : state(state) {}
  ~StateChange() { state.undo(); }
  StateChange(const StateChange &) = delete;
  StateChange &operator=(const StateChange &) = delete;
  void letBe() { state.settle(); }

private:
  PersistentState &state;
};

} // namespace

SessionRun Session::runCall(const Call &given, EngineOptions options,
                            Progress *progress, Engine engine,
                            const Relay &relay) {
  requireInputs(given);
  const Call call = withLength(given);
  if (progress)
    options.furthestLaunch = &progress->launch;
  Observers all;
  if (options.observer)
    all.add(*options.observer);
  Values read(call);
  for (const std::string &name : kept)
    if (const int index = read.find(name); index >= 0)
      read.want(uint32_t(index));
  all.add(read);
  if (!read.empty())
    options.observer = &all;
  SessionRun run;
  auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Streams> its = takeStreams(call, options);
  MemoryX &memory = its->memory;
  const std::set<uint32_t> outputs = memory.outputs();
  Earlier earlier(*this, outputs);
  store.clearOutputs(outputs);
  if (takeGradient)
    memory.collectGradients(takeGradient);
  if (progress)
    progress->total = memory.wordsIn();
  StateChange change(state);
  const auto wafer = [&](HostPort &source) {
    CountingPort port(source, progress);
    return emulate(call, hasState() ? &state : nullptr, options, engine, port);
  };
  run.result = relay ? relay(memory, wafer) : wafer(memory);
  run.countedBy = engineOf(call, options, engine);
  if (!run.result.stopped)
    memory.finish();
  store.checkUnchanged();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  run.seconds = took.count();
  run.streamedWeightBytes = memory.weightWordsIn() * sizeof(float);
  if (run.result.stopped)
    return run;
  if (options.replay)
    streamsOf[call.entryIndex()] = std::move(its);
  for (const std::string &name : kept)
    if (const int index = read.find(name); index >= 0)
      readOff[name] = readValue(call, read, uint32_t(index));
  change.letBe();
  earlier.letGo();
  lastOutputs = outputs;
  std::erase_if(lastOutputs, [&](uint32_t output) { // let go
    return store.tensor(output).alias() < 0 && !store.outputElements(output);
  });
  known.insert(lastOutputs.begin(), lastOutputs.end());
  run.experts = loadsOf(1, 1);
  noteLengths(call);
  lastEntry = call.entryIndex();
  ran = true;
  return run;
}

absl::Status Session::saveState(const std::string &path) const {
  return asStatus([&] { writeState(path, state, *loaded); });
}

bool Session::holdsState() const {
  bool holds = false;
  for (const auto &[pe, written] : state.written())
    written.forEachRun(0, written.size(),
                       [&](size_t, size_t) { holds = true; });
  return holds;
}

absl::Status Session::restoreState(const std::string &path) {
  return asStatus([&] { state = readState(path, *loaded); });
}

absl::Status Session::restoreState(const KeptState &kept) {
  return asStatus([&] {
    requireOwnState("what was kept", kept.program, *loaded);
    state = kept.held;
  });
}

} // namespace wsec::runtime
