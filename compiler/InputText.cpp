// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/InputText.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

/// The end of the string that starts at `at`; the end of the text if it has
/// none.
static size_t endOfString(StringRef text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    at += text[at] == '\\';
  return at;
}

std::optional<std::string> wsec::nestingProblem(StringRef text, unsigned most) {
  unsigned depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      at = endOfString(text, at);
    } else if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at).starts_with("->")) {
      ++at;
    } else if (StringRef("([{<").contains(text[at])) {
      if (++depth > most)
        return ("line " + Twine(text.take_front(at).count('\n') + 1) +
                " nests brackets more than " + Twine(most) + " deep")
            .str();
    } else if (depth > 0 && StringRef(")]}>").contains(text[at])) {
      --depth;
    }
  }
  return std::nullopt;
}

Expected<std::unique_ptr<MemoryBuffer>> wsec::readRegularFile(StringRef path,
                                                              bool isText) {
  sys::fs::file_status status;
  std::error_code reason = sys::fs::status(path, status);
  if (!reason && sys::fs::is_directory(status))
    reason = std::make_error_code(std::errc::is_a_directory);
  if (!reason && !sys::fs::is_regular_file(status))
    return createStringError("cannot read '" + path +
                             "': it is a device or a FIFO, expected a file");
  if (!reason) {
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                        /*RequiresNullTerminator=*/isText);
    if (buffer)
      return std::move(*buffer);
    reason = buffer.getError();
  }
  return createStringError(reason,
                           "cannot read '" + path + "': " + reason.message());
}

Expected<std::unique_ptr<MemoryBuffer>> wsec::readIR(StringRef path) {
  auto file = readRegularFile(path);
  if (!file)
    return file.takeError();
  StringRef text = (*file)->getBuffer();
  if (text.starts_with("ML\xefR"))
    return createStringError("'" + path +
                             "' is MLIR's bytecode; expected IR as text");
  if (auto problem = nestingProblem(text, maxNestingOfIR))
    return createStringError("'" + path + "': " + *problem);
  if (size_t at = text.find(elidedConstant); at != text.npos)
    return createStringError(
        "'" + path + "': line " + Twine(text.take_front(at).count('\n') + 1) +
        " was printed without the elements of its constant; print it anew "
        "with --print-constants");
  return file;
}
