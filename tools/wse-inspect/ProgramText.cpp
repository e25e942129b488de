// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/ProgramText.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Lengths.h"
#include "runtime/program/Loader.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/facts/Facts.h"
#include "tools/wse-inspect/MachineText.h"
#include "tools/wse-inspect/text/PeText.h"

#include <filesystem>

namespace wsec::inspect {

namespace fs = std::filesystem;

static std::string plural(uint64_t count, const std::string &noun,
                          const char *ending = "s") {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : ending);
}

static std::vector<std::string> head(const program::ProgramT &program,
                                     uint64_t pes, bool bundled) {
  const program::MachineT &machine = *program.machine;
  size_t launches = 0;
  for (const auto &entry : program.entries)
    launches += entry->launches.size();
  std::vector<std::string> lines = {
      runtime::inQuotes(program.model) + " on " +
          std::to_string(machine.width) + "x" + std::to_string(machine.height) +
          " PEs of " + runtime::inQuotes(machine.name) + ", " +
          plural(pes, "PE") + " with code",
      plural(program.classes.size(), "class", "es") + ", " +
          plural(program.streams.size(), "host stream") + ", " +
          plural(launches, "launch", "es") + "; compiled by " +
          runtime::inQuotes(program.compiler)};
  if (bundled)
    lines.push_back("Its weights are in the file: compile with --bundle, to "
                    "another file.");
  return lines;
}

std::string programText(const std::string &path) {
  const auto loaded = runtime::LoadedProgram::open(path);
  for (const auto *entry : *loaded->program().entries())
    if (const auto *length = runtime::lengthOf(*entry))
      throw runtime::Error(
          runtime::ErrorClass::BadCall,
          "calls of " + runtime::inQuotes(entry->name()->str()) +
              " have a length, which the PE language does not say; compile "
              "for one length, --dim " +
              length->name()->str() + "=N");
  std::unique_ptr<program::ProgramT> program(loaded->program().UnPack());
  runtime::TextOptions options;
  options.machine = machineText(*loaded->program().machine());
  bool bundled = false;
  for (const auto &file : program->files) {
    bundled |= file->path.empty();
    // The bundle is the end of the program's own file.
    if (file->path.empty())
      options.files.push_back({fs::path(path).filename().string(),
                               fs::file_size(path) - loaded->bundleBytes()});
    else
      options.files.push_back({file->path});
  }
  options.head = head(*program, runtime::countPes(loaded->program()), bundled);
  return runtime::peText(*program, options);
}

} // namespace wsec::inspect
