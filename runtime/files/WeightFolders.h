// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_FILES_WEIGHTFOLDERS_H
#define RUNTIME_FILES_WEIGHTFOLDERS_H

#include <optional>
#include <string>
#include <vector>

namespace wsec::runtime {

/// The folders that weight files may lie in. Programs and models name weight
/// files; they come from strangers, who must not be able to read any file, nor
/// to learn whether it exists. So names are relative and do not climb, and what
/// they lead to, links resolved, lies in one of the folders or below.
class WeightFolders {
public:
  WeightFolders() = default;
  explicit WeightFolders(const std::vector<std::string> &folders);

  /// An empty name is the current folder.
  void add(const std::string &folder);
  /// The folder a program or model was named in, and the one it really lies in.
  void addFolderOf(const std::string &file);

  /// What is wrong with the name of a weight file; nothing: it may be used.
  static std::optional<std::string> problemOf(const std::string &name);

  /// The real path of a file, in the first folder that has it; nothing where
  /// there is none, or only a link out of all folders.
  std::optional<std::string> find(const std::string &name) const;
  /// The folder in which it is found.
  std::string folderOf(const std::string &name) const;

  std::vector<std::string> names() const;
  /// "'a', 'b'".
  std::string describe() const;

private:
  struct Folder {
    std::string name, real;
  };
  const Folder *search(const std::string &name, std::string &path) const;

  std::vector<Folder> folders;
};

} // namespace wsec::runtime

#endif // RUNTIME_FILES_WEIGHTFOLDERS_H
