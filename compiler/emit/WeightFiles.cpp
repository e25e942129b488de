// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/emit/WeightFiles.h"
#include "compiler/emit/CheckEmitted.h"

#include "runtime/files/ProceduralFile.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"

#include <filesystem>
#include <map>
#include <tuple>

using namespace mlir;

namespace wsec::emit {

/// Weights in a bundle start at multiples of this.
static constexpr uint64_t kPieceAlignment = 64;

namespace {
class WeightPlacer {
public:
  WeightPlacer(const EmitOptions &options, program::ProgramT &program)
      : options(options), program(program) {}

  LogicalResult place(pe::TensorOp op, program::TensorT &tensor);
  WeightPlan takePlan() { return std::move(plan); }

private:
  /// A file that weights come from. Where weights may be absent, none is read:
  /// the digest is 0, which no runtime accepts.
  struct Source {
    std::string name, path;
    uint64_t size = 0, digest = 0;
    /// Not there, or computed: as long as what is asked of it.
    bool absent = false;
    int32_t number = -1; // in program.files, unless bundled
  };
  FailureOr<Source *> open(pe::TensorOp op);
  void refer(Source &source, uint64_t end);
  void bundle(const Source &source, uint64_t offset, program::TensorT &tensor);

  const EmitOptions &options;
  program::ProgramT &program;
  llvm::StringMap<Source> sources; // looked up only, never iterated
  std::map<std::tuple<std::string, uint64_t, uint64_t>, uint64_t> bundled;
  WeightPlan plan;
};
} // namespace

// The name by which a run finds a file: below the program's folder, or in a
// folder that the run names.
static std::string nameFromOutput(const std::string &path,
                                  const std::string &name,
                                  const std::string &outputPath) {
  std::error_code error;
  auto output = std::filesystem::absolute(outputPath, error);
  auto folder = std::filesystem::weakly_canonical(output.parent_path(), error);
  std::string below =
      std::filesystem::path(path).lexically_relative(folder).string();
  return runtime::WeightFolders::problemOf(below) ? name : below;
}

FailureOr<WeightPlacer::Source *> WeightPlacer::open(pe::TensorOp op) {
  StringRef name = op.getSource()->getPath();
  auto [entry, isNew] = sources.try_emplace(name);
  Source &source = entry->second;
  if (!isNew)
    return &source;
  source.name = name.str();
  if (runtime::ProceduralFile::isNamedBy(source.name)) {
    auto file = runtime::ProceduralFile::parse(source.name);
    if (!file)
      return op.emitOpError("weights: '") << name << "' is malformed; expected "
                                          << "procedural:seed=N,range=X,mean=X";
    source.absent = true;
    source.digest = file->digest();
    return &source;
  }
  if (auto problem = runtime::WeightFolders::problemOf(source.name))
    return op.emitOpError("weights: '") << name << "' " << *problem;
  std::optional<std::string> path = options.weightFolders.find(source.name);
  if (!path && !options.allowAbsentWeights)
    return op.emitOpError("weights: there is no '")
           << name << "' in " << options.weightFolders.describe()
           << "; name the folder that has it with --weights=DIR";
  source.absent = !path;
  if (source.absent)
    return &source;
  source.path = *path;
  if (llvm::sys::fs::equivalent(source.path, options.outputPath))
    return op.emitOpError("weights: '")
           << source.name
           << "' would be overwritten by the program; write it to another file";
  FileFacts facts = readFileFacts(source.path, !options.bundle &&
                                                   !options.allowAbsentWeights);
  if (!facts.problem.empty())
    return op.emitOpError("weights: ") << facts.problem;
  source.size = facts.size;
  source.digest = facts.digest;
  return &source;
}

void WeightPlacer::refer(Source &source, uint64_t end) {
  if (source.number < 0) {
    source.number = program.files.size();
    auto &file =
        *program.files.emplace_back(std::make_unique<program::FileT>());
    file.path = source.absent ? source.name
                              : nameFromOutput(source.path, source.name,
                                               options.outputPath);
    file.size = source.size;
    file.digest = source.digest;
  }
  uint64_t &size = program.files[source.number]->size;
  if (source.absent)
    size = std::max(size, end);
}

void WeightPlacer::bundle(const Source &source, uint64_t offset,
                          program::TensorT &tensor) {
  uint64_t target = llvm::alignTo(plan.bundleBytes, kPieceAlignment);
  auto [entry, isNew] =
      bundled.try_emplace({source.path, offset, tensor.bytes}, target);
  tensor.file = 0;
  tensor.offset = entry->second;
  if (!isNew)
    return;
  plan.pieces.push_back({source.path, offset, tensor.bytes, target});
  plan.bundleBytes = target + tensor.bytes;
}

LogicalResult WeightPlacer::place(pe::TensorOp op, program::TensorT &tensor) {
  FailureOr<Source *> source = open(op);
  if (failed(source))
    return failure();
  uint64_t offset = op.getSource()->getOffset();
  uint64_t size = (*source)->size;
  if (!(*source)->absent && (offset > size || tensor.bytes > size - offset))
    return op.emitOpError("weights: bytes ")
           << offset << " to " << offset + tensor.bytes << " of '"
           << (*source)->path << "', which has only " << size;
  if (options.bundle) {
    if ((*source)->absent)
      return op.emitOpError("weights: cannot bundle '")
             << (*source)->name << "', which is "
             << ((*source)->digest ? "computed and needs no file" : "absent");
    bundle(**source, offset, tensor);
    return success();
  }
  refer(**source, offset + tensor.bytes);
  tensor.file = (*source)->number;
  tensor.offset = offset;
  return success();
}

FailureOr<WeightPlan> placeWeights(pe::ProgramOp op, const EmitOptions &options,
                                   program::ProgramT &program) {
  WeightPlacer placer(options, program);
  for (auto [tensorOp, tensor] :
       llvm::zip_equal(op.getOps<pe::TensorOp>(), program.tensors))
    if (tensorOp.getSource() && failed(placer.place(tensorOp, *tensor)))
      return failure();
  WeightPlan plan = placer.takePlan();
  if (!plan.pieces.empty()) {
    auto &file =
        *program.files.emplace_back(std::make_unique<program::FileT>());
    file.size = plan.bundleBytes;
  }
  return plan;
}

} // namespace wsec::emit
