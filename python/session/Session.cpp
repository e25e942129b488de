// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime::Session for python/wsec/session.py, which checks and names what goes
// in and out: here tensors are bytes with numpy's name of a type and a shape.
#include "runtime/host/LoadingSession.h"
#include "runtime/host/Report.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

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
               const std::string &engine, unsigned threads)
      : held(require(LoadingSession::open(path, weights, engine, threads))) {}

  void bind(const std::string &name, const std::string &type,
            std::vector<int64_t> shape, const Bytes &bytes) {
    const DataType kind = dataTypeNamed(type);
    require(held->session().accepts(name, kind, shape));
    require(held->session().bind(
        name, HostTensor{kind,
                         std::move(shape),
                         {bytes.data(), bytes.data() + bytes.size()}}));
  }
  void run(const std::string &entry, const NamedValues &arguments) {
    require(held->call(entry, arguments));
  }
  /// Whether calls find what others have left, weights that stay aside.
  bool keeps(const std::string &entry) const {
    return require(held->keeps(entry));
  }
  std::vector<std::string> written() const {
    return held->session().lastWritten();
  }

  std::pair<std::vector<int64_t>, NumpyBytes>
  output(const std::string &name) const {
    auto tensor =
        std::make_unique<HostTensor>(require(held->session().output(name)));
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
    const SessionRun &run = lastRun();
    const RunReport made = makeReport(held->lastCall(), {run});
    return {made.text(), made.json()};
  }

  LoadingSession::State keptState() const { return held->keptState(); }
  void restoreState(const LoadingSession::State &state) {
    require(held->restoreState(state));
  }
  void saveState(const std::string &path) const {
    require(held->session().saveState(path));
  }
  void loadState(const std::string &path) { require(held->restoreState(path)); }
  void clearState() { held->clearState(); }

private:
  const SessionRun &lastRun() const {
    if (!held->lastRun())
      throw std::runtime_error("BadCall: nothing has run yet");
    return *held->lastRun();
  }

  std::unique_ptr<LoadingSession> held;
};
} // namespace

NB_MODULE(wsec_session, module) {
  const nb::call_guard<nb::gil_scoped_release> released;
  nb::class_<LoadingSession::State>(module, "State");
  nb::class_<WaferSession>(module, "WaferSession")
      .def(nb::init<const std::string &, const std::vector<std::string> &,
                    const std::string &, unsigned>(),
           released)
      .def("bind", &WaferSession::bind)
      .def("run", &WaferSession::run, released)
      .def("keeps", &WaferSession::keeps)
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
