// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/flags/LlvmCommandLine.h"

#include "runtime/program/NearestNames.h"
#include "tools/flags/Version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using llvm::StringRef;
namespace cl = llvm::cl;

namespace wsec::tools {

/// -o, --output
static std::string shown(StringRef name) {
  return (name.size() == 1 ? "-" : "--") + name.str();
}

static std::string printVersion(const LlvmTool &tool) {
  return std::string(tool.name) + " " + versionText() + "\n";
}

/// Whether what libLLVM brings along registered it: its targets, and cl itself.
static bool isOfLLVM(const cl::OptionCategory *category) {
  return category == &cl::getGeneralCategory() ||
         category->getName() == "Color Options" ||
         category->getName() == "Generic Options";
}

/// Those that no group names, sorted.
static std::vector<std::string> othersThan(const LlvmTool &tool) {
  std::vector<std::string> others;
  for (const auto &[name, option] : cl::getRegisteredOptions()) {
    auto names = [&name = name](const FlagGroup &group) {
      return llvm::is_contained(group.flags, name);
    };
    if (!name.empty() && option->getOptionHiddenFlag() == cl::NotHidden &&
        llvm::none_of(option->Categories, isOfLLVM) &&
        llvm::none_of(tool.groups, names))
      others.push_back(name.str());
  }
  llvm::sort(others);
  return others;
}

/// The flags of a --help under their headings.
static void printGroups(const LlvmTool &tool) {
  const auto &options = cl::getRegisteredOptions();
  std::vector<FlagGroup> groups = tool.groups;
  if (std::vector<std::string> others = othersThan(tool); !others.empty())
    groups.push_back({"more", std::move(others)});
  for (const FlagGroup &group : groups) {
    std::string text = std::string("\n") + group.heading + "\n";
    for (const std::string &name : group.flags) {
      // LLVM has its own of these two.
      if (name == "help" || name == "version") {
        addFlag(text, shown(name),
                name == "help" ? "print this" : "print the version");
        continue;
      }
      const cl::Option &option = *options.lookup(name);
      const std::string value =
          option.ValueStr.empty() ? "" : " " + option.ValueStr.str();
      addFlag(text, shown(name) + value, option.HelpStr.str());
    }
    llvm::outs() << text;
  }
}

/// As LLVM writes them, which knows the choices of each, by category.
static void printAll() {
  std::map<std::string, std::map<std::string, cl::Option *>> categories;
  size_t width = 0;
  for (const auto &[name, option] : cl::getRegisteredOptions()) {
    if (option->getOptionHiddenFlag() != cl::NotHidden)
      continue;
    categories[option->Categories.front()->getName().str()][name.str()] =
        option;
    width = std::max(width, option->getOptionWidth());
  }
  for (const auto &[category, options] : categories) {
    llvm::outs() << "\n" << category << "\n";
    for (const auto &[name, option] : options)
      option->printOptionInfo(width);
  }
}

int usageError(StringRef tool, const std::string &what) {
  llvm::errs() << "error: " << runtime::printable(what) << "; see " << tool
               << " --help\n";
  return 2;
}

/// What LLVM says of a command line: of an unknown flag as the other tools do.
static int refuse(const LlvmTool &tool, StringRef said) {
  // Of a value that does not parse LLVM has told standard error which it is.
  if (said.trim().empty())
    return usageError(tool.name, "a flag has a value that it does not take");
  said.consume_front((StringRef(tool.name) + ": ").str());
  StringRef word = said;
  if (!word.consume_front("Unknown command line argument '"))
    return usageError(tool.name, said.split('\n').first.rtrim(" .!").str());
  word = word.take_until([](char c) { return c == '\'' || c == '='; });
  std::vector<std::string> names;
  for (const auto &[name, option] : cl::getRegisteredOptions())
    if (tool.groups.empty() && !name.empty() &&
        option->getOptionHiddenFlag() == cl::NotHidden)
      names.push_back(shown(name));
  llvm::sort(names);
  for (const FlagGroup &group : tool.groups)
    for (const std::string &name : group.flags)
      names.push_back(shown(name));
  return usageError(tool.name, "there is no flag " + word.str() +
                                   runtime::nearestNames(word.str(), names));
}

std::optional<int> readFlags(const LlvmTool &tool, int argc, char **argv) {
  for (StringRef word : llvm::ArrayRef(argv + 1, argc - 1)) {
    if (word == "--")
      break;
    if (word == "--version") {
      llvm::outs() << printVersion(tool);
      return 0;
    }
    if (word != "--help" && word != "-help" && word != "-h")
      continue;
    llvm::outs() << tool.usage;
    tool.groups.empty() ? printAll() : printGroups(tool);
    llvm::outs() << "\n" << tool.exitCodes;
    return 0;
  }
  std::string said;
  llvm::raw_string_ostream wrong(said);
  if (cl::ParseCommandLineOptions(argc, argv, tool.usage, &wrong))
    return std::nullopt;
  return refuse(tool, said);
}

} // namespace wsec::tools
