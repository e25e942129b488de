// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/ConfigFile.h"

#include "absl/strings/str_cat.h"
#include "runtime/files/InputFile.h"
#include "runtime/files/MappedFile.h"
#include "runtime/program/NearestNames.h"

#include <functional>
#include <stdexcept>
#include <yaml-cpp/yaml.h>

namespace wsec::tools {

namespace {
class ConfigReader {
public:
  explicit ConfigReader(std::string path) : path(std::move(path)) {}
  Config read();

private:
  /// What to do with the value of each key that a section may have.
  using Keys =
      std::vector<std::pair<std::string, std::function<void(YAML::Node)>>>;
  std::runtime_error wrong(const YAML::Node &node,
                           const std::string &what) const;
  void section(const YAML::Node &node, const Keys &keys) const;
  template <class Number>
  std::function<void(YAML::Node)> into(Number &target) const;
  void readModel(const YAML::Node &node);
  void readCluster(const YAML::Node &node);
  void readTraining(const YAML::Node &node);
  std::function<void(YAML::Node)> intoFlag(const char *flag);
  void readSparsity(const YAML::Node &node);

  std::string path;
  Config config;
};
} // namespace

std::runtime_error ConfigReader::wrong(const YAML::Node &node,
                                       const std::string &what) const {
  return std::runtime_error(absl::StrCat(path, ":", node.Mark().line + 1, ":",
                                         node.Mark().column + 1, ": ", what));
}

void ConfigReader::section(const YAML::Node &node, const Keys &keys) const {
  if (!node.IsMap())
    throw wrong(node, "expected keys and values");
  std::vector<std::string> names;
  for (const auto &[name, set] : keys)
    names.push_back(name);
  for (const auto &entry : node) {
    if (!entry.first.IsScalar())
      throw wrong(entry.first, "expected the name of a key");
    const std::string &name = entry.first.Scalar();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw wrong(entry.first,
                  absl::StrCat("there is no key ", runtime::inQuotes(name),
                               " here", runtime::nearestNames(name, names)));
    keys[size_t(found - names.begin())].second(entry.second);
  }
}

template <class Number>
std::function<void(YAML::Node)> ConfigReader::into(Number &target) const {
  return [this, &target](const YAML::Node &node) {
    if (!node.IsScalar() || !YAML::convert<Number>::decode(node, target) ||
        !(target > 0))
      throw wrong(node, std::is_integral_v<Number>
                            ? "expected a positive integer"
                            : "expected a positive number");
  };
}

/// The preset first, wherever it stands; then what differs from it.
void ConfigReader::readModel(const YAML::Node &node) {
  if (node.IsScalar()) {
    config.modelFile = node.Scalar();
    return;
  }
  if (!node.IsMap() || !node["preset"] || !node["preset"].IsScalar())
    throw wrong(node, "a model has a preset, which its other keys change");
  try {
    config.model = presets::presetNamed(node["preset"].Scalar());
  } catch (const std::runtime_error &error) {
    throw wrong(node["preset"], error.what());
  }
  presets::ModelShape &shape = *config.model;
  const presets::ModelShape given = shape;
  section(node, {{"preset", [](const YAML::Node &) {}},
                 {"name",
                  [&](const YAML::Node &name) {
                    shape.name = name.as<std::string>();
                  }},
                 {"layers", into(shape.layers)},
                 {"width", into(shape.width)},
                 {"heads", into(shape.heads)},
                 {"kv_heads", into(shape.keyValueHeads)},
                 {"head_size", into(shape.headSize)},
                 {"feed_forward", into(shape.feedForward)},
                 {"vocabulary", into(shape.vocabulary)},
                 {"experts", into(shape.experts)},
                 {"experts_per_token", into(shape.expertsPerToken)},
                 {"rotary_features", into(shape.rotaryFeatures)},
                 {"rotary_base", into(shape.rotaryBase)},
                 {"norm_epsilon", into(shape.normEpsilon)},
                 {"positions", into(shape.sequence)},
                 {"tied_head", [&](const YAML::Node &tied) {
                    if (!tied.IsScalar() ||
                        !YAML::convert<bool>::decode(tied, shape.tiedHead))
                      throw wrong(tied, "expected true or false");
                  }}});
  presets::followChanges(shape, given);
  if (const auto problem = presets::check(shape))
    throw wrong(node, *problem);
}

void ConfigReader::readCluster(const YAML::Node &node) {
  estimate::Cluster &cluster = config.cluster;
  section(node,
          {{"num_systems", into(config.systems)},
           {"peak_flops", into(cluster.peakFlops)},
           {"link_bytes_per_second", into(cluster.linkBytesPerSecond)},
           {"activation_bytes", into(cluster.activationBytes)},
           {"store_bytes_per_second", into(cluster.storeBytesPerSecond)},
           {"hop_seconds", into(cluster.hopSeconds)},
           {"system_watts", into(cluster.systemWatts)},
           {"dollars_per_system_hour", into(cluster.dollarsPerSystemHour)},
           {"dollars_per_kilowatt_hour", into(cluster.dollarsPerKilowattHour)},
           {"input_tokens_per_second", into(cluster.inputTokensPerSecond)}});
}

/// A flag that may be repeated has a list.
void ConfigReader::readTraining(const YAML::Node &node) {
  if (!node.IsMap())
    throw wrong(node, "expected keys and values");
  for (const auto &entry : node) {
    const std::string &key = entry.first.Scalar();
    const YAML::Node &value = entry.second;
    const bool repeats = key == "train" || key == "freeze" ||
                         key == "no_decay" || key == "tokens" ||
                         key == "eval_tokens" || key == "sparsity_filter";
    if (value.IsScalar()) {
      config.training.emplace_back(key, value.Scalar());
      continue;
    }
    if (!value.IsSequence())
      throw wrong(value, "expected a value, or a list");
    std::string list;
    for (const YAML::Node &item : value) {
      if (!item.IsScalar())
        throw wrong(item, "expected a value");
      if (repeats)
        config.training.emplace_back(key, item.Scalar());
      list += (list.empty() ? "" : ",") + item.Scalar();
    }
    if (!repeats)
      config.training.emplace_back(key, list);
  }
}

/// One value, or several of a flag that may be repeated.
std::function<void(YAML::Node)> ConfigReader::intoFlag(const char *flag) {
  return [this, flag](const YAML::Node &node) {
    for (const YAML::Node &item :
         node.IsSequence() ? std::vector<YAML::Node>(node.begin(), node.end())
                           : std::vector<YAML::Node>{node}) {
      if (!item.IsScalar())
        throw wrong(item, "expected a value");
      config.training.emplace_back(flag, item.Scalar());
    }
  };
}

/// The words that others have for flags of `wsec train`.
void ConfigReader::readSparsity(const YAML::Node &node) {
  section(node, {{"algorithm", intoFlag("sparsity_algorithm")},
                 {"sparsity", intoFlag("sparsity")},
                 {"initial", intoFlag("sparsity_initial")},
                 {"init_method", intoFlag("sparsity_method")},
                 {"param_filter", intoFlag("sparsity_filter")},
                 {"update",
                  [this](const YAML::Node &update) {
                    section(update, {{"freq", intoFlag("sparsity_every")},
                                     {"stop", intoFlag("sparsity_stop")}});
                  }},
                 {"drop_fraction", [this](const YAML::Node &drop) {
                    section(drop, {{"type",
                                    [this](const YAML::Node &type) {
                                      if (!type.IsScalar() ||
                                          type.Scalar() != "cosine")
                                        throw wrong(type, "expected cosine");
                                    }},
                                   {"init", intoFlag("drop_fraction")}});
                  }}});
}

Config ConfigReader::read() {
  const auto file = runtime::MappedFile::open(path);
  // The parser calls itself at each bracket.
  constexpr size_t most = 1 << 16;
  if (file->size() > most)
    throw std::runtime_error(path + ": larger than any configuration");
  const std::string text(reinterpret_cast<const char *>(file->data()),
                         file->size());
  try {
    section(
        YAML::Load(text),
        {{"model", [this](const YAML::Node &node) { readModel(node); }},
         {"cluster", [this](const YAML::Node &node) { readCluster(node); }},
         {"training", [this](const YAML::Node &node) { readTraining(node); }},
         {"sparsity", [this](const YAML::Node &node) { readSparsity(node); }},
         {"batch_size", into(config.batch)},
         {"sequence", into(config.sequence)}});
  } catch (const YAML::Exception &error) {
    throw std::runtime_error(absl::StrCat(path, ":", error.mark.line + 1, ":",
                                          error.mark.column + 1, ": ",
                                          error.msg));
  }
  return config;
}

Config readConfig(const std::string &path) { return ConfigReader(path).read(); }

} // namespace wsec::tools
