// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/flags/CommandLine.h"

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/program/NearestNames.h"
#include "tools/flags/Version.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

ABSL_FLAG(bool, help, false, "print this");
ABSL_FLAG(bool, version, false, "print the version");

namespace wsec::tools {

/// Between words: what no word of a command line contains.
static constexpr char separator = '\0';

bool AbslParseFlag(absl::string_view text, Words *words, std::string *) {
  words->values = absl::StrSplit(text, separator, absl::SkipEmpty());
  return true;
}

std::string AbslUnparseFlag(const Words &words) {
  return absl::StrJoin(words.values, absl::string_view(&separator, 1));
}

/// -o, --output
static std::string shown(absl::string_view name) {
  return absl::StrCat(name.size() == 1 ? "-" : "--",
                      absl::StrReplaceAll(name, {{"_", "-"}}));
}

/// The flag of a --help; it is there.
static absl::CommandLineFlag &flagNamed(absl::string_view name) {
  return *absl::FindCommandLineFlag(absl::StrReplaceAll(name, {{"-", "_"}}));
}

/// A tool takes the flags of its --help, whatever else the program has.
static absl::CommandLineFlag &findFlag(const Tool &tool,
                                       const std::string &word) {
  const absl::string_view name =
      absl::StripPrefix(absl::StripPrefix(word, "-"), "-");
  std::vector<std::string> names;
  for (const FlagGroup &group : tool.groups)
    for (const std::string &known : group.flags) {
      absl::CommandLineFlag &flag = flagNamed(known);
      if (flag.Name() == absl::StrReplaceAll(name, {{"-", "_"}}))
        return flag;
      names.push_back(shown(known));
    }
  throw UsageError("there is no flag " + word +
                   runtime::nearestNames(word, names));
}

static void setFlag(absl::CommandLineFlag &flag, std::string value) {
  if (flag.IsOfType<Words>())
    value = flag.CurrentValue() + separator + value;
  std::string error;
  if (flag.ParseFrom(value, &error))
    return;
  // Of what Abseil says, what the type of the flag has to say.
  absl::string_view detail = error;
  const bool own = absl::ConsumePrefix(
      &detail, absl::StrCat("Illegal value '", value, "' specified for flag '",
                            flag.Name(), "'; "));
  throw UsageError(own ? absl::StrCat(shown(flag.Name()), " ", detail)
                       : absl::StrCat(shown(flag.Name()),
                                      " does not take the value '", value,
                                      "'"));
}

/// Sets flags, --name=value and --name value, -n value where the name is a
/// letter, and returns the other words.
static std::vector<std::string> parse(const Tool &tool, int argc, char **argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool isLetter = word.size() == 2 && word[0] == '-';
    if (!isLetter && !absl::StartsWith(word, "--")) {
      words.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    absl::CommandLineFlag &flag = findFlag(tool, name);
    std::string value;
    if (equals != word.npos)
      value = word.substr(equals + 1);
    else if (flag.IsOfType<bool>())
      value = "true";
    else if (i + 1 < argc)
      value = argv[++i];
    if (value.empty())
      throw UsageError(name + " wants a value");
    setFlag(flag, value);
  }
  return words;
}

static void addHelp(std::string &text, const absl::CommandLineFlag &flag) {
  std::string name = shown(flag.Name()), help = flag.Help();
  if (!flag.IsOfType<bool>()) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(help, absl::MaxSplits("  ", 1));
    absl::StrAppend(&name, " ", parts.first);
    help = parts.second;
    // Some say what they are without.
    if (!flag.DefaultValue().empty() && !absl::StrContains(help, "(default:"))
      absl::StrAppend(&help, " (default: ", flag.DefaultValue(), ")");
  }
  addFlag(text, name, help);
}

static std::string helpText(const Tool &tool) {
  std::string text = tool.usage;
  for (const FlagGroup &group : tool.groups) {
    absl::StrAppend(&text, "\n", group.heading, "\n");
    for (const std::string &name : group.flags)
      addHelp(text, flagNamed(name));
  }
  return absl::StrCat(text, "\n", tool.exitCodes);
}

static int runParsed(const Tool &tool, int argc, char **argv) {
  const std::vector<std::string> words = parse(tool, argc, argv);
  if (absl::GetFlag(FLAGS_help))
    std::fputs(helpText(tool).c_str(), stdout);
  else if (absl::GetFlag(FLAGS_version))
    std::printf("%s %s\n", tool.name, versionText());
  else
    return tool.run(words);
  return 0;
}

/// What was printed may only now meet a full disk.
static void finishOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw std::runtime_error(absl::StrCat("cannot write to standard output: ",
                                          std::strerror(errno)));
}

int runTool(const Tool &tool, int argc, char **argv) {
  // A file that grows beyond its limit is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::string message;
  int code = 0;
  try {
    code = runParsed(tool, argc, argv);
    finishOutput();
    return code;
  } catch (const UsageError &error) {
    message = absl::StrCat(error.what(), "; see ", tool.name, " --help");
    code = 2;
  } catch (const Trouble &error) {
    message = error.what();
    code = 2;
  } catch (const std::bad_alloc &) {
    code = 1;
    message = "out of memory";
  } catch (const std::exception &error) {
    code = 1;
    message = error.what();
  }
  std::fprintf(stderr, "%s: error: %s\n", tool.name,
               runtime::printable(message).c_str());
  return code;
}

} // namespace wsec::tools
