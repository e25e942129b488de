// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/emit/SramBudget.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace wsec::emit {

/// How many buffers an error lists.
static constexpr size_t kShownBuffers = 5;

static void noteLargest(InFlightDiagnostic &error, pe::ClassOp op,
                        const program::PEClassT &table) {
  llvm::StringMap<uint32_t> addresses;
  for (const auto &buffer : table.buffers)
    addresses[buffer->name] = buffer->address;
  SmallVector<pe::BufferOp> buffers(op.getOps<pe::BufferOp>());
  llvm::sort(buffers, [](pe::BufferOp a, pe::BufferOp b) {
    return std::make_tuple(b.getBytes(), a.getSymName()) <
           std::make_tuple(a.getBytes(), b.getSymName());
  });
  for (pe::BufferOp buffer : ArrayRef(buffers).take_front(kShownBuffers)) {
    Diagnostic &note = error.attachNote(buffer.getLoc());
    note << "buffer @" << buffer.getSymName() << " takes " << buffer.getBytes()
         << " bytes at " << addresses.lookup(buffer.getSymName());
    if (buffer.getNode())
      note << " for node '" << *buffer.getNode() << "'";
  }
}

static LogicalResult checkClass(pe::ClassOp op, const program::PEClassT &table,
                                const program::MachineT &machine) {
  uint64_t codeEnd = uint64_t(machine.runtime_bytes) + table.code_bytes;
  uint64_t used = codeEnd;
  const program::BufferT *lowest = nullptr;
  for (const auto &buffer : table.buffers) {
    used = std::max(used, uint64_t(buffer->address) + buffer->bytes);
    if (!lowest || buffer->address < lowest->address)
      lowest = buffer.get();
  }
  if (used > uint64_t(machine.sram_bytes)) {
    auto error = op.emitOpError("SramOverflow: takes ")
                 << used << " bytes in each PE, machine " << machine.name
                 << " has " << machine.sram_bytes << " (code "
                 << table.code_bytes << ", host runtime "
                 << machine.runtime_bytes
                 << "); a larger mesh makes each PE's share smaller";
    noteLargest(error, op, table);
    return failure();
  }
  if (lowest && lowest->address < codeEnd) {
    auto error =
        op.emitOpError("SramOverflow: code and host runtime take the first ")
        << codeEnd << " bytes of each PE, but buffer @" << lowest->name
        << " starts at " << lowest->address
        << "; without an address it lies behind the code";
    return error;
  }
  return success();
}

LogicalResult checkSram(pe::ProgramOp op, const program::ProgramT &program) {
  bool ok = true;
  for (auto [peClass, table] :
       llvm::zip_equal(op.getOps<pe::ClassOp>(), program.classes))
    ok &= succeeded(checkClass(peClass, *table, *program.machine));
  return success(ok);
}

} // namespace wsec::emit
