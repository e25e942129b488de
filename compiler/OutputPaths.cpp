// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/OutputPaths.h"
#include "runtime/files/NewFile.h"
#include "runtime/program/Errors.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static Error cannotWrite(StringRef path, std::error_code reason) {
  return createStringError(reason,
                           "cannot write '" + path + "': " + reason.message());
}

Error wsec::checkOutputPath(StringRef path, StringRef input) {
  if (path.empty() || path == "-")
    return Error::success();
  sys::fs::file_status status;
  if (!sys::fs::status(path, status)) {
    if (sys::fs::is_directory(status))
      return cannotWrite(path, std::make_error_code(std::errc::is_a_directory));
    // Devices are written to, not replaced.
    if (sys::fs::is_other(status))
      return Error::success();
    if (sys::fs::equivalent(path, input))
      return createStringError("'" + path +
                               "' is the input and would be overwritten; write "
                               "to another file");
  }
  StringRef folder = sys::path::parent_path(path);
  if (folder.empty())
    folder = ".";
  if (auto reason = sys::fs::access(folder, sys::fs::AccessMode::Exist))
    return cannotWrite(path, reason);
  if (auto reason = sys::fs::access(folder, sys::fs::AccessMode::Write))
    return cannotWrite(path, reason);
  return Error::success();
}

/// Writes and reports what the stream would otherwise abort for.
static std::error_code writeTo(raw_fd_ostream &os, StringRef text) {
  os << text;
  os.flush();
  std::error_code reason = os.error();
  os.clear_error();
  return reason;
}

Error wsec::writeText(StringRef path, StringRef text) {
  if (path == "-") {
    if (auto reason = writeTo(outs(), text))
      return cannotWrite("standard output", reason);
    return Error::success();
  }
  try {
    runtime::NewFile file(path.str());
    file.write(text.data(), text.size());
    file.commit();
  } catch (const runtime::Error &error) {
    return createStringError(error.message());
  }
  return Error::success();
}
