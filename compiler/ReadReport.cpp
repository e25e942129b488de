// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Report.h"
#include "runtime/program/Call.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Container.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/facts/Facts.h"
#include "runtime/program/facts/Holdings.h"
#include "runtime/program/facts/Residency.h"
#include "runtime/program/facts/Samples.h"
#include "runtime/program/program_generated.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <climits>
#include <map>

using namespace wsec;
using llvm::StringRef;

/// Names are those of the model, which may hold any bytes; reports are UTF-8.
static std::string text(const flatbuffers::String *string) {
  return string ? llvm::json::fixUTF8(string->str()) : std::string();
}
template <typename T>
static size_t sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

static KernelReport readKernel(const program::Kernel &kernel) {
  KernelReport report;
  report.name = text(kernel.name());
  report.kind = text(kernel.kind());
  report.bound = text(kernel.bound());
  for (size_t i = 0; i < sizeOf(kernel.onnx_nodes()); ++i)
    report.onnxNodes.push_back(text(kernel.onnx_nodes()->Get(i)));
  if (const program::Rect *region = kernel.region())
    report.region = {region->x0(), region->y0(), region->x1(), region->y1()};
  report.cycles = kernel.predicted_cycles();
  report.lowerBoundCycles = kernel.lower_bound_cycles();
  return report;
}

/// The classes whose PEs run each routine.
static std::map<uint32_t, llvm::SmallVector<unsigned, 1>>
classesOfRoutines(const program::Program &program) {
  std::map<uint32_t, llvm::SmallVector<unsigned, 1>> classes;
  for (unsigned i = 0; i < program.classes()->size(); ++i)
    if (const auto *routines = program.classes()->Get(i)->routines())
      for (const program::Routine *routine : *routines)
        classes[routine->id()].push_back(i);
  return classes;
}

/// Tensors of the program's own of which words of a launch are, or become one.
static llvm::SmallVector<uint32_t>
intermediatesOf(const program::Program &program, const program::Launch &launch,
                program::Direction direction) {
  llvm::SmallVector<uint32_t> tensors;
  if (launch.streams())
    for (uint32_t stream : *launch.streams())
      if (const auto *its = program.streams()->Get(stream);
          its->direction() == direction)
        for (const program::Segment *segment : *its->segments())
          if (program.tensors()->Get(segment->tensor())->role() ==
              program::TensorRole::Intermediate)
            tensors.push_back(segment->tensor());
  return tensors;
}

/// Whether samples follow one another through `main`, which is then all that is
/// called: each finds on the wafer what the one before it found.
static bool isOfSamples(const program::Program &program,
                        const program::Entry &main) {
  return program.entries()->size() <= 2 &&
         !runtime::changesState(program, main);
}

/// The entry that loads weights of a program that has others to be called;
/// null: there is none, or what is loaded is for samples.
static const program::Entry *loadOfCalls(const program::Program &program) {
  const program::Entry *load = nullptr;
  for (uint32_t entry = 0; entry < program.entries()->size(); ++entry) {
    const program::Entry *its = runtime::loadingEntry(program, entry);
    const program::Entry &called = *program.entries()->Get(entry);
    if (its && called.name()->str() == "main" && isOfSamples(program, called))
      return nullptr;
    if (its)
      load = its;
  }
  return load;
}

static void readLaunches(const program::Program &program, Report &report) {
  const auto classes = classesOfRoutines(program);
  const program::Entry *load = loadOfCalls(program);
  report.hasCalls = load != nullptr;
  // Of several entries, one call each. A kernel begins once its PEs are
  // free and what it reads is stored.
  for (const program::Entry *entry : *program.entries()) {
    std::vector<KernelReport> kernels;
    std::vector<double> free(program.classes()->size(), 0);
    std::vector<double> stored(sizeOf(program.tensors()), 0);
    for (const program::Launch *launch : *entry->launches())
      if (launch->kernel() < sizeOf(program.kernels())) {
        KernelReport &its = kernels.emplace_back(
            readKernel(*program.kernels()->Get(launch->kernel())));
        its.sparse = runtime::sparseWeights(program, *launch);
        const auto read =
            intermediatesOf(program, *launch, program::Direction::In);
        const auto written =
            intermediatesOf(program, *launch, program::Direction::Out);
        its.throughStore = !read.empty() || !written.empty();
        auto parts = classes.find(launch->routine());
        if (parts == classes.end())
          continue;
        double end = 0;
        for (unsigned part : parts->second)
          end = std::max(end, free[part]);
        for (uint32_t tensor : read)
          end = std::max(end, stored[tensor]);
        end += its.cycles;
        for (unsigned part : parts->second)
          free[part] = end;
        for (uint32_t tensor : written)
          stored[tensor] = std::max(stored[tensor], end);
      }
    (entry == load ? report.loadCycles : report.cycles) +=
        *llvm::max_element(free);
    if (entry != load)
      llvm::append_range(report.kernels, kernels);
  }
}

/// How samples would follow one another through the entry `main`.
static void readStages(const program::Program &program, Report &report) {
  if (program.classes()->size() < 2 || report.cycles == 0 || report.hasCalls ||
      program.launch_color() == runtime::noLaunchColor)
    return;
  for (uint32_t entry = 0; entry < program.entries()->size(); ++entry) {
    if (program.entries()->Get(entry)->name()->str() != "main")
      continue;
    const runtime::SamplePlan plan(program, entry, /*samples=*/1);
    if (plan.stages().size() < 2)
      return;
    report.latency = plan.latencies().front();
    // So many that the last ones follow a pipeline that has been full for long.
    const runtime::SamplePlan many(program, entry,
                                   uint32_t(4 * plan.stages().size()));
    report.pace = many.cyclesPerSample();
    report.loadCycles = runtime::loadCycles(program, entry);
    for (const runtime::StageLaunches &stage : plan.stages())
      report.stages.push_back({report.regions[stage.peClass], stage.cycles,
                               plan.latencies(&stage).front()});
  }
}

/// The PEs of each class, as the smallest rectangle.
static void readRegions(const program::Program &program, Report &report) {
  for (const program::PEClass *each : *program.classes()) {
    std::array<int, 4> all = {INT_MAX, INT_MAX, 0, 0};
    for (const program::Rect *rect : *each->rects())
      all = {std::min(all[0], rect->x0()), std::min(all[1], rect->y0()),
             std::max(all[2], rect->x1()), std::max(all[3], rect->y1())};
    report.regions.push_back(all);
  }
}

static void readMemory(const program::Program &program, Report &report) {
  report.pesUsed = runtime::computingPes(program);
  runtime::SramPeak peak = runtime::sramPeak(program);
  report.sramPeakBytes = peak.bytes;
  for (const program::PEClass *each : *program.classes()) {
    report.codeBytes = std::max<uint64_t>(report.codeBytes, each->code_bytes());
    uint64_t kept = 0;
    if (each->buffers())
      for (const program::Buffer *buffer : *each->buffers())
        kept += buffer->persistent() ? buffer->bytes() : 0;
    report.keptBytes = std::max(report.keptBytes, kept);
  }
  report.sramOwner = llvm::json::fixUTF8(peak.owner);
  report.precision = runtime::precisionOf(program);
  report.streamedBytes = report.precision.streamedBytes;
  const program::Entry *load = loadOfCalls(program);
  if (load) {
    report.streamedBytes = 0;
    for (uint32_t entry = 0; entry < program.entries()->size(); ++entry) {
      const uint64_t bytes = runtime::streamedWeightBytes(program, entry);
      uint64_t &most = program.entries()->Get(entry) == load
                           ? report.loadedBytes
                           : report.streamedBytes;
      most = std::max(most, bytes);
    }
  }
  for (uint32_t entry = 0; !load && entry < program.entries()->size(); ++entry)
    if (program.entries()->Get(entry)->name()->str() == "main") {
      report.streamedBytes = runtime::streamedWeightBytes(program, entry);
      if (const program::Entry *its = runtime::loadingEntry(program, entry))
        report.loadedBytes = runtime::streamedWeightBytes(
            program, runtime::findEntry(program, its->name()->str()));
    }
  runtime::WeightResidency residency = runtime::weightResidency(program);
  report.residentBytes = residency.residentBytes;
  report.bufferedBytes = residency.bufferedBytes;
}

llvm::Expected<Report> wsec::readReport(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(
        path + ": cannot read the program: " + buffer.getError().message());
  StringRef file = (*buffer)->getBuffer();
  StringRef magic(
      reinterpret_cast<const char *>(runtime::containerMagic.data()),
      runtime::containerMagic.size());
  uint64_t size = 0;
  if (file.size() >= runtime::containerHeaderBytes)
    size = llvm::support::endian::read64le(file.data() + magic.size());
  StringRef bytes = file.substr(runtime::containerHeaderBytes, size);
  // Flatbuffers wants aligned data; the mapped header keeps 8 bytes. As many
  // tables as the runtime takes.
  flatbuffers::Verifier::Options options;
  options.max_tables = flatbuffers::uoffset_t(bytes.size() + 1024);
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), options);
  if (!file.starts_with(magic) || bytes.size() != size ||
      !program::VerifyProgramBuffer(verifier))
    return llvm::createStringError(path + ": this is not a program");

  const program::Program &program = *program::GetProgram(bytes.data());
  const program::Machine &machine = *program.machine();
  Report report;
  report.model = text(program.model());
  report.machine = text(machine.name());
  report.parameters = program.parameters();
  report.weightBytes = program.weight_bytes();
  report.width = machine.width();
  report.height = machine.height();
  report.clockGhz = machine.clock_ghz();
  report.pesAvailable = uint64_t(report.width) * report.height;
  report.sramLimitBytes = machine.sram_bytes();
  report.tokens = runtime::tokensPerRun(program);
  if (const program::Proof *proof = program.proof()) {
    report.deadlock =
        StringRef(program::EnumNameVerdict(proof->verdict())).lower();
    report.deadlockReason = text(proof->reason());
  }
  if (program.files())
    for (const program::File *file : *program.files())
      if (std::string name = text(file->path()); !name.empty())
        report.weightFiles.push_back(name);
  readMemory(program, report);
  readLaunches(program, report);
  readRegions(program, report);
  readStages(program, report);
  if (program.entries()->size() == 1)
    report.westEdge = runtime::edgeForecast(program, 0).rows;
  return report;
}

void Report::findWeights(const std::string &path,
                         const runtime::WeightFolders &folders) {
  runtime::WeightFolders home;
  home.addFolderOf(path);
  for (const std::string &name : weightFiles) {
    std::string folder = home.find(name) ? "" : folders.folderOf(name);
    if (!folder.empty() && !llvm::is_contained(weightFolders, folder))
      weightFolders.push_back(folder);
  }
}
