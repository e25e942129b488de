// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime::Session for python/wsec/session.py, which checks and names what goes
// in and out: here tensors are bytes with numpy's name of a type and a shape.
#include "runtime/host/Session.h"
#include "runtime/host/Report.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <set>
#include <stdexcept>

namespace nb = nanobind;
using namespace wsec::runtime;

namespace {
using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig>;
using NumpyBytes = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>;

void require(const absl::Status &status) {
  if (!status.ok())
    throw std::runtime_error(std::string(status.message()));
}

template <class Value>
Value require(absl::StatusOr<Value> value) {
  require(value.status());
  return *std::move(value);
}

DataType dataTypeNamed(const std::string &name) {
  for (size_t i = 0; i <= size_t(DataType::Bits8); ++i)
    if (name == dataTypeName(DataType(i)))
      return DataType(i);
  throw std::runtime_error("BadTensor: arrays of type " + name +
                           " are no inputs");
}

/// One program, whose calls follow one another: the caller holds a lock.
class WaferSession {
public:
  WaferSession(const std::string &path, const std::vector<std::string> &weights,
               const std::string &engineName, unsigned threads)
      : session(require(Session::open(path, weights))) {
    const std::optional<Engine> named = engineNamed(engineName);
    if (!named)
      throw std::runtime_error("there is no engine '" + engineName +
                               "': " + engineNames);
    engine = *named;
    options.threads = threads;
    options.replay = true;
  }

  void bind(const std::string &name, const std::string &type,
            std::vector<int64_t> shape, const Bytes &bytes) {
    const DataType kind = dataTypeNamed(type);
    require(session->accepts(name, kind, shape));
    require(session->bind(
        name, HostTensor{kind,
                         std::move(shape),
                         {bytes.data(), bytes.data() + bytes.size()}}));
  }

  /// Weights that stay on the wafer come there before the first call.
  void run(const std::string &entry, const NamedValues &arguments) {
    const Call call = require(session->callOf(entry, arguments));
    const auto *load =
        loadingEntry(session->program(), findEntry(session->program(), entry));
    if (load && !loaded.count(load->name()->str())) {
      require(session->call(load->name()->str(), {}, options, nullptr, engine));
      loaded.insert(load->name()->str());
    }
    last.emplace(call, require(session->call(call, options, nullptr, engine)));
  }

  std::vector<std::string> written() const { return session->lastWritten(); }

  std::pair<std::vector<int64_t>, NumpyBytes>
  output(const std::string &name) const {
    auto tensor = std::make_unique<HostTensor>(require(session->output(name)));
    HostTensor *const kept = tensor.get();
    const nb::capsule owner(tensor.release(), [](void *held) noexcept {
      delete static_cast<HostTensor *>(held);
    });
    return {kept->shape,
            NumpyBytes(kept->bytes.data(), {kept->bytes.size()}, owner)};
  }

  /// Of the last call: cycles, seconds of the host, bytes of weights streamed.
  std::tuple<double, double, uint64_t> counts() const {
    return {lastRun().result.cycles, lastRun().seconds,
            lastRun().streamedWeightBytes};
  }
  /// Text for a terminal, and JSON.
  std::pair<std::string, std::string> report() const {
    const RunReport made = makeReport(last->first, {lastRun()});
    return {made.text(), made.json()};
  }

  /// With the entries that brought weights, which are a part of it.
  struct State {
    Session::KeptState kept;
    std::set<std::string> loaded;
  };
  State keptState() const { return {session->keptState(), loaded}; }
  void restoreState(const State &state) {
    require(session->restoreState(state.kept));
    loaded = state.loaded;
  }
  void saveState(const std::string &path) const {
    require(session->saveState(path));
  }
  void loadState(const std::string &path) {
    require(session->restoreState(path));
    // Weights that stay are a part of it.
    for (const auto *each : *session->program().entries())
      loaded.insert(each->name()->str());
  }
  void clearState() {
    session->clearState();
    loaded.clear();
  }

private:
  const SessionRun &lastRun() const {
    if (!last)
      throw std::runtime_error("BadCall: nothing has run yet");
    return last->second;
  }

  std::unique_ptr<Session> session;
  Engine engine = Engine::Burst;
  EngineOptions options;
  std::set<std::string> loaded; ///< entries that brought weights
  std::optional<std::pair<Call, SessionRun>> last;
};
} // namespace

NB_MODULE(wsec_session, module) {
  const nb::call_guard<nb::gil_scoped_release> released;
  nb::class_<WaferSession::State>(module, "State");
  nb::class_<WaferSession>(module, "WaferSession")
      .def(nb::init<const std::string &, const std::vector<std::string> &,
                    const std::string &, unsigned>(),
           released)
      .def("bind", &WaferSession::bind)
      .def("run", &WaferSession::run, released)
      .def("written", &WaferSession::written)
      .def("output", &WaferSession::output)
      .def("counts", &WaferSession::counts)
      .def("report", &WaferSession::report)
      .def("kept_state", &WaferSession::keptState)
      .def("restore_state", &WaferSession::restoreState)
      .def("save_state", &WaferSession::saveState)
      .def("load_state", &WaferSession::loadState)
      .def("clear_state", &WaferSession::clearState);
}
