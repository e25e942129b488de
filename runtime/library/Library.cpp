// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wsec.h: nothing is thrown across it.
#include "runtime/host/Batch.h"
#include "runtime/host/LoadingSession.h"
#include "runtime/host/Report.h"
#include "runtime/library/wsec.h"
#include "runtime/program/Lengths.h"
#include "tools/flags/Version.h"

#include <deque>
#include <exception>
#include <map>
#include <new>

using namespace wsec::runtime;

static_assert(int(DataType::Float32) == WSEC_FLOAT32 &&
                  int(DataType::Int64) == WSEC_INT64 &&
                  int(DataType::UInt64) == WSEC_UINT64 &&
                  int(DataType::Bits8) == WSEC_BITS8,
              "types are numbered alike");

struct wsec_state {
  LoadingSession::State state;
};

struct wsec_session {
  std::unique_ptr<LoadingSession> held;
  // What callers are told lies here as long as the session.
  std::deque<std::string> names;
  std::deque<std::vector<int64_t>> shapes;
  std::vector<wsec_tensor> inputs, outputs;
  std::vector<std::string> entries;
  std::map<std::string, HostTensor> fetched;
  std::string report;
};

namespace {
struct LastError {
  std::string message, name;
};
thread_local LastError lastError;

int keep(const absl::Status &status) {
  if (status.ok())
    return 0;
  const std::optional<ErrorClass> its = errorClassOf(status);
  lastError = {std::string(status.message()),
               its ? std::string(errorClassName(*its)) : std::string()};
  return 1;
}

/// What `call` returns, or `otherwise` where it throws.
template <class Call, class Value>
Value guarded(Value otherwise, const Call &call) {
  absl::StatusOr<Value> value = asStatusOr(call);
  if (value.ok())
    return *value;
  keep(value.status());
  return otherwise;
}

[[noreturn]] void refuse(ErrorClass its, const std::string &message) {
  throw Error(its, message);
}

template <class Pointer>
Pointer given(Pointer pointer, const char *what) {
  if (!pointer)
    refuse(ErrorClass::BadCall, std::string(what) + " is null");
  return pointer;
}

wsec_tensor described(wsec_session &session,
                      const wsec::program::Tensor &tensor) {
  const std::string &name = session.names.emplace_back(tensor.name()->str());
  const auto &shape = session.shapes.emplace_back(shapeOf(tensor));
  const DataType type = dataType(tensor.type());
  return {name.c_str(),
          wsec_type(type),
          shape.size(),
          shape.data(),
          nullptr,
          countElements(shape, dataTypeBytes(type)).value_or(0) *
              dataTypeBytes(type)};
}

HostTensor copied(const wsec_tensor &tensor) {
  given(tensor.name, "the name of a tensor");
  const std::string name = "input '" + std::string(tensor.name) + "'";
  if (unsigned(tensor.type) > WSEC_BITS8)
    refuse(ErrorClass::BadTensor, name + " has a type of number " +
                                      std::to_string(int(tensor.type)) +
                                      ", of which there is none");
  HostTensor made{DataType(tensor.type), {}, {}};
  if (tensor.rank)
    made.shape.assign(given(tensor.shape, "a shape"),
                      tensor.shape + tensor.rank);
  const uint32_t each = dataTypeBytes(made.type);
  const std::optional<uint64_t> elements = countElements(made.shape, each);
  if (!elements || *elements * each != tensor.bytes)
    refuse(ErrorClass::BadTensor, name + " is " +
                                      describe(made.type, made.shape) + " in " +
                                      std::to_string(tensor.bytes) + " bytes");
  if (tensor.bytes) {
    const auto *data = static_cast<const uint8_t *>(given(tensor.data, "data"));
    made.bytes.assign(data, data + tensor.bytes);
  }
  return made;
}

const SessionRun &lastRun(const wsec_session *session) {
  const SessionRun *run = given(session, "the session")->held->lastRun();
  if (!run)
    refuse(ErrorClass::BadCall, "nothing has run yet");
  return *run;
}

const wsec_tensor *at(const std::vector<wsec_tensor> &tensors, size_t index) {
  return index < tensors.size() ? &tensors[index] : nullptr;
}
} // namespace

const char *wsec_version(void) { return wsec::tools::versionText(); }

const char *wsec_error(void) { return lastError.message.c_str(); }

const char *wsec_error_class(void) { return lastError.name.c_str(); }

size_t wsec_type_bytes(wsec_type type) {
  return unsigned(type) > WSEC_BITS8 ? 0 : dataTypeBytes(DataType(type));
}

wsec_session *wsec_open(const char *path, const wsec_options *options) {
  return guarded<>(static_cast<wsec_session *>(nullptr), [&] {
    std::vector<std::string> folders;
    for (size_t i = 0; options && i < options->weight_count; ++i)
      folders.push_back(
          given(given(options->weights, "the folders of weights")[i],
                "a folder of weights"));
    const bool named = options && options->engine;
    auto made = LoadingSession::open(given(path, "the path of a program"),
                                     folders, named ? options->engine : "burst",
                                     options ? options->threads : 0);
    auto held = valueOf(std::move(made));
    auto session = std::make_unique<wsec_session>();
    session->held = std::move(held);
    const wsec::program::Program &program = session->held->session().program();
    for (uint32_t i = 0; i < program.tensors()->size(); ++i) {
      const wsec::program::Tensor *tensor = program.tensors()->Get(i);
      if (tensor->role() == wsec::program::TensorRole::Input &&
          !isLength(program, i))
        session->inputs.push_back(described(*session, *tensor));
      if (tensor->role() == wsec::program::TensorRole::Output)
        session->outputs.push_back(described(*session, *tensor));
    }
    for (const wsec::program::Entry *entry : *program.entries())
      session->entries.push_back(describeEntry(*entry));
    return session.release();
  });
}

void wsec_close(wsec_session *session) { delete session; }

const wsec_tensor *wsec_input(const wsec_session *session, size_t index) {
  return session ? at(session->inputs, index) : nullptr;
}

const wsec_tensor *wsec_output(const wsec_session *session, size_t index) {
  return session ? at(session->outputs, index) : nullptr;
}

const char *wsec_entry(const wsec_session *session, size_t index) {
  return session && index < session->entries.size()
             ? session->entries[index].c_str()
             : nullptr;
}

int wsec_bind(wsec_session *session, const wsec_tensor *tensor) {
  return guarded(1, [&] {
    Session &its = given(session, "the session")->held->session();
    HostTensor made = copied(*given(tensor, "the tensor"));
    requireOk(its.accepts(tensor->name, made.type, made.shape));
    requireOk(its.bind(tensor->name, std::move(made)));
    return 0;
  });
}

int wsec_call(wsec_session *session, const char *entry,
              const wsec_argument *arguments, size_t argument_count) {
  return guarded(1, [&] {
    NamedValues values;
    for (size_t i = 0; i < argument_count; ++i)
      values.emplace_back(given(given(arguments, "arguments")[i].name,
                                "the name of an argument"),
                          arguments[i].value);
    requireOk(
        given(session, "the session")->held->call(entry ? entry : "", values));
    return 0;
  });
}

int wsec_fetch(wsec_session *session, const char *name, wsec_tensor *tensor) {
  return guarded(1, [&] {
    auto output = given(session, "the session")
                      ->held->session()
                      .output(given(name, "the name of an output"));
    given(tensor, "the tensor");
    const auto kept =
        session->fetched.insert_or_assign(name, valueOf(std::move(output)))
            .first;
    const HostTensor &its = kept->second;
    *tensor = {kept->first.c_str(), wsec_type(its.type), its.shape.size(),
               its.shape.data(),    its.bytes.data(),    its.bytes.size()};
    return 0;
  });
}

int wsec_count(const wsec_session *session, wsec_counts *counts) {
  return guarded(1, [&] {
    const SessionRun &run = lastRun(session);
    *given(counts, "what to count into") = {run.result.cycles, run.seconds,
                                            run.streamedWeightBytes};
    return 0;
  });
}

const char *wsec_report(wsec_session *session, int as_json) {
  return guarded(static_cast<const char *>(nullptr), [&] {
    const SessionRun &run = lastRun(session);
    const RunReport made = makeReport(session->held->lastCall(), {run});
    session->report = as_json ? made.json() : made.text();
    return session->report.c_str();
  });
}

wsec_state *wsec_keep(const wsec_session *session) {
  return guarded(static_cast<wsec_state *>(nullptr), [&] {
    return new wsec_state{given(session, "the session")->held->keptState()};
  });
}

int wsec_restore(wsec_session *session, const wsec_state *state) {
  return guarded(1, [&] {
    requireOk(given(session, "the session")
                  ->held->restoreState(given(state, "the state")->state));
    return 0;
  });
}

void wsec_free(wsec_state *state) { delete state; }

int wsec_save(const wsec_session *session, const char *path) {
  return guarded(1, [&] {
    requireOk(given(session, "the session")
                  ->held->session()
                  .saveState(given(path, "the path of a state")));
    return 0;
  });
}

int wsec_load(wsec_session *session, const char *path) {
  return guarded(1, [&] {
    requireOk(given(session, "the session")
                  ->held->restoreState(given(path, "the path of a state")));
    return 0;
  });
}

void wsec_clear(wsec_session *session) {
  if (session)
    session->held->clearState();
}
