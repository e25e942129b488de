// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/host/Cluster.h"
#include "runtime/host/Generator.h"
#include "runtime/host/Npy.h"
#include "runtime/host/OutputFiles.h"
#include "runtime/host/Pipeline.h"
#include "runtime/host/Report.h"
#include "runtime/host/TensorProto.h"
#include "runtime/host/TestData.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/swarmx/PassLink.h"
#include "tools/wse-run/Flags.h"
#include "tools/wse-run/GradientFiles.h"
#include "tools/wse-run/Heap.h"
#include "tools/wse-run/Looking.h"
#include "tools/wse-run/Parameters.h"
#include "tools/wse-run/RunProgress.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <type_traits>
#include <unistd.h>

using namespace wsec;
using namespace wsec::run;
using namespace wsec::runtime;

/// What went wrong ends the tool, which prints the message.
static void require(const absl::Status &status) {
  if (!status.ok())
    throw std::runtime_error(std::string(status.message()));
}

template <class Value>
static Value require(absl::StatusOr<Value> value) {
  require(value.status());
  return *std::move(value);
}

static HostTensor readTensor(const std::string &path) {
  if (path.ends_with(".pb"))
    return readTensorProto(path).tensor;
  return readNpy(path);
}

// What follows is about the tensors of a Session, or of a Cluster's batch.

/// All inputs the flags give, each once.
template <class Target>
static void bindInputs(Target &session, const Flags &flags,
                       NamedTensors testInputs) {
  std::set<std::string> bound;
  const auto accept = [&](const std::string &name, DataType type,
                          const std::vector<int64_t> &shape) {
    require(session.accepts(name, type, shape));
    if (!bound.insert(name).second)
      throw Error(ErrorClass::BadTensor,
                  "input " + inQuotes(name) + " is given twice");
  };
  const auto bind = [&](const std::string &name, HostTensor tensor) {
    require(session.bind(name, std::move(tensor)));
  };
  for (const auto &[name, tensor] : testInputs)
    accept(name, tensor.type, tensor.shape);
  for (auto &[name, tensor] : testInputs)
    bind(name, std::move(tensor));
  for (const std::string &archive : flags.inputArchives)
    for (auto &[name, tensor] : readNpz(archive, accept))
      bind(name, std::move(tensor));
  for (const auto &[name, path] : flags.inputs) {
    HostTensor tensor = readTensor(path);
    accept(name, tensor.type, tensor.shape);
    bind(name, std::move(tensor));
  }
}

template <class Target>
static void addOutputs(const Target &session, const Flags &flags,
                       OutputFiles &files) {
  for (const auto &[name, path] : flags.outputs)
    files.add(path, formatNpy(require(session.output(name))));
  if (flags.outputArchive.empty())
    return;
  NamedTensors tensors;
  for (const std::string &name : session.written())
    tensors.emplace_back(name, require(session.output(name)));
  files.add(flags.outputArchive, formatNpz(tensors));
}

/// Says how far an output is off; false beyond the tolerance.
static bool sayError(const OutputError &error, const HostTensor &actual,
                     const HostTensor &expected, const Flags &flags) {
  const Comparison &result = error.comparison;
  if (!flags.quiet)
    absl::PrintF("%s: max abs error %.3g, rms %.3g, largest value %.3g, ratio "
                 "%.3g\n",
                 printable(error.output), result.maxError, result.rms,
                 result.largest, result.ratio());
  if (result.passes())
    return true;
  std::fflush(stdout);
  absl::FPrintF(stderr,
                "wse-run: error: output %s differs: %d of %d elements beyond "
                "atol %g + rtol %g; the worst, element %d, is %.9g, expected "
                "%.9g\n",
                inQuotes(error.output), result.beyond, result.elements,
                flags.tolerance.absolute, flags.tolerance.relative,
                result.worst, actual.number(result.worst),
                expected.number(result.worst));
  return false;
}

/// Names and files that the run would only find wanting at its end.
template <class Target>
static NamedTensors readReferences(Target &session, const Flags &flags,
                                   NamedTensors testOutputs) {
  NamedTensors references = std::move(testOutputs);
  for (const auto &[name, path] : flags.references)
    references.emplace_back(name, readTensor(path));
  const std::vector<std::string> outputs = session.outputs();
  std::vector<std::string> known = session.values();
  known.insert(known.begin(), outputs.begin(), outputs.end());
  auto find = [&](const std::string &name) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(ErrorClass::BadTensor,
                  "the program has no output " + inQuotes(name) +
                      (known.size() > outputs.size()
                           ? ", and its PEs hold no such value"
                           : "") +
                      nearestNames(name, known));
    if (std::find(outputs.begin(), outputs.end(), name) == outputs.end())
      require(session.keep(name));
  };
  for (const auto &[name, tensor] : references)
    find(name);
  for (const auto &[name, path] : flags.outputs)
    find(name);
  return references;
}

/// Results that cannot be kept should not be computed.
template <class Target>
static void checkOutputs(const Target &session, const Flags &flags) {
  std::vector<std::string> written, read = flags.inputArchives;
  for (const auto &[name, path] : flags.outputs)
    written.push_back(path);
  for (const std::string &path : {flags.outputArchive, flags.report,
                                  flags.trace, flags.saveState, flags.tokens})
    if (!path.empty())
      written.push_back(path);
  for (const std::string &path : flags.counters)
    if (path != "-")
      written.push_back(path);
  for (const NamedFiles *files : {&flags.inputs, &flags.references})
    for (const auto &[name, path] : *files)
      read.push_back(path);
  read.push_back(flags.program);
  if (!flags.prompt.empty())
    read.push_back(flags.prompt);
  // A state may be written over the one that was loaded.
  if (!flags.loadState.empty() && flags.loadState != flags.saveState)
    read.push_back(flags.loadState);
  for (const std::string &path : session.weightFiles())
    read.push_back(path);
  checkOutputPaths(written, read);
}

static absl::StatusOr<std::vector<SessionRun>> runSession(Session &session,
                                                          const Call &call,
                                                          const Flags &flags,
                                                          Observer *observer) {
  Progress progress;
  RunProgress line(call, progress, !flags.quiet);
  EngineOptions options;
  options.threads = flags.threads;
  options.replay = flags.repeat > 1;
  options.observer = observer;
  std::vector<SessionRun> runs;
  for (unsigned i = 0; i < flags.repeat; ++i) {
    absl::StatusOr<SessionRun> run =
        session.call(call, options, &progress, flags.engine);
    if (!run.ok())
      return run.status();
    runs.push_back(*std::move(run));
  }
  return runs;
}

/// Binds the inputs; returns what outputs are to be compared with.
template <class Target>
static NamedTensors readTensors(Target &session, const Flags &flags) {
  TestData testData;
  if (!flags.testData.empty())
    testData =
        readTestData(flags.testData, session.inputs(), session.outputs());
  bindInputs(session, flags, std::move(testData.inputs));
  NamedTensors references =
      readReferences(session, flags, std::move(testData.outputs));
  checkOutputs(session, flags);
  return references;
}

/// Writes what the flags ask for and says how far outputs are off: the exit
/// code. What was computed is written even if it fits no reference.
template <class Target>
static int writeResults(Target &session, RunReport report,
                        const NamedTensors &references, const Flags &flags) {
  std::exception_ptr misfit;
  try {
    for (const auto &[name, expected] : references)
      report.errors.push_back(
          {name, compareTensors(name, require(session.output(name)), expected,
                                flags.tolerance)});
  } catch (const Error &) {
    misfit = std::current_exception();
  }
  if (!flags.quiet)
    std::fputs(printable(report.text()).c_str(), stdout);
  OutputFiles files;
  addOutputs(session, flags, files);
  if (!flags.report.empty())
    files.add(flags.report, report.json());
  files.commit();
  if constexpr (!std::is_same_v<Target, Cluster>)
    if (!flags.saveState.empty())
      require(session.saveState(flags.saveState));
  bool good = true;
  for (size_t i = 0; i < report.errors.size(); ++i)
    good &= sayError(report.errors[i],
                     require(session.output(report.errors[i].output)),
                     references[i].second, flags);
  if (misfit)
    std::rethrow_exception(misfit);
  return good ? 0 : 1;
}

/// Of the processes that mpirun has started each takes its share.
static unsigned threadsHere(const Flags &flags) {
  const unsigned all = std::max(1u, std::thread::hardware_concurrency());
  return flags.threads ? flags.threads
                       : std::max(1u, all / std::max(1u, flags.mpi.size));
}

/// The entry to call before the one that the flags name, if any.
static const program::Entry *loadingOf(const Session &session,
                                       const Flags &flags) {
  return loadingEntry(session.program(),
                      findEntry(session.program(), flags.entry));
}

static std::unique_ptr<Session> openSession(const Flags &flags) {
  std::unique_ptr<Session> session =
      require(Session::open(flags.program, flags.weightFolders));
  if (!flags.parameters.empty())
    bindParameters(*session, flags.parameters);
  return session;
}

static int runOnSystems(const std::shared_ptr<Link> &link, const Flags &flags) {
  OtherProcesses others(*link);
  std::unique_ptr<Session> session = openSession(flags);
  const Call call = require(session->callOf(flags.entry, flags.arguments));
  if (loadingOf(*session, flags))
    throw Error(ErrorClass::BadCall,
                "weights of this program stay on the wafer, and several "
                "systems have no call that brings them there; compile it with "
                "--mode=stream");
  Cluster cluster(std::move(session), flags.systems, link);
  const NamedTensors references = readTensors(cluster, flags);
  Progress progress;
  EngineOptions options;
  options.threads = threadsHere(flags);
  const ClusterRun run = [&] {
    RunProgress line(call, progress, !flags.quiet);
    return require(cluster.run(call, options, &progress, flags.engine));
  }();
  others.end(true);
  return writeResults(cluster, makeReport(call, cluster.tree(), run),
                      references, flags);
}

/// A call that looks at the wafer where the flags ask for it.
template <class Run>
static auto runLooking(const Call &call, const Flags &flags, const Run &run) {
  Looking looking(call, flags);
  auto ran = run(looking.observer());
  looking.show();
  std::fflush(stdout);
  return require(std::move(ran));
}

template <class Target>
static void restoreState(Target &session, const Flags &flags) {
  if (!session.hasState() &&
      !(flags.loadState.empty() && flags.saveState.empty()))
    throw Error(ErrorClass::BadState,
                "the program has no persistent buffers, so there is no state "
                "to load or save");
  if (!flags.loadState.empty())
    require(session.restoreState(flags.loadState));
}

static int runSamples(const Flags &flags) {
  std::unique_ptr<Pipeline> pipeline =
      require(Pipeline::open(flags.program, flags.weightFolders, flags.entry,
                             flags.arguments, flags.samples));
  const NamedTensors references = readTensors(*pipeline, flags);
  restoreState(*pipeline, flags);
  Progress progress;
  EngineOptions options;
  options.threads = flags.threads;
  const Call &call = pipeline->call();
  const PipelineRun run = runLooking(call, flags, [&](Observer *observer) {
    options.observer = observer;
    RunProgress line(call, progress, !flags.quiet);
    return pipeline->run(options, &progress, flags.engine);
  });
  if (run.run.result.stopped)
    return 0;
  return writeResults(*pipeline, makeReport(*pipeline, run), references, flags);
}

/// The tokens of a text: integers [tokens] or [1, tokens].
static std::vector<int64_t> readPrompt(const std::string &path) {
  const HostTensor given = readTensor(path);
  const size_t rank = given.shape.size();
  if ((given.type != DataType::Int64 && given.type != DataType::Int32) ||
      rank < 1 || rank > 2 || (rank == 2 && given.shape[0] != 1))
    throw Error(ErrorClass::BadTensor,
                inQuotes(path) + " is " + describe(given.type, given.shape) +
                    ", expected the tokens of one text, int64[tokens] or "
                    "int64[1, tokens]");
  std::vector<int64_t> ids;
  for (uint64_t i = 0; i < given.elements(); ++i)
    ids.push_back(int64_t(given.number(i)));
  return ids;
}

static GenerationOptions generationOptions(const Generator &generator,
                                           int64_t promptTokens,
                                           const Flags &flags) {
  GenerationOptions options;
  options.endTokens = flags.endTokens;
  for (const auto &[name, value] : flags.arguments) {
    if (name != generator.positionName())
      throw Error(ErrorClass::BadCall,
                  "--generate has no argument " + inQuotes(name) +
                      nearestNames(name, {generator.positionName()}));
    options.position = value;
  }
  if (options.position != 0 && flags.loadState.empty())
    throw Error(ErrorClass::BadState,
                "no state has what is before " +
                    inQuotes(generator.positionName()) + " " +
                    std::to_string(options.position) + "; give --load-state");
  constexpr int64_t usual = 128;
  const int64_t left =
      generator.capacity() - options.position - promptTokens + 1;
  options.mostTokens = flags.mostTokens
                           ? flags.mostTokens
                           : uint64_t(std::clamp<int64_t>(left, 1, usual));
  options.isLoaded = !flags.loadState.empty();
  options.sampling = flags.sampling;
  options.engineOptions.threads = flags.threads;
  options.engineOptions.replay = true;
  options.engine = flags.engine;
  return options;
}

static int runGeneration(Session &session, const Flags &flags) {
  Generator generator(session);
  const std::vector<int64_t> prompt = readPrompt(flags.prompt);
  bindInputs(session, flags, {});
  checkOutputs(session, flags);
  restoreState(session, flags);
  const Generation made = generator.generate(
      prompt, generationOptions(generator, int64_t(prompt.size()), flags));
  const RunReport report = makeReport(generator, made);
  if (!flags.quiet)
    absl::PrintF("%sids: [%s]\n", printable(report.text()),
                 absl::StrJoin(made.ids, ", "));
  OutputFiles files;
  if (!flags.tokens.empty()) {
    HostTensor tokens{DataType::Int64, {int64_t(made.ids.size())}, {}};
    tokens.bytes.resize(made.ids.size() * sizeof(int64_t));
    std::memcpy(tokens.bytes.data(), made.ids.data(), tokens.bytes.size());
    files.add(flags.tokens, formatNpy(tokens));
  }
  if (!flags.report.empty())
    files.add(flags.report, report.json());
  files.commit();
  if (!flags.saveState.empty())
    require(session.saveState(flags.saveState));
  return 0;
}

/// In the others. What is wrong with the program is told by process 0.
static int serve(Link &link, const Flags &flags) {
  try {
    const auto loaded = LoadedProgram::open(flags.program);
    const program::Program &program = loaded->program();
    const uint32_t entry = findEntry(program, flags.entry);
    const Call call(
        program, entry,
        argumentValues(*program.entries()->Get(entry), flags.arguments));
    EngineOptions options;
    options.threads = 1;
    const Engine engine = chooseEngine(flags.engine, call, options);
    return serveSystems(link, call, flags.systems, threadsHere(flags),
                        [&](HostPort &port) {
                          return emulateOnce(engine, call, nullptr, options,
                                             port);
                        })
               ? 0
               : 1;
  } catch (const Error &error) {
    refuseToServe(link, std::make_exception_ptr(
                            Error(error.errorClass(),
                                  absl::StrFormat("process %d: %s", link.rank(),
                                                  error.message()))));
    return 1;
  }
}

/// There is nobody to talk to any more, and threads that wait.
static void endSystemLost(const std::string &what, bool speaks) {
  if (speaks)
    std::fprintf(stderr, "wse-run: error: %s\n", printable(what).c_str());
  _exit(1);
}

static int runUnderMpi(const Flags &flags) {
  // Until the process ends: mpirun ends all once one has failed, and an error
  // is to be said before the others hear that there is one.
  static const std::shared_ptr<Link> link = openMpiLink(endSystemLost);
  if (!link)
    throw std::runtime_error(
        "mpirun has started this process, but it is built without Open MPI; "
        "install libopenmpi-dev and openmpi-bin (tools/setup.sh does), and "
        "configure and build again, or take --num-systems=N without mpirun");
  return link->rank() == 0 ? runOnSystems(link, flags) : serve(*link, flags);
}

/// Gradients that are let go can be neither written nor compared.
static void checkGradients(const Session &session, const Flags &flags,
                           const NamedTensors &references) {
  const auto &tensors = *session.program().tensors();
  if (std::none_of(tensors.begin(), tensors.end(),
                   [](const auto *its) { return its->gradient() != nullptr; }))
    throw Error(ErrorClass::BadTensor,
                "the program makes no gradients of parameters; compile it with "
                "wsec --loss and --train, or leave out --gradients");
  const auto isIn = [](const auto &all, const std::string &name) {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto &its) { return its.first == name; });
  };
  for (const program::Tensor *tensor : tensors)
    if (const std::string name = tensor->name()->str();
        tensor->gradient() &&
        (isIn(flags.outputs, name) || isIn(references, name)))
      throw Error(ErrorClass::BadTensor,
                  "output " + inQuotes(name) +
                      " is a gradient, which --gradients lets go; take "
                      "--gradient=GLOB of its parameter instead of --output or "
                      "--compare");
}

static int runProgram(const Flags &flags) {
  if (flags.mpi.size)
    return runUnderMpi(flags);
  if (flags.systems)
    return runOnSystems(std::make_shared<OneProcess>(), flags);
  if (flags.samples)
    return runSamples(flags);
  std::unique_ptr<Session> opened = openSession(flags);
  Session &session = *opened;
  if (flags.generate)
    return runGeneration(session, flags);
  const Call call = require(session.callOf(flags.entry, flags.arguments));
  const NamedTensors references = readTensors(session, flags);
  if (!flags.gradients.empty())
    checkGradients(session, flags, references);

  restoreState(session, flags);
  const program::Entry *load = loadingOf(session, flags);
  if (load && flags.loadState.empty()) {
    EngineOptions options;
    options.threads = flags.threads;
    require(
        session.call(load->name()->str(), {}, options, nullptr, flags.engine));
  }
  std::optional<GradientFiles> gradients;
  if (!flags.gradients.empty()) {
    gradients.emplace(flags.gradients, flags.writtenGradients, session);
    session.collectGradients(
        [&](const program::Tensor &parameter, std::span<const float> gradient) {
          gradients->take(parameter, gradient);
        });
  }
  const std::vector<SessionRun> runs =
      runLooking(call, flags, [&](Observer *observer) {
        return runSession(session, call, flags, observer);
      });
  if (runs.back().result.stopped)
    return 0;
  if (gradients)
    gradients->finish();
  return writeResults(session, makeReport(call, runs), references, flags);
}

int main(int argc, char **argv) {
  prepareHeap();
  return tools::runTool({"wse-run", usageText, flagGroups, exitCodesText,
                         [](const std::vector<std::string> &words) {
                           return runProgram(givenFlags(words));
                         }},
                        argc, argv);
}
