// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/Digest.h"
#include "runtime/files/MappedFile.h"
#include "runtime/files/NewFile.h"
#include "runtime/files/WeightFolders.h"
#include "runtime/program/Errors.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

/// What a file system that was out of reach says of the words it still had.
static std::atomic<bool> closeFails{false};
extern "C" int close(int descriptor) {
  const int result = int(::syscall(SYS_close, descriptor));
  if (!closeFails)
    return result;
  errno = EIO;
  return -1;
}

namespace wsec::runtime {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::canonical(testing::TempDir()).string() + "/wsec-files/";
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const std::string &name, const std::string &content) {
    fs::create_directories(fs::path(folder + name).parent_path());
    std::ofstream(folder + name) << content;
    return folder + name;
  }
  /// Gives a file times that are long past, so that its state is certain.
  void age(const std::string &path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() -
                                  std::chrono::hours(1));
  }

  std::string folder;
};

std::string refusal(const std::string &path) {
  try {
    readFile(path);
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

// -------------------------------------------------------------- regular files

TEST_F(FilesTest, OnlyRegularFilesAreOpened) {
  const std::string fifo = folder + "fifo", device = "/dev/zero";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string &path : {fifo, device, folder})
    EXPECT_EQ(refusal(path),
              "IoError: cannot read '" + path + "': not a regular file");
}

TEST_F(FilesTest, ReadingNoticesTheEnd) {
  const std::string path = write("w", "12345678");
  InputFile file(path);
  fs::resize_file(path, 3);
  char bytes[8];
  try {
    file.read(0, bytes, 8);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.message(),
              "cannot read '" + path +
                  "': it ends at byte 3 and was longer before");
  }
}

// --------------------------------------------------------------- mapped files

TEST_F(FilesTest, MappedFileThatShrinksGivesZerosAndSaysSo) {
  const uint64_t page = uint64_t(::sysconf(_SC_PAGESIZE));
  const std::string path = write("w", std::string(4 * page, 'w'));
  auto file = MappedFile::open(path);
  EXPECT_EQ(file->data()[3 * page], 'w');
  EXPECT_FALSE(file->damaged());
  fs::resize_file(path, page);
  EXPECT_EQ(file->data()[2 * page], 0);
  EXPECT_EQ(file->data()[3 * page], 0);
  EXPECT_EQ(file->data()[0], 'w');
  fs::resize_file(path, 4 * page);
  EXPECT_TRUE(file->damaged());
  // Its place in memory may come back, the damage does not.
  file = MappedFile::open(path);
  EXPECT_FALSE(file->damaged());
}

TEST_F(FilesTest, MappedFileKnowsWhenItIsWrittenTo) {
  const std::string path = write("w", "12345678");
  auto fresh = MappedFile::open(path);
  EXPECT_FALSE(fresh->damaged());
  EXPECT_FALSE(fresh->untouched()) << "a write in the same tick cannot be seen";
  age(path);
  auto file = MappedFile::open(path);
  fs::rename(write("other", "abcdefgh"), path);
  EXPECT_FALSE(file->damaged()) << "another file took its name";
  EXPECT_FALSE(file->untouched());
  file = MappedFile::open(path);
  std::fstream(path).write("x", 1);
  EXPECT_TRUE(file->damaged());
}

/// Others come and go meanwhile, above it and above what is nobody's file.
TEST_F(FilesTest, ZerosStayWithinTheFileThatShrank) {
  const size_t page = size_t(::sysconf(_SC_PAGESIZE));
  const std::string shrinks = write("shrinks", "s"), others = write("o", "o");
  auto anyPage = [page] {
    void *its = ::mmap(nullptr, page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(its, MAP_FAILED);
    return static_cast<uint8_t *>(its);
  };
  // Once gaps are filled, each mapping lies below the one before.
  std::vector<uint8_t *> between(1000);
  for (uint8_t *&its : between)
    its = anyPage();
  auto below = MappedFile::open(shrinks), above = MappedFile::open(others);
  below = above = nullptr;
  above = MappedFile::open(others);
  between.push_back(anyPage());
  uint8_t &theirs = between.back()[0] = 7;
  std::atomic<bool> ends{false};
  std::thread comeAndGo([&] {
    while (!ends) {
      above = nullptr;
      above = MappedFile::open(others);
    }
  });
  for (int i = 0; i < 5000 && theirs == 7; ++i) {
    fs::resize_file(shrinks, page);
    below = MappedFile::open(shrinks);
    fs::resize_file(shrinks, 0);
    EXPECT_EQ(below->data()[0], 0);
    below = nullptr;
  }
  ends = true;
  comeAndGo.join();
  EXPECT_EQ(theirs, 7);
  for (uint8_t *its : between)
    ::munmap(its, page);
}

TEST_F(FilesTest, BusErrorsOfOthersStillEndTheProcess) {
  const std::string path = write("w", "12345678");
  auto file = MappedFile::open(path);
  // A sanitizer reports the signal and ends the process itself.
  EXPECT_DEATH(::raise(SIGBUS), "");
}

// ------------------------------------------------------------------ new files

class NewFileTest : public FilesTest {
protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string content(const std::string &name) const {
    std::ifstream in(folder + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Begins a file in another process, which is then killed.
  void killWriter(const std::string &path, bool nameless) {
    EXPECT_EXIT(
        {
          NewFile file(path, nameless);
          file.write("half", 4);
          ::raise(SIGKILL);
        },
        testing::KilledBySignal(SIGKILL), "");
  }
  using Names = std::vector<std::string>;
};

TEST_F(NewFileTest, AppearsWhole) {
  for (bool nameless : {true, false}) {
    NewFile file(folder + "new", nameless);
    file.write("012345", 6);
    file.overwrite(1, "ab", 2);
    EXPECT_EQ(file.size(), 6u);
    file.commit();
    EXPECT_EQ(content("new"), "0ab345");
    NewFile other(folder + "new", nameless);
    other.write("other", 5);
    EXPECT_EQ(content("new"), "0ab345");
    other.commit();
    EXPECT_EQ(content("new"), "other");
    EXPECT_EQ(files(), Names{"new"});
    fs::remove(folder + "new");
  }
}

TEST_F(NewFileTest, NothingIsLeftOfAKilledProcess) {
  killWriter(folder + "new", true);
  EXPECT_EQ(files(), Names{});
}

TEST_F(NewFileTest, WhatIsLeftWithANameIsTakenByTheNext) {
  killWriter(folder + "new", false);
  EXPECT_EQ(files(), Names{"new.part"});
  {
    NewFile file(folder + "new", false);
    file.write("x", 1);
    try {
      NewFile(folder + "new", false);
      FAIL();
    } catch (const Error &error) {
      EXPECT_EQ(error.message(), "cannot write '" + folder +
                                     "new': another process writes it now");
    }
  }
  EXPECT_EQ(files(), Names{});
  killWriter(folder + "new", false);
  NewFile file(folder + "new", false);
  file.write("x", 1);
  file.commit();
  EXPECT_EQ(files(), Names{"new"});
  EXPECT_EQ(content("new"), "x");
}

TEST_F(NewFileTest, NamesWhatCannotBeWritten) {
  auto refusal = [](const std::string &path) -> std::string {
    try {
      NewFile file(path);
      file.write("x", 1);
      file.commit();
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  };
  EXPECT_EQ(refusal("/dev/full"), "IoError: cannot write '/dev/full': No space "
                                  "left on device");
  EXPECT_EQ(refusal(folder),
            "IoError: cannot write '" + folder + "': Is a directory");
  EXPECT_EQ(refusal(folder + "none/x"), "IoError: cannot write '" + folder +
                                            "none/x': No such file or "
                                            "directory");
  EXPECT_EQ(refusal("/dev/null"), "");
}

/// A network file system may say only as a file is closed that it lacks room.
TEST_F(NewFileTest, WhatCannotBeClosedDoesNotAppear) {
  for (bool nameless : {true, false})
    try {
      NewFile file(folder + "new", nameless);
      file.write("x", 1);
      closeFails = true;
      file.commit();
      closeFails = false;
      FAIL();
    } catch (const Error &error) {
      closeFails = false;
      EXPECT_EQ(error.message(),
                "cannot write '" + folder + "new': Input/output error");
      EXPECT_EQ(files(), Names{});
    }
}

TEST_F(NewFileTest, RefusalsKeepNoDescriptors) {
  auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), {});
  };
  NewFile file(folder + "new", false);
  const auto before = descriptors();
  for (int i = 0; i < 10; ++i)
    EXPECT_THROW(NewFile(folder + "new", false), Error);
  EXPECT_EQ(descriptors(), before);
}

// -------------------------------------------------------------------- digests

TEST(DigestTest, IsXxh3OfAllBytes) {
  EXPECT_EQ(digestOf("", 0), 0x2d06800538d394c2u);
  std::vector<uint8_t> data((9 << 20) + 12345);
  const uint64_t zeros = digestOf(data.data(), data.size());
  EXPECT_NE(zeros, digestOf(data.data(), data.size() - 1));
  for (size_t at : {size_t(0), data.size() - 1, data.size() / 7}) {
    data[at] = 1;
    EXPECT_NE(zeros, digestOf(data.data(), data.size())) << at;
    StreamedDigest pieces;
    pieces.add(data.data(), at);
    pieces.add(data.data() + at, data.size() - at);
    EXPECT_EQ(pieces.value(), digestOf(data.data(), data.size()));
    data[at] = 0;
  }
}

/// Remembered digests live in a folder of the test.
class DigestCacheTest : public FilesTest {
protected:
  void SetUp() override {
    FilesTest::SetUp();
    if (const char *cache = std::getenv("XDG_CACHE_HOME"))
      before = cache;
    ::setenv("XDG_CACHE_HOME", (folder + "cache").c_str(), 1);
    path = write("w", std::string(2 << 20, 'w'));
    settle();
  }
  void TearDown() override {
    before.empty() ? ::unsetenv("XDG_CACHE_HOME")
                   : ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
    FilesTest::TearDown();
  }
  /// Until the file's times are old enough to be trusted.
  void settle() const {
    while (stateOf(path).recent())
      ::usleep(50000);
  }
  std::string lines() const {
    std::ifstream in(folder + "cache/wsec/digests");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  uint64_t digest() const { return digestOf(*MappedFile::open(path)); }

  std::string before, path;
};

TEST_F(DigestCacheTest, RemembersUntilTheFileChanges) {
  const uint64_t first = digest();
  const std::string one = lines();
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 1);
  EXPECT_EQ(digest(), first);
  EXPECT_EQ(lines(), one);
  // It is used: another digest in its place is believed.
  std::string other = one;
  other[other.size() - 2] = other[other.size() - 2] == '0' ? '1' : '0';
  std::ofstream(folder + "cache/wsec/digests") << other;
  EXPECT_NE(digest(), first);
  // Written to, and its time of writing put back.
  const auto time = fs::last_write_time(path);
  std::fstream(path).write("x", 1);
  fs::last_write_time(path, time);
  EXPECT_EQ(lines(), other);
  const std::string content = "x" + std::string((2 << 20) - 1, 'w');
  EXPECT_EQ(digest(), digestOf(content.data(), content.size()));
  EXPECT_EQ(lines(), other) << "too young to be remembered";
  settle();
  EXPECT_EQ(digest(), digestOf(content.data(), content.size()));
  EXPECT_GT(lines().size(), other.size());
}

TEST_F(DigestCacheTest, SurvivesDamageAndStaysSmall) {
  const uint64_t first = digest();
  std::string damaged = lines();
  damaged[damaged.size() - 3] = 'g';
  std::ofstream(folder + "cache/wsec/digests") << damaged;
  EXPECT_EQ(digest(), first);
  std::ofstream(folder + "cache/wsec/digests") << std::string(100000, '\n');
  EXPECT_EQ(digest(), first);
  EXPECT_LT(lines().size(), 1000u);
  fs::remove(folder + "cache/wsec/digests");
  ASSERT_EQ(::mkfifo((folder + "cache/wsec/digests").c_str(), 0600), 0);
  EXPECT_EQ(digest(), first);
}

// -------------------------------------------------------------------- folders

TEST(WeightFoldersTest, NamesStayInside) {
  for (const char *name :
       {"/etc/passwd", "../w", "a/../../w", "a/..", "..", "/"})
    EXPECT_TRUE(WeightFolders::problemOf(name)) << name;
  for (const char *name : {"", "a/", "."})
    EXPECT_TRUE(WeightFolders::problemOf(name) || std::string(name) == ".");
  for (const char *name : {"w", "a/w", "./w", "..w", "a..b/w.."})
    EXPECT_FALSE(WeightFolders::problemOf(name)) << name;
}

TEST_F(FilesTest, WeightFoldersAreSearchedInOrder) {
  write("one/w", "1");
  write("two/w", "2");
  write("two/sub/v", "2");
  WeightFolders folders({folder + "one", folder + "two", folder + "none"});
  EXPECT_EQ(folders.find("w"), folder + "one/w");
  EXPECT_EQ(folders.find("sub/v"), folder + "two/sub/v");
  EXPECT_EQ(folders.folderOf("sub/v"), folder + "two");
  EXPECT_EQ(folders.find("x"), std::nullopt);
  EXPECT_EQ(folders.describe(), "'" + folder + "one', '" + folder + "two'");
}

TEST_F(FilesTest, LinksDoNotLeadOutOfWeightFolders) {
  const std::string secret = write("secret", "s");
  write("models/w", "w");
  fs::create_symlink(secret, folder + "models/out");
  fs::create_symlink("../secret", folder + "models/up");
  fs::create_symlink("..", folder + "models/parent");
  fs::create_symlink(folder + "models/w", folder + "models/in");
  fs::create_symlink(folder + "nothing", folder + "models/dangling");
  WeightFolders folders({folder + "models"});
  for (const char *name : {"out", "up", "parent/secret", "dangling"})
    EXPECT_EQ(folders.find(name), std::nullopt) << name;
  EXPECT_EQ(folders.find("in"), folder + "models/w");
  EXPECT_EQ(WeightFolders({folder}).find("models/out"), secret);
}

/// As in the cache of Hugging Face's hub: what was named is a link.
TEST_F(FilesTest, FolderOfALinkIsTheFolderItLeadsTo) {
  write("blobs/1", "model");
  write("blobs/2", "weights");
  fs::create_directories(folder + "snapshot");
  fs::create_symlink("../blobs/1", folder + "snapshot/model.onnx");
  fs::create_symlink("../blobs/2", folder + "snapshot/model.data");
  WeightFolders folders;
  folders.addFolderOf(folder + "snapshot/model.onnx");
  EXPECT_EQ(folders.find("model.data"), folder + "blobs/2");
}

} // namespace
} // namespace wsec::runtime
