// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_SESSION_H
#define RUNTIME_HOST_SESSION_H

#include "runtime/host/EngineChoice.h"
#include "runtime/host/HostTensor.h"
#include "runtime/host/Status.h"
#include "runtime/memoryx/GradientCollector.h"
#include "runtime/memoryx/Gradients.h"
#include "runtime/strips/StripsEngine.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

class WrittenLines;

class MemoryX;

/// How many tokens chose each expert of a mixture.
struct ExpertLoad {
  std::string mixture;
  std::vector<uint64_t> tokens;
};

/// Adds loads of mixtures that `all` has, and those of others behind them.
void add(std::vector<ExpertLoad> &all, const std::vector<ExpertLoad> &more);

/// What a run gave besides tensors.
struct SessionRun {
  RunResult result;
  Engine countedBy = Engine::Burst; ///< the cycles; not Burst after a run
  double seconds = 0;               ///< of the host, for this run
  uint64_t streamedWeightBytes = 0; ///< f32 words of weights and constants
  std::vector<ExpertLoad> experts;  ///< in the order of the model
};

/// Values of an entry's arguments, by name.
using NamedValues = std::vector<std::pair<std::string, int64_t>>;

/// Stands between the store of a call and its wafer: runs the second argument,
/// the wafer, with a port of its own, or lets a wafer elsewhere make the call.
using Relay = std::function<RunResult(
    MemoryX &store, const std::function<RunResult(HostPort &)> &wafer)>;

/// How far a run has come; read from another thread.
struct Progress {
  std::atomic<uint64_t> words{0}; ///< streamed to the wafer
  std::atomic<uint64_t> total{0};
  std::atomic<uint64_t> launch{0}; ///< the furthest that a PE has entered
};

/// One program on one emulated wafer: load, bind, call, fetch. Throws nothing:
/// what is wrong is a status, of which `errorClassOf` tells the class.
///
///   auto session = Session::open("model.wafer");
///   if (!session.ok())
///     return session.status();
///   absl::Status status = (*session)->bind("input_ids", ids);
///   if (status.ok())
///     status = (*session)->run().status(); // or call("decode", {{"at", 7}})
///   absl::StatusOr<HostTensor> logits = (*session)->output("logits");
class Session {
public:
  /// Loads and checks a program, a .wafer file or a LoadedProgram, and maps
  /// its weight files, which lie in one of the folders that are named after it,
  /// or in the program's own.
  template <class... Arguments>
  static absl::StatusOr<std::unique_ptr<Session>>
  open(const Arguments &...arguments) {
    return asStatusOr(
        [&] { return std::unique_ptr<Session>(new Session(arguments...)); });
  }
  ~Session();
  /// For a further wafer that runs the program; it shares the weights.
  std::unique_ptr<Session> sibling() const;

  const program::Program &program() const { return loaded->program(); }
  /// Names in the order of the model; of inputs those that callers give.
  std::vector<std::string> inputs() const;
  std::vector<std::string> outputs() const;
  /// The files that the program's weights lie in, outside of its own.
  std::vector<std::string> weightFiles() const { return store.weightFiles(); }

  /// Whether a tensor can be bound: BadTensor when there is no such input, or
  /// its type or shape is another. Along its length axes it may be shorter.
  absl::Status accepts(const std::string &name, DataType type,
                       const std::vector<int64_t> &shape) const;
  /// Gives an input.
  absl::Status bind(const std::string &name, HostTensor tensor);

  /// The tensors whose elements training changes, by the names of parameters,
  /// in the order of the model.
  std::vector<std::string> parameters() const;
  /// What a parameter has now.
  absl::StatusOr<HostTensor> parameter(const std::string &name) const;
  /// TensorStore::bindParameters.
  absl::Status bindParameters(ParameterSource &source);
  /// What the last call adds to the gradients of parameters.
  absl::StatusOr<Gradients> gradients() const;

  /// Shows `take` each gradient of the calls to come as soon as it is there,
  /// and lets go of it: MemoryX::collectGradients.
  void collectGradients(TakeGradient take) { takeGradient = std::move(take); }

  /// A call of an entry with its arguments; without a name of the only one, or
  /// of "main". A length is that of the inputs. BadCall when there is no such
  /// entry or argument, or a value is missing or out of range.
  absl::StatusOr<Call> callOf(const std::string &entry,
                              const NamedValues &arguments) const;
  /// Whether every input that the call reads is bound: BadTensor lists those
  /// that are not.
  absl::Status ready(const Call &call) const;
  /// Runs it. Every input that the entry reads must be bound; persistent
  /// buffers hold what the calls before have left there. Calls with equal
  /// options share what one has prepared for the next. One that fails, or is
  /// stopped, changes neither state nor outputs; gradients it leaves unknown.
  absl::StatusOr<SessionRun> call(const Call &call, EngineOptions options = {},
                                  Progress *progress = nullptr,
                                  Engine engine = Engine::Burst,
                                  const Relay &relay = {});
  /// The streams of a call, for who sends them to several wafers. Throws Error.
  std::unique_ptr<MemoryX> streams(const Call &call);
  /// Both in one.
  absl::StatusOr<SessionRun> call(const std::string &entry,
                                  const NamedValues &arguments,
                                  EngineOptions options = {},
                                  Progress *progress = nullptr,
                                  Engine engine = Engine::Burst);
  /// Runs a program that has nothing else to call, or "main".
  absl::StatusOr<SessionRun> run(EngineOptions options = {},
                                 Progress *progress = nullptr,
                                 Engine engine = Engine::Burst);

  /// Values of the model that PEs hold at some time, in some entry.
  std::vector<std::string> values() const;
  /// Reads a value off the PEs in the calls that come of entries that make it,
  /// which then take no shortcuts.
  absl::Status keep(const std::string &value);

  /// An output, of the last call that wrote it, or a value that was to be kept.
  absl::StatusOr<HostTensor> output(const std::string &name) const;
  /// How many tokens chose each expert in the last call, which saw `of` in
  /// order: the first `tokens` count, what is behind them is padding.
  std::vector<ExpertLoad> loadsOf(uint64_t tokens, uint64_t of) const;
  /// Outputs that some call has written, or the last one, in the order of the
  /// model.
  std::vector<std::string> written() const;
  std::vector<std::string> lastWritten() const;

  /// Whether the program has persistent buffers.
  bool hasState() const { return state.any(); }
  /// Writes what persistent buffers hold to a file, and takes it from there
  /// (StateFile.h). BadState for a damaged file, or one of another program.
  absl::Status saveState(const std::string &path) const;
  absl::Status restoreState(const std::string &path);
  /// What calls have left, in memory: sessions of the program go on from it as
  /// often as they are asked to, conversations in turn or beams of a search.
  struct KeptState {
    PersistentState held;
    uint64_t program; ///< its digest
  };
  KeptState keptState() const { return {state, loaded->digest()}; }
  /// BadState for that of another program.
  absl::Status restoreState(const KeptState &kept);
  /// As before the first call.
  void clearState() { state.clear(); }
  /// Whether persistent buffers hold anything.
  bool holdsState() const;

private:
  explicit Session(const std::string &path,
                   const std::vector<std::string> &weightFolders = {});
  explicit Session(std::shared_ptr<const LoadedProgram> program,
                   const std::vector<std::string> &weightFolders = {});
  explicit Session(const Session *sibling);

  // These throw Error.
  void requireFit(uint32_t input, DataType type,
                  const std::vector<int64_t> &shape) const;
  void bindTensor(const std::string &name, HostTensor tensor);
  /// The call with the length that the inputs have which it reads, which is
  /// bound, too; BadTensor where they differ.
  Call withLength(const Call &call);
  /// The outputs of a call have its length.
  void noteLengths(const Call &call);
  SessionRun runCall(const Call &call, EngineOptions options,
                     Progress *progress, Engine engine, const Relay &relay);
  HostTensor readOutput(const std::string &name) const;
  std::vector<std::string> names(program::TensorRole role) const;
  uint32_t find(const std::string &name, program::TensorRole role) const;
  void requireInputs(const Call &call) const;
  /// Whether an output is one of those written, or what nothing has to write.
  bool isIn(const std::set<uint32_t> &written, uint32_t output) const;
  bool isOfOtherEntry(uint32_t output) const;
  class Earlier;
  bool isShown(uint32_t tensor) const;
  RunResult emulate(const Call &call, PersistentState *held,
                    const EngineOptions &options, Engine engine,
                    HostPort &port);
  Engine engineOf(const Call &call, const EngineOptions &options,
                  Engine engine);
  RunResult emulateStrips(const Call &call, PersistentState *held,
                          const EngineOptions &options, HostPort &port);
  RunResult emulateReplayed(const Call &call, PersistentState *held,
                            const EngineOptions &options, HostPort &port);

  std::shared_ptr<const LoadedProgram> loaded;
  TensorStore store;
  TakeGradient takeGradient;                 ///< if somebody does
  std::set<std::string> kept;                ///< values
  std::map<std::string, HostTensor> readOff; ///< by the last calls
  std::unique_ptr<StripsEngine> strips;      ///< of the last run
  EngineOptions stripsOptions;
  std::map<std::pair<Call, Engine>, Engine> chosen;
  /// The store as a call sees it. Of those that are replayed it is kept.
  struct Streams;
  std::unique_ptr<Streams> takeStreams(const Call &call,
                                       const EngineOptions &options);
  std::unique_ptr<WrittenLines> writtenLines; ///< once calls are repeated
  std::map<uint32_t, std::unique_ptr<Streams>> streamsOf; ///< by entry
  std::map<Call, RunResult> timed; ///< by streams, for cycles of its replays
  PersistentState state;
  std::set<uint32_t> known; ///< outputs that the last call of theirs wrote
  std::set<uint32_t> lastOutputs;      ///< of the last call
  std::map<uint32_t, int64_t> lengths; ///< of inputs, and of outputs as written
  uint32_t lastEntry = 0;
  bool ran = false;
};

} // namespace wsec::runtime

#endif // RUNTIME_HOST_SESSION_H
