// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_CHECKPOINT_H
#define RUNTIME_MEMORYX_CHECKPOINT_H

#include "runtime/memoryx/ParameterStore.h"

namespace wsec::runtime {

/// All that a ParameterStore needs to go on as if it had never stopped, in a
/// folder of its own:
///
///   step-000000000100/
///     model.safetensors      master weights in f32, by the names of parameters
///     optimizer.safetensors  "optimizer.state.<parameter>.<moment>"
///     checkpoint.json        the rest, and size and digest of each file
///
/// Both come with an index, as several files, where they are large. A folder
/// has its name from the moment on that all of it has reached the disk: a
/// process that is killed, or a machine that loses its power, leaves the last
/// one whole.
class Checkpoint {
public:
  struct SaveOptions {
    uint64_t shardBytes = uint64_t(4) << 30;
    unsigned keep = 0; ///< how many stay in the folder; 0: all
  };
  /// Writes `folder`/step-N and returns its path; one of this name is replaced.
  /// Throws BadCall in the midst of a step, IoError, also when another process
  /// saves there.
  static std::string save(ParameterStore &store, const std::string &folder,
                          SaveOptions options);
  static std::string save(ParameterStore &store, const std::string &folder) {
    return save(store, folder, SaveOptions());
  }

  /// The one of the most steps; nothing if there is none.
  static std::optional<std::string> latest(const std::string &folder);

  /// What checkpoint.json says.
  struct Contents {
    struct Item {
      std::string name;
      bool isTrainable;
    };
    uint64_t step = 0;
    std::string update; ///< name of the rule
    std::optional<LossScale> lossScale;
    std::vector<Item> parameters;
    std::map<std::string, std::vector<uint64_t>> progress;
    std::vector<WrittenFile> files;
  };
  /// Throws IoError, or BadState where `path` is no checkpoint or is damaged.
  static Contents read(const std::string &path);
  /// Compares all files with their digests. Throws as `read`, with the name of
  /// the file.
  static void verify(const std::string &path, const Contents &contents);

  /// Fills a store that has no parameters yet, after `verify`. Throws BadState
  /// also where the checkpoint is of another update rule.
  static void load(ParameterStore &store, const std::string &path);
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_CHECKPOINT_H
