// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/WeightFolders.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <filesystem>

namespace wsec::runtime {

namespace fs = std::filesystem;

WeightFolders::WeightFolders(const std::vector<std::string> &names) {
  for (const std::string &name : names)
    add(name);
}

void WeightFolders::add(const std::string &folder) {
  std::error_code none;
  const std::string name = folder.empty() ? "." : folder;
  const std::string real = fs::canonical(name, none).string();
  const bool known =
      std::any_of(folders.begin(), folders.end(),
                  [&](const Folder &each) { return each.real == real; });
  if (!none && !known)
    folders.push_back({name, real});
}

void WeightFolders::addFolderOf(const std::string &file) {
  add(fs::path(file).parent_path().string());
  std::error_code none;
  const fs::path real = fs::canonical(file, none);
  if (!none)
    add(real.parent_path().string());
}

std::optional<std::string> WeightFolders::problemOf(const std::string &name) {
  const fs::path path(name);
  if (name.find('\0') != name.npos || !path.has_filename())
    return "is no file name";
  if (path.is_absolute() ||
      std::find(path.begin(), path.end(), "..") != path.end())
    return "leads out of the folder of the weights; weight files have relative "
           "names without '..', and --weights=DIR names their folder";
  return std::nullopt;
}

const WeightFolders::Folder *WeightFolders::search(const std::string &name,
                                                   std::string &path) const {
  if (problemOf(name))
    return nullptr;
  for (const Folder &folder : folders) {
    std::error_code none;
    const fs::path real = fs::canonical(fs::path(folder.real) / name, none);
    if (none)
      continue;
    for (const Folder &home : folders) {
      const fs::path inside = real.lexically_relative(home.real);
      if (inside.empty() || *inside.begin() == ".." || inside == ".")
        continue;
      path = real.string();
      return &folder;
    }
  }
  return nullptr;
}

std::optional<std::string> WeightFolders::find(const std::string &name) const {
  std::string path;
  if (search(name, path))
    return path;
  return std::nullopt;
}

std::string WeightFolders::folderOf(const std::string &name) const {
  std::string path;
  const Folder *folder = search(name, path);
  return folder ? folder->name : "";
}

std::vector<std::string> WeightFolders::names() const {
  std::vector<std::string> names;
  for (const Folder &folder : folders)
    names.push_back(folder.name);
  return names;
}

std::string WeightFolders::describe() const {
  std::string text;
  for (const std::string &name : names())
    text += (text.empty() ? "" : ", ") + inQuotes(name);
  return text;
}

} // namespace wsec::runtime
