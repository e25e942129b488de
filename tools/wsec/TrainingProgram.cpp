// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/TrainingProgram.h"
#include "runtime/files/Digest.h"
#include "runtime/files/MappedFile.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace fs = std::filesystem;

namespace wsec::tools {

std::string digestOfFile(const std::string &path) {
  return absl::StrFormat("%016x",
                         runtime::digestOf(*runtime::MappedFile::open(path)));
}

std::string TrainingProgram::adapters() const {
  return lora.empty() ? "" : absl::StrCat("\n", lora, "\n", seed);
}

std::string TrainingProgram::sums() const {
  return precisionLevel == 0 ? "" : absl::StrCat(" ", precisionLevel);
}

std::string TrainingProgram::sparse() const {
  return sparsity == 0 ? ""
                       : absl::StrCat("\n", sparsity, "\n", seed, "\n",
                                      absl::StrJoin(sparsityFilter, "\t"));
}

std::string TrainingProgram::digest() const {
  // A file's name is in the program; of absent ones it is all there is.
  std::string text = absl::StrCat(fs::absolute(model).string(), "\n",
                                  digestOfFile(model), "\n");
  for (const std::string &file : weightFiles)
    absl::StrAppend(&text, file, " ",
                    allowsAbsentWeights ? "" : digestOfFile(file), "\n");
  for (const auto &[name, shape] : shapes)
    absl::StrAppend(&text, name, "=", absl::StrJoin(shape, "x"), "\n");
  absl::StrAppend(&text, machine, "\n", mesh, "\n", precision, sums(), "\n",
                  loss, "\n", logits, "\n", targets, "\n", reduction, "\n",
                  labelSmoothing, "\n", absl::StrJoin(train, "\t"), "\n",
                  absl::StrJoin(freeze, "\t"), "\n", adapters(), sparse(), "\n",
                  plan, "\n", digestOfFile("/proc/self/exe"));
  if (!machine.empty() && fs::exists(machine))
    absl::StrAppend(&text, "\n", digestOfFile(machine));
  return absl::StrFormat("%016x", runtime::digestOf(text.data(), text.size()));
}

uint64_t TrainingProgram::modelDigest() const {
  std::string text = digestOfFile(model);
  for (const std::string &file : weightFiles)
    absl::StrAppend(&text, "\n", digestOfFile(file));
  absl::StrAppend(&text, "\n", precision, sums(), "\n", loss, "\n", logits,
                  "\n", labelSmoothing, "\n", absl::StrJoin(train, "\t"), "\n",
                  absl::StrJoin(freeze, "\t"), adapters(), sparse(),
                  sparsityRule);
  return runtime::digestOf(text.data(), text.size());
}

std::string programCache() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (cache && *cache == '/')
    return std::string(cache) + "/wsec/programs";
  if (home && *home == '/')
    return std::string(home) + "/.cache/wsec/programs";
  throw std::runtime_error("there is neither $XDG_CACHE_HOME nor $HOME to keep "
                           "programs in; name a folder with --cache");
}

/// What takes less of a PE than a program that has no room.
static std::string lessToCompile(const TrainingProgram &training) {
  if (training.shapes.empty())
    return "";
  const std::vector<int64_t> &shape = training.shapes[0].second;
  if (const int64_t samples = shape.empty() ? 1 : shape[0]; samples > 1)
    return absl::StrCat(" with ", samples,
                        " samples a call; fewer, --micro-batch=1, take less "
                        "SRAM and fewer kernels, "
                        "and a step gives the same sums");
  if (training.takesTokens && shape.back() > 1)
    return absl::StrCat(" with ", shape.back(),
                        " tokens a call; fewer, as --sequence=",
                        shape.back() / 2, ", take less SRAM and code");
  return "";
}

/// Whether there is no room, if that is asked for.
static CachedProgram findOrCompile(const TrainingProgram &training,
                                   const std::string &folder, bool isQuiet,
                                   bool *hasNoRoom) {
  const std::string stem = folder + "/" + training.digest();
  CachedProgram found{stem + ".wafer", stem + ".json"};
  // Both appear whole; the report first.
  found.wasThere = fs::exists(found.program) && fs::exists(found.report);
  if (found.wasThere)
    return found;
  fs::create_directories(folder);
  bool lacksRoom = false;
  std::string errors;
  if (compileTraining(training, found.program, found.report, isQuiet,
                      &lacksRoom, hasNoRoom ? &errors : nullptr))
    return found;
  if (!hasNoRoom || !lacksRoom) {
    std::fputs(errors.c_str(), stderr);
    throw std::runtime_error("the model does not compile for training" +
                             (lacksRoom ? lessToCompile(training) : ""));
  }
  *hasNoRoom = true;
  return found;
}

CachedProgram findOrCompile(const TrainingProgram &training,
                            const std::string &folder, bool isQuiet) {
  return findOrCompile(training, folder, isQuiet, nullptr);
}

std::optional<double> cyclesOfCall(const TrainingProgram &training,
                                   const std::string &folder) {
  bool hasNoRoom = false;
  const CachedProgram compiled =
      findOrCompile(training, folder, /*isQuiet=*/true, &hasNoRoom);
  if (hasNoRoom)
    return std::nullopt;
  std::ifstream file(compiled.report);
  return nlohmann::json::parse(file)["cycles"]["total"].get<double>();
}

/// A list of its report; empty where that is none.
static nlohmann::json listOf(const CachedProgram &compiled, const char *key) {
  std::ifstream file(compiled.report);
  const auto report = nlohmann::json::parse(file, nullptr, false);
  return report.is_object() ? report.value(key, nlohmann::json::array())
                            : nlohmann::json::array();
}

std::vector<std::string> notesOf(const CachedProgram &compiled) {
  std::vector<std::string> notes;
  for (const auto &note : listOf(compiled, "notes"))
    if (note.is_string())
      notes.push_back(note.get<std::string>());
  return notes;
}

std::map<std::string, std::string>
moduleNamesOf(const CachedProgram &compiled) {
  std::map<std::string, std::string> names;
  for (const auto &its : listOf(compiled, "parameters"))
    if (its.is_object() && its.contains("name") && its.contains("module_name"))
      names[its["name"]] = its["module_name"];
  return names;
}

} // namespace wsec::tools
