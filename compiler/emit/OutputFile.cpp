// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/emit/OutputFile.h"
#include "runtime/files/Digest.h"
#include "runtime/files/InputFile.h"
#include "runtime/files/NewFile.h"
#include "runtime/program/Container.h"
#include "runtime/program/Errors.h"

#include "llvm/Support/Endian.h"

#include <cassert>
#include <vector>

using namespace llvm;

namespace wsec::emit {

/// Any digest but 0, which flatbuffers would leave out.
static constexpr uint64_t kOpenDigest = 1;

static std::string containerHeader(uint64_t flatbufferBytes) {
  std::string header(runtime::containerMagic.begin(),
                     runtime::containerMagic.end());
  char size[8];
  support::endian::write64le(size, flatbufferBytes);
  return header + std::string(size, sizeof(size));
}

// Copies in pieces that stay in the cache, so that a full disk is noticed soon.
static void copyPiece(const BundledPiece &piece, runtime::NewFile &output,
                      runtime::StreamedDigest &digest) {
  constexpr uint64_t kBlock = 4 << 20;
  runtime::InputFile input(piece.path);
  std::vector<char> block(std::min(kBlock, piece.bytes));
  for (uint64_t done = 0; done < piece.bytes; done += kBlock) {
    uint64_t bytes = std::min(kBlock, piece.bytes - done);
    input.read(piece.offset + done, block.data(), bytes);
    output.write(block.data(), bytes);
    digest.add(block.data(), bytes);
  }
}

// Writes the weights behind each other; returns the digest of them all.
static uint64_t writeBundle(const WeightPlan &plan, uint64_t start,
                            runtime::NewFile &output) {
  runtime::StreamedDigest digest;
  for (const BundledPiece &piece : plan.pieces) {
    std::string gap(start + piece.target - output.size(), '\0');
    output.write(gap.data(), gap.size());
    digest.add(gap.data(), gap.size());
    copyPiece(piece, output, digest);
  }
  return digest.value();
}

static void writeTo(runtime::NewFile &output, const WeightPlan &plan,
                    PackProgram pack) {
  std::string flatbuffer = pack(kOpenDigest);
  std::string head = containerHeader(flatbuffer.size()) + flatbuffer;
  uint64_t start = runtime::bundleStart(flatbuffer.size());
  head.resize(start);
  output.write(head.data(), head.size());
  if (plan.pieces.empty())
    return;
  std::string final = pack(writeBundle(plan, start, output));
  assert(final.size() == flatbuffer.size() && "depends on the digest");
  output.overwrite(runtime::containerHeaderBytes, final.data(), final.size());
}

// The runtime throws, the compiler does not.
Error writeContainer(const std::string &path, const WeightPlan &plan,
                     PackProgram pack) {
  try {
    runtime::NewFile output(path);
    writeTo(output, plan, pack);
    output.commit();
  } catch (const runtime::Error &error) {
    return createStringError(error.message());
  }
  return Error::success();
}

} // namespace wsec::emit
