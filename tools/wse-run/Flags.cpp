// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/Flags.h"

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <cmath>
#include <filesystem>

namespace wsec::runtime {

// Abseil looks for these beside the type.
static bool AbslParseFlag(absl::string_view text, Engine *engine,
                          std::string *error) {
  const auto named = engineNamed(std::string(text));
  if (named)
    *engine = *named;
  else
    *error = absl::StrCat("wants ", engineNames, ", found '", text, "'");
  return named.has_value();
}

static std::string AbslUnparseFlag(Engine engine) { return nameOf(engine); }

} // namespace wsec::runtime

namespace wsec::run {
namespace {

struct ToleranceNumber {
  double value;
};

bool AbslParseFlag(absl::string_view text, ToleranceNumber *number,
                   std::string *error) {
  if (absl::SimpleAtod(text, &number->value) && number->value >= 0 &&
      std::isfinite(number->value))
    return true;
  *error = absl::StrCat("wants a number of at least 0, found '", text, "'");
  return false;
}

std::string AbslUnparseFlag(ToleranceNumber number) {
  return absl::StrCat(number.value);
}

/// Above 0, up to 1.
struct Share {
  double value;
};

bool AbslParseFlag(absl::string_view text, Share *share, std::string *error) {
  if (absl::SimpleAtod(text, &share->value) && share->value > 0 &&
      share->value <= 1)
    return true;
  *error = absl::StrCat("wants a number above 0, up to 1, found '", text, "'");
  return false;
}

std::string AbslUnparseFlag(Share share) { return absl::StrCat(share.value); }

/// From 1 to `Most`; 0 until it is given.
template <unsigned Most>
struct Count {
  unsigned value;
};

template <unsigned Most>
bool AbslParseFlag(absl::string_view text, Count<Most> *count,
                   std::string *error) {
  if (absl::SimpleAtoi(text, &count->value) && count->value >= 1 &&
      count->value <= Most)
    return true;
  *error =
      absl::StrCat("wants a number from 1 to ", Most, ", found '", text, "'");
  return false;
}

template <unsigned Most>
std::string AbslUnparseFlag(Count<Most> count) {
  return count.value ? absl::StrCat(count.value) : "";
}

} // namespace
} // namespace wsec::run

using wsec::runtime::Engine;
using wsec::tools::Words;
using Threads = wsec::run::Count<1024>;
using Repeats = wsec::run::Count<1000000>;
using Systems = wsec::run::Count<1024>;
using Samples = wsec::run::Count<65536>;
using Tokens = wsec::run::Count<1u << 30>;
using wsec::run::Share;
using wsec::run::ToleranceNumber;

ABSL_FLAG(Words, input, {}, "NAME=FILE  an input, from .npy or ONNX's .pb");
ABSL_FLAG(Words, inputs, {}, "FILE.npz  inputs, many at once");
ABSL_FLAG(Words, output, {},
          "NAME=FILE  write an output to .npy, or a value inside of the model, "
          "from the PEs that hold it");
ABSL_FLAG(std::string, outputs, "", "FILE.npz  write all outputs");
ABSL_FLAG(std::string, gradients, "",
          "DIR  of a program that wsec --loss makes: see each parameter's "
          "gradient once all of it has left the wafer, and let it go: "
          "DIR/gradients.jsonl has its sum, norm and largest value");
ABSL_FLAG(Words, gradient, {},
          "GLOB  with --gradients: of these parameters write DIR/NAME.npy, "
          "too; may be repeated");
ABSL_FLAG(Words, compare, {},
          "NAME=FILE  compare an output with a reference, .npy or .pb");
ABSL_FLAG(std::string, test_data, "",
          "DIR  ONNX's test data: feed input_N.pb, compare output_N.pb");
ABSL_FLAG(ToleranceNumber, atol, {1e-4},
          "X  compared elements may differ by atol + rtol * |expected|");
ABSL_FLAG(ToleranceNumber, rtol, {1e-3}, "X  see --atol");

ABSL_FLAG(std::string, entry, "",
          "NAME  what to call, of a program with several entries (default: "
          "main), behind load where weights stay and there is no "
          "--load-state");
ABSL_FLAG(Words, argument, {},
          "NAME=VALUE  an argument of the entry, a whole number; may be "
          "repeated");
ABSL_FLAG(std::string, load_state, "",
          "FILE  begin with what persistent buffers held when --save-state "
          "wrote it");
ABSL_FLAG(std::string, save_state, "",
          "FILE  write what persistent buffers hold at the end");

ABSL_FLAG(bool, generate, false,
          "go on with the tokens of --input input_ids=FILE, by the entries of "
          "a program whose states hold keys and values, and write those behind "
          "them to --output tokens=FILE; --argument NAME=N says at which "
          "position a state of --load-state goes on");
ABSL_FLAG(Tokens, max_new_tokens, {0},
          "N  at most so many (default: 128, or what there is room for)");
ABSL_FLAG(Words, end_id, {}, "ID  a token that ends the text; may be repeated");
ABSL_FLAG(
    ToleranceNumber, temperature, {0},
    "T  0: the likeliest token; else by chance, with logits divided by T");
ABSL_FLAG(Tokens, top_k, {0},
          "K  by chance among the K likeliest (default: all)");
ABSL_FLAG(Share, top_p, {1}, "P  ... that have this share together");
ABSL_FLAG(uint64_t, seed, 0, "N  of chance");

ABSL_FLAG(Words, weights, {},
          "DIR  a folder with the program's weight files, if they do not lie "
          "beside it; may be repeated");
ABSL_FLAG(
    std::string, parameters, "",
    "PATH  a safetensors file, or a checkpoint, with what parameters have "
    "that wsec --train or --lora names");
ABSL_FLAG(Engine, engine, Engine::Burst,
          "NAME  burst, strips or wavelet, as runtime/README.md says");
ABSL_FLAG(Threads, threads, {0},
          "N  worker threads, one per core if not given; change neither values "
          "nor cycles");
ABSL_FLAG(Repeats, repeat, {1},
          "N  run N times in one session, replaying the first, and report the "
          "shortest run");
ABSL_FLAG(Systems, num_systems, {0},
          "N  split a batch over N emulated wafers, which one store feeds "
          "through a tree: inputs hold k >= N times the rows of the program, "
          "one call behind the other (those of the program's own shape are the "
          "same for all calls), outputs as many in the same order; the first "
          "k mod N systems make one call more; under mpirun over all processes "
          "together");
ABSL_FLAG(Samples, samples, {0},
          "N  run N samples that follow one another without waiting for each "
          "other's end: inputs hold N times the rows of the program (those of "
          "the program's own shape are the same for all), outputs as many; a "
          "program of wsec --mode=resident then works on several at a time");
ABSL_FLAG(std::string, report, "", "FILE.json  write what the report prints");
ABSL_FLAG(bool, quiet, false, "print nothing but errors");

ABSL_FLAG(std::string, trace, "",
          "FILE.json  a timeline for ui.perfetto.dev; a microsecond there is a "
          "cycle");
ABSL_FLAG(Words, counters, {},
          "FILE  busy cycles, instructions, words, waits and SRAM per PE and "
          "link: .json, heat maps as .txt or .png, - for the terminal");
ABSL_FLAG(
    std::string, metric, "",
    "NAME  the number that heat maps show; else all, in .png busy_cycles");
ABSL_FLAG(std::string, until, "",
          "WHEN  stop and say who waits for what: at a cycle, or before "
          "launch:N or kernel:NAME, a kernel's or an ONNX node's");
ABSL_FLAG(
    Words, break, {},
    "X,Y:NAME  stop as PE (X, Y) enters a task, a kernel or an ONNX node");
ABSL_FLAG(
    Words, peek, {},
    "X,Y:BUFFER  print BUFFER, BUFFER[i] or BUFFER[from:to] of a PE where "
    "the run ends, in an error, too; X,Y alone: all its buffers; NAME[i,j]: "
    "an element of a value of the model, and the PE that holds it");

namespace wsec::run {

const char *const usageText =
    R"(usage: wse-run PROGRAM.wafer [flags]
       mpirun -np N wse-run PROGRAM.wafer [flags]

Runs a compiled program on the emulated wafer; under mpirun a batch on N of
them, as --num-systems=N does in one process.
)";

const char *const exitCodesText =
    R"(Exit code: 0 done; 1 the input, the program or the run is at fault, or a
comparison failed; 2 wrong usage.
)";

const std::vector<tools::FlagGroup> flagGroups = {
    {"tensors, bound by name",
     {"input", "inputs", "output", "outputs", "gradients", "gradient",
      "compare", "test-data", "atol", "rtol"}},
    {"the call", {"entry", "argument", "load-state", "save-state"}},
    {"text, token by token",
     {"generate", "max-new-tokens", "end-id", "temperature", "top-k", "top-p",
      "seed"}},
    {"the run",
     {"weights", "parameters", "engine", "samples", "num-systems", "threads",
      "repeat", "report", "quiet"}},
    {"looking inside (of one run; the strips engine then takes one thread)",
     {"trace", "counters", "metric", "until", "break", "peek"}},
    {"this tool", {"help", "version"}}};

static NamedFiles namedFiles(const char *flag, const Words &words) {
  NamedFiles files;
  for (const std::string &value : words.values) {
    const size_t equals = value.find('=');
    if (equals == 0 || equals == value.npos || equals + 1 == value.size())
      throw UsageError(
          absl::StrCat(flag, " wants NAME=FILE, found '", value, "'"));
    files.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  }
  return files;
}

static runtime::NamedValues namedValues(const Words &words) {
  runtime::NamedValues values;
  for (const std::string &given : words.values) {
    const size_t equals = given.find('=');
    int64_t value;
    if (equals == 0 || equals == given.npos ||
        !absl::SimpleAtoi(given.substr(equals + 1), &value))
      throw UsageError(absl::StrCat(
          "--argument wants NAME=VALUE, a whole number, found '", given, "'"));
    values.emplace_back(given.substr(0, equals), value);
  }
  return values;
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
  if (stops && !flags.saveState.empty())
    throw UsageError("--until and --break stop before a call has changed any "
                     "state; leave out --save-state");
  if (flags.repeat > 1 && !flags.saveState.empty())
    throw UsageError("--save-state keeps what one call leaves; leave out "
                     "--repeat");
  if (flags.systems && (looks || flags.repeat > 1 || !flags.loadState.empty() ||
                        !flags.saveState.empty()))
    throw UsageError("--trace, --counters, --until, --break, --peek, --repeat, "
                     "--load-state and --save-state are for one system; leave "
                     "out --num-systems and mpirun");
}

/// Samples in flight are one run on one wafer.
static void checkSamples(const Flags &flags) {
  if (flags.samples && (flags.systems || flags.repeat > 1))
    throw UsageError("--samples sends samples through one wafer, once; leave "
                     "out --num-systems, mpirun and --repeat");
}

static void checkGradients(const Flags &flags) {
  if (flags.gradients.empty() && !flags.writtenGradients.empty())
    throw UsageError("--gradient goes with --gradients=DIR");
  if (!flags.gradients.empty() &&
      (flags.systems || flags.samples || flags.repeat > 1 || flags.generate ||
       !flags.until.empty() || !flags.breaks.empty()))
    throw UsageError("--gradients is of one whole call on one wafer; leave out "
                     "--num-systems, mpirun, --samples, --repeat, --generate, "
                     "--until and --break");
  if (!flags.gradients.empty() && !flags.outputArchive.empty())
    throw UsageError("--outputs keeps all outputs, and --gradients lets those "
                     "that are gradients go; name others with --output");
}

/// Takes the file out of those of that name, if it is there.
static std::string takeFile(NamedFiles &files, const std::string &name) {
  std::string path;
  for (auto at = files.begin(); at != files.end() && path.empty(); ++at)
    if (at->first == name) {
      path = at->second;
      files.erase(at);
      break;
    }
  return path;
}

static std::vector<int64_t> endTokens(const Words &words) {
  std::vector<int64_t> ids;
  for (const std::string &given : words.values)
    if (!absl::SimpleAtoi(given, &ids.emplace_back()))
      throw UsageError(
          absl::StrCat("--end-id wants a whole number, found '", given, "'"));
  return ids;
}

/// One session, whose entries the loop chooses.
static void readGeneration(Flags &flags) {
  flags.generate = absl::GetFlag(FLAGS_generate);
  flags.sampling = {
      absl::GetFlag(FLAGS_temperature).value, absl::GetFlag(FLAGS_top_k).value,
      absl::GetFlag(FLAGS_top_p).value, absl::GetFlag(FLAGS_seed)};
  flags.endTokens = endTokens(absl::GetFlag(FLAGS_end_id));
  flags.mostTokens = absl::GetFlag(FLAGS_max_new_tokens).value;
  const bool isChance = flags.sampling.topK || flags.sampling.topP < 1;
  if (!flags.generate) {
    if (flags.mostTokens || !flags.endTokens.empty() || isChance ||
        flags.sampling.temperature > 0 || flags.sampling.seed)
      throw UsageError("--max-new-tokens, --end-id, --temperature, --top-k, "
                       "--top-p and --seed go with --generate");
    return;
  }
  if (isChance && flags.sampling.temperature == 0)
    throw UsageError("--top-k and --top-p choose among tokens by chance; give "
                     "a --temperature above 0, too");
  if (!flags.entry.empty() || flags.systems || flags.samples ||
      flags.repeat > 1 || !flags.trace.empty() || !flags.until.empty() ||
      !flags.counters.empty() || !flags.breaks.empty() || !flags.peeks.empty())
    throw UsageError("--generate makes calls of several entries; leave out "
                     "--entry, --samples, --num-systems, --repeat, --trace, "
                     "--counters, --until, --break and --peek");
  flags.prompt = takeFile(flags.inputs, "input_ids");
  flags.tokens = takeFile(flags.outputs, "tokens");
  if (flags.prompt.empty())
    throw UsageError("--generate goes on with a text; give its tokens, "
                     "--input input_ids=FILE.npy");
  if (!flags.outputs.empty() || !flags.outputArchive.empty() ||
      !flags.references.empty() || !flags.testData.empty())
    throw UsageError("--generate gives tokens, --output tokens=FILE.npy; leave "
                     "out other --output, --outputs, --compare and "
                     "--test-data");
}

static std::string programOf(const std::vector<std::string> &words) {
  if (words.empty())
    throw UsageError("no program is given");
  if (words.size() > 1)
    throw UsageError(absl::StrCat("one program at a time: '", words[0],
                                  "' and '", words[1], "'"));
  return words[0];
}

Flags givenFlags(const std::vector<std::string> &words) {
  Flags flags;
  flags.program = programOf(words);
  flags.inputs = namedFiles("--input", absl::GetFlag(FLAGS_input));
  flags.outputs = namedFiles("--output", absl::GetFlag(FLAGS_output));
  flags.references = namedFiles("--compare", absl::GetFlag(FLAGS_compare));
  flags.inputArchives = absl::GetFlag(FLAGS_inputs).values;
  flags.outputArchive = absl::GetFlag(FLAGS_outputs);
  flags.gradients = absl::GetFlag(FLAGS_gradients);
  flags.writtenGradients = absl::GetFlag(FLAGS_gradient).values;
  flags.testData = absl::GetFlag(FLAGS_test_data);
  flags.entry = absl::GetFlag(FLAGS_entry);
  flags.arguments = namedValues(absl::GetFlag(FLAGS_argument));
  flags.loadState = absl::GetFlag(FLAGS_load_state);
  flags.saveState = absl::GetFlag(FLAGS_save_state);
  flags.report = absl::GetFlag(FLAGS_report);
  flags.trace = absl::GetFlag(FLAGS_trace);
  flags.metric = absl::GetFlag(FLAGS_metric);
  flags.until = absl::GetFlag(FLAGS_until);
  flags.counters = absl::GetFlag(FLAGS_counters).values;
  flags.breaks = absl::GetFlag(FLAGS_break).values;
  flags.peeks = absl::GetFlag(FLAGS_peek).values;
  flags.tolerance = {absl::GetFlag(FLAGS_atol).value,
                     absl::GetFlag(FLAGS_rtol).value};
  flags.engine = absl::GetFlag(FLAGS_engine);
  flags.threads = absl::GetFlag(FLAGS_threads).value;
  flags.repeat = absl::GetFlag(FLAGS_repeat).value;
  flags.systems = absl::GetFlag(FLAGS_num_systems).value;
  flags.samples = absl::GetFlag(FLAGS_samples).value;
  flags.mpi = runtime::mpiLaunch();
  if (flags.systems && flags.systems < flags.mpi.size)
    throw UsageError(absl::StrCat("--num-systems=", flags.systems, " for ",
                                  flags.mpi.size,
                                  " processes of mpirun, which take one or "
                                  "more each"));
  if (!flags.systems)
    flags.systems = flags.mpi.size;
  flags.quiet = absl::GetFlag(FLAGS_quiet);
  flags.weightFolders = absl::GetFlag(FLAGS_weights).values;
  for (const std::string &folder : flags.weightFolders)
    if (std::error_code none; !std::filesystem::is_directory(folder, none))
      throw UsageError(absl::StrCat("--weights=", folder, " is not a folder"));
  flags.parameters = absl::GetFlag(FLAGS_parameters);
  if (!flags.parameters.empty() && (flags.mpi.size || flags.samples))
    throw UsageError("--parameters goes with one process, and not with "
                     "--samples");
  checkLooking(flags);
  checkSamples(flags);
  readGeneration(flags);
  checkGradients(flags);
  return flags;
}

} // namespace wsec::run
