// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/Flags.h"

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
  --engine=burst         the engine: burst moves whole streams; wavelet steps
                         every router and PE, for small meshes
  --threads=N            worker threads (default: one per core); changes
                         neither values nor cycles
  --repeat=N             run N times in one session and report the shortest
                         run, and the first: that one is recorded, the others
                         execute the same operations on the inputs anew
                         (default 1)
  --report=FILE.json     write what the report prints
  --quiet                print nothing but errors

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

Flags parseFlags(int argc, char **argv) {
  Flags flags;
  std::map<std::string, bool *> switches = {{"--quiet", &flags.quiet},
                                            {"--help", &flags.help},
                                            {"--version", &flags.version}};
  using Setter = std::function<void(const std::string &)>;
  auto file = [](NamedFiles &files, const char *flag) -> Setter {
    return [&files, flag](const std::string &value) {
      files.push_back(namedFile(flag, value));
    };
  };
  auto word = [](std::string &target) -> Setter {
    return [&target](const std::string &value) { target = value; };
  };
  std::map<std::string, Setter> values = {
      {"--input", file(flags.inputs, "--input")},
      {"--output", file(flags.outputs, "--output")},
      {"--compare", file(flags.references, "--compare")},
      {"--inputs",
       [&](const std::string &value) { flags.inputArchives.push_back(value); }},
      {"--outputs", word(flags.outputArchive)},
      {"--test-data", word(flags.testData)},
      {"--report", word(flags.report)},
      {"--engine", word(flags.engine)},
      {"--atol",
       [&](const std::string &value) {
         flags.tolerance.absolute = tolerance("--atol", value);
       }},
      {"--rtol",
       [&](const std::string &value) {
         flags.tolerance.relative = tolerance("--rtol", value);
       }},
      {"--threads",
       [&](const std::string &value) {
         flags.threads = count("--threads", value, 1024);
       }},
      {"--repeat", [&](const std::string &value) {
         flags.repeat = count("--repeat", value, 1000000);
       }}};

  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (!argument.starts_with("--")) {
      if (!flags.program.empty())
        throw UsageError("one program at a time: '" + flags.program +
                         "' and '" + argument + "'");
      flags.program = argument;
      continue;
    }
    if (auto known = switches.find(argument); known != switches.end()) {
      *known->second = true;
      continue;
    }
    // --flag=value, or --flag value.
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    auto known = values.find(name);
    if (known == values.end())
      throw UsageError("there is no flag " + name);
    if (equals == argument.npos && i + 1 == argc)
      throw UsageError(name + " wants a value");
    std::string value =
        equals == argument.npos ? argv[++i] : argument.substr(equals + 1);
    if (value.empty())
      throw UsageError(name + " wants a value");
    known->second(value);
  }
  if (flags.help || flags.version)
    return flags;
  if (flags.program.empty())
    throw UsageError("no program is given");
  if (flags.engine != "burst" && flags.engine != "wavelet")
    throw UsageError("--engine wants burst or wavelet, found '" + flags.engine +
                     "'");
  return flags;
}

} // namespace wsec::run
