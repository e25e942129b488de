// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/emit/WeightFiles.h"
#include "runtime/program/Digest.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

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
  /// A file that weights come from.
  struct Source {
    std::string path;
    uint64_t size = 0;
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

// Where the program finds the file, seen from its own folder. Paths without a
// common folder stay absolute.
static std::string pathFromOutput(const std::string &path,
                                  const std::string &outputPath) {
  std::error_code error;
  auto file = std::filesystem::weakly_canonical(path, error);
  if (error)
    return path;
  auto output = std::filesystem::absolute(outputPath, error);
  auto folder = std::filesystem::weakly_canonical(output.parent_path(), error);
  auto relative = file.lexically_relative(folder);
  return relative.empty() ? file.string() : relative.string();
}

FailureOr<WeightPlacer::Source *> WeightPlacer::open(pe::TensorOp op) {
  StringRef name = op.getSource()->getPath();
  auto [entry, isNew] = sources.try_emplace(name);
  Source &source = entry->second;
  if (!isNew)
    return &source;
  SmallString<128> path(name);
  if (!options.weightFolder.empty())
    llvm::sys::path::make_absolute(options.weightFolder, path);
  source.path = path.str().str();
  llvm::sys::fs::file_status status;
  std::error_code error = llvm::sys::fs::status(source.path, status);
  if (!error && status.type() == llvm::sys::fs::file_type::directory_file)
    error = std::make_error_code(std::errc::is_a_directory);
  if (!error && llvm::sys::fs::equivalent(source.path, options.outputPath))
    return op.emitOpError("weights: '")
           << source.path
           << "' would be overwritten by the program; write it to another file";
  if (!error) {
    source.size = status.getSize();
    return &source;
  }
  if (!options.allowAbsentWeights)
    return op.emitOpError("weights: cannot read '")
           << source.path << "': " << error.message();
  source.absent = true;
  return &source;
}

// Absent files get a digest of 0, which no runtime accepts.
void WeightPlacer::refer(Source &source, uint64_t end) {
  if (source.number < 0) {
    source.number = program.files.size();
    auto &file =
        *program.files.emplace_back(std::make_unique<program::FileT>());
    file.path = pathFromOutput(source.path, options.outputPath);
    file.size = source.size;
    if (!source.absent)
      if (auto bytes = llvm::MemoryBuffer::getFile(
              source.path, /*IsText=*/false, /*RequiresNullTerminator=*/false))
        file.digest = runtime::fileDigest((*bytes)->getBufferStart(),
                                          (*bytes)->getBufferSize());
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
             << (*source)->path << "', which is absent";
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
