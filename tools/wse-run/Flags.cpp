// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/Flags.h"

#include "runtime/program/NearestNames.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

namespace wsec::run {

const char *const helpText =
    R"(usage: wse-run PROGRAM.wafer [flags]

Runs a compiled program on the emulated wafer.

tensors, bound by name
  --input NAME=FILE      an input, from .npy (or ONNX's .pb)
  --inputs FILE.npz      inputs, many at once
  --output NAME=FILE     write an output to .npy
  --outputs FILE.npz     write all outputs
  --compare NAME=FILE    compare an output with a reference (.npy or .pb)
  --test-data DIR        ONNX's test data: feed input_N.pb, compare output_N.pb
  --atol X, --rtol X     a comparison fails where
                         |actual - expected| > atol + rtol * |expected|
                         (default 1e-4 and 1e-3)

the run
  --engine=burst         the engine. streams moves words, stopping them where
                         they meet, cycles as wavelet's within 5 % on up to
                         256 PEs, beyond they may differ more; strips moves
                         whole streams, for large meshes and compiled
                         programs, cycles short where streams share links;
                         wavelet steps every router and PE, for small meshes;
                         burst is streams, or strips for compiled programs on
                         more than 256 PEs or that would take it long
  --threads=N            worker threads (default: one per core); changes
                         neither values nor cycles
  --repeat=N             run N times in one session and report the shortest
                         run, and the first: that one is recorded, the others
                         execute the same operations on the inputs anew
                         (default 1)
  --report=FILE.json     write what the report prints
  --quiet                print nothing but errors

looking inside (of one run; the strips engine then takes one thread)
  --trace=FILE.json      a timeline for ui.perfetto.dev: kernels with their
                         ONNX nodes, PE classes, streams, colors, links, single
                         PEs; a microsecond there is a cycle
  --counters=FILE        per PE and link: busy cycles, instructions, words,
                         waits, SRAM. FILE.json (runtime/observe/
                         counters.schema.json), FILE.txt and FILE.png: heat
                         maps; -: on the terminal. May be repeated
  --metric=NAME          the one number that heat maps show (default: .txt
                         all, .png busy_cycles)
  --until=WHEN           stop there and say who waits for what: a cycle,
                         launch:N or kernel:NAME (both: before it begins; the
                         name of an ONNX node will do)
  --break=X,Y:NAME       stop as PE (X, Y) enters a task, a kernel or an ONNX
                         node
  --peek=X,Y:BUFFER      print a buffer of a PE, where the run stops or ends,
                         in an error, too: BUFFER, BUFFER[i], BUFFER[from:to];
                         X,Y alone: all of its buffers

  --help, --version

Exit code: 0 done; 1 the input, the program or the run is at fault, or a
comparison failed; 2 wrong usage.
)";

namespace {

std::pair<std::string, std::string> namedFile(const std::string &flag,
                                              const std::string &value) {
  size_t equals = value.find('=');
  if (equals == 0 || equals == value.npos || equals + 1 == value.size())
    throw UsageError(flag + " wants NAME=FILE, found '" + value + "'");
  return {value.substr(0, equals), value.substr(equals + 1)};
}

double tolerance(const std::string &flag, const std::string &value) {
  char *end = nullptr;
  double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != 0 || !std::isfinite(number) || number < 0)
    throw UsageError(flag + " wants a number of at least 0, found '" + value +
                     "'");
  return number;
}

runtime::Engine engine(const std::string &value) {
  const auto engine = runtime::engineNamed(value);
  if (!engine)
    throw UsageError(std::string("--engine wants ") + runtime::engineNames +
                     ", found '" + value + "'");
  return *engine;
}

unsigned count(const std::string &flag, const std::string &value,
               unsigned long most) {
  char *end = nullptr;
  unsigned long number = std::strtoul(value.c_str(), &end, 10);
  if (value.empty() || value[0] < '0' || value[0] > '9' || *end != 0 ||
      number < 1 || number > most)
    throw UsageError(flag + " wants a number from 1 to " +
                     std::to_string(most) + ", found '" + value + "'");
  return unsigned(number);
}

} // namespace

/// Whether a word after --peek X,Y goes with it.
static bool namesBuffer(const std::string &word) {
  return !word.starts_with("--") && !word.ends_with(".wafer");
}

/// What looks at one run, or ends it early, does not go with everything.
static void checkLooking(const Flags &flags) {
  const bool stops = !flags.until.empty() || !flags.breaks.empty();
  const bool looks = stops || !flags.peeks.empty() || !flags.trace.empty() ||
                     !flags.counters.empty();
  if (looks && flags.repeat > 1)
    throw UsageError("--trace, --counters, --until, --break and --peek look at "
                     "one run; leave out --repeat");
  if (!flags.metric.empty() && flags.counters.empty())
    throw UsageError("--metric goes with --counters");
  if (stops && (!flags.outputs.empty() || !flags.outputArchive.empty() ||
                !flags.references.empty() || !flags.report.empty()))
    throw UsageError("--until and --break stop before there are outputs; leave "
                     "out --output, --outputs, --compare and --report");
}

// The tables refer to the flags that they set.
using Switches = std::map<std::string, bool *>;
using Setter = std::function<void(const std::string &)>;
using Setters = std::map<std::string, Setter>;

static Switches switchesOf(Flags &flags) {
  return {{"--quiet", &flags.quiet},
          {"--help", &flags.help},
          {"--version", &flags.version}};
}

static Setter setWord(std::string &target) {
  return [&target](const std::string &value) { target = value; };
}

static Setter addWord(std::vector<std::string> &target) {
  return [&target](const std::string &value) { target.push_back(value); };
}

static Setter addFile(NamedFiles &files, const char *flag) {
  return [&files, flag](const std::string &value) {
    files.push_back(namedFile(flag, value));
  };
}

static Setter setTolerance(double &target, const char *flag) {
  return [&target, flag](const std::string &value) {
    target = tolerance(flag, value);
  };
}

static Setter setCount(unsigned &target, const char *flag, unsigned long most) {
  return [&target, flag, most](const std::string &value) {
    target = count(flag, value, most);
  };
}

static Setters settersOf(Flags &flags) {
  return {
      {"--input", addFile(flags.inputs, "--input")},
      {"--output", addFile(flags.outputs, "--output")},
      {"--compare", addFile(flags.references, "--compare")},
      {"--inputs", addWord(flags.inputArchives)},
      {"--outputs", setWord(flags.outputArchive)},
      {"--test-data", setWord(flags.testData)},
      {"--report", setWord(flags.report)},
      {"--engine",
       [&flags](const std::string &value) { flags.engine = engine(value); }},
      {"--trace", setWord(flags.trace)},
      {"--metric", setWord(flags.metric)},
      {"--until", setWord(flags.until)},
      {"--counters", addWord(flags.counters)},
      {"--break", addWord(flags.breaks)},
      {"--peek", addWord(flags.peeks)},
      {"--atol", setTolerance(flags.tolerance.absolute, "--atol")},
      {"--rtol", setTolerance(flags.tolerance.relative, "--rtol")},
      {"--threads", setCount(flags.threads, "--threads", 1024)},
      {"--repeat", setCount(flags.repeat, "--repeat", 1000000)}};
}

static void setProgram(Flags &flags, const std::string &path) {
  if (!flags.program.empty())
    throw UsageError("one program at a time: '" + flags.program + "' and '" +
                     path + "'");
  flags.program = path;
}

static UsageError unknownFlag(const std::string &name, const Switches &switches,
                              const Setters &setters) {
  std::vector<std::string> names;
  for (const auto &[flag, target] : switches)
    names.push_back(flag);
  for (const auto &[flag, setter] : setters)
    names.push_back(flag);
  return UsageError("there is no flag " + name +
                    runtime::nearestNames(name, names));
}

/// The value of the flag at `i`, --flag=value or --flag value; `i` is then at
/// its last word.
static std::string takeValue(int argc, char **argv, int &i) {
  const std::string argument = argv[i];
  const size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  std::string value;
  if (equals != argument.npos)
    value = argument.substr(equals + 1);
  else if (i + 1 < argc)
    value = argv[++i];
  if (value.empty())
    throw UsageError(name + " wants a value");
  // --peek X,Y BUFFER, too.
  if (name == "--peek" && value.find_first_of(": ") == value.npos &&
      i + 1 < argc && namesBuffer(argv[i + 1]))
    value += std::string(":") + argv[++i];
  return value;
}

Flags parseFlags(int argc, char **argv) {
  Flags flags;
  const Switches switches = switchesOf(flags);
  const Setters setters = settersOf(flags);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string name = argument.substr(0, argument.find('='));
    if (!argument.starts_with("--"))
      setProgram(flags, argument);
    else if (auto known = switches.find(argument); known != switches.end())
      *known->second = true;
    else if (auto taking = setters.find(name); taking != setters.end())
      taking->second(takeValue(argc, argv, i));
    else
      throw unknownFlag(name, switches, setters);
  }
  if (flags.help || flags.version)
    return flags;
  if (flags.program.empty())
    throw UsageError("no program is given");
  checkLooking(flags);
  return flags;
}

} // namespace wsec::run
