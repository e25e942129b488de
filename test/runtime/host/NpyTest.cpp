// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Npy.h"
#include "runtime/program/Errors.h"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <zip.h>

/// Whether libzip gives half of what is read of a whole archive.
static bool readsAreShort = false;
extern "C" zip_int64_t zip_source_read(zip_source_t *source, void *to,
                                       zip_uint64_t bytes) {
  static const auto read = reinterpret_cast<decltype(&zip_source_read)>(
      ::dlsym(RTLD_NEXT, "zip_source_read"));
  constexpr zip_uint64_t itsOwn = 8192; // It reads no more at a time.
  return read(source, to, readsAreShort && bytes > itsOwn ? bytes / 2 : bytes);
}

namespace wsec::runtime {
namespace {

HostTensor parse(const std::string &bytes) {
  return parseNpy(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(),
                  "x.npy");
}
void acceptAll(const std::string &, DataType, const std::vector<int64_t> &) {}

NamedTensors parseArchive(const std::string &bytes) {
  return parseNpz(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(),
                  "x.npz", acceptAll);
}

std::string file(const std::string &header, const std::string &data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += char(header.size());
  bytes += '\0';
  return bytes + header + data;
}

template <class Parse = decltype(parse)>
std::string refusal(const std::string &bytes, Parse &reads = parse) {
  try {
    reads(bytes);
    return "";
  } catch (const Error &error) {
    return error.message();
  }
}

TEST(NpyTest, RoundTripsEveryTypeAndRank) {
  for (int type = 0; type <= int(DataType::UInt64); ++type)
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{}, {3}, {2, 3}, {1, 2, 0}}) {
      HostTensor tensor{DataType(type), shape, {}};
      uint32_t bytes = dataTypeBytes(tensor.type);
      for (size_t i = 0; i < *countElements(shape, bytes) * bytes; ++i)
        tensor.bytes.push_back(uint8_t(i));
      std::string written = formatNpy(tensor);
      EXPECT_EQ((written.size() - tensor.bytes.size()) % 64, 0u);
      HostTensor read = parse(written);
      EXPECT_EQ(read.type, tensor.type);
      EXPECT_EQ(read.shape, tensor.shape);
      EXPECT_EQ(read.bytes, tensor.bytes);
    }
}

TEST(NpyTest, TurnsFortranOrderIntoRowMajor) {
  HostTensor read = parse(file(
      "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "adbecf"));
  EXPECT_EQ(std::string(read.bytes.begin(), read.bytes.end()), "abcdef");
}

TEST(NpyTest, SaysWhatIsWrong) {
  EXPECT_EQ(refusal("hello, world"),
            "'x.npy': not a .npy file; an archive of several tensors, .npz, is "
            "given whole with --inputs");
  EXPECT_EQ(refusal(file("{'descr': '>f4', 'fortran_order': False, "
                         "'shape': (1,), }",
                         "abcd")),
            "'x.npy': element type '>f4' is not supported; expected a "
            "little-endian number or boolean such as '<f4'");
  EXPECT_EQ(refusal(file("{'descr': '<f4', 'fortran_order': False, "
                         "'shape': (2,), }",
                         "abcd")),
            "'x.npy': float32[2] takes 8 bytes, found 4");
  EXPECT_EQ(refusal(file("{'descr': '<f4', 'shape': (1,), }", "abcd")),
            "'x.npy': the header has no fortran_order");
  EXPECT_EQ(refusal(file("{'descr': [('a', '<f4')], 'fortran_order': False, "
                         "'shape': (1,), }",
                         "abcd")),
            "'x.npy': arrays of records are not supported");
}

TEST(NpyTest, HeadersAreShort) {
  std::string bytes("\x93NUMPY\x02\x00\xff\xff\x10\x00", 12);
  EXPECT_EQ(refusal(bytes), "'x.npy': the header takes 1114123 bytes, more "
                            "than 65536");
}

TEST(NpyTest, SurvivesEveryTruncation) {
  std::string whole = formatNpy({DataType::Int8, {4}, {1, 2, 3, 4}});
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
}

TEST(NpzTest, RoundTrips) {
  NamedTensors tensors{{"a/b", {DataType::UInt8, {2}, {1, 2}}},
                       {"c", {DataType::Float64, {}, std::vector<uint8_t>(8)}}};
  NamedTensors read = parseArchive(formatNpz(tensors));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].first, "a/b");
  EXPECT_EQ(read[0].second.bytes, (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(read[1].second.type, DataType::Float64);
}

TEST(NpzTest, NamesMayHaveControlCharacters) {
  // As numpy writes it: a name that does not say that it is UTF-8.
  std::string name("x\x1by", 3);
  std::string whole =
      formatNpz({{"xay", {DataType::UInt8, {1}, std::vector<uint8_t>{7}}}});
  for (size_t at = 0; (at = whole.find("xay", at)) != whole.npos; ++at)
    whole.replace(at, 3, name);
  NamedTensors read = parseArchive(whole);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].first, name);
}

TEST(NpzTest, AnArchiveThatDoesNotComeBackIsNotZeros) {
  readsAreShort = true;
  try {
    formatNpz({{"x", {DataType::UInt8, {10000}, std::vector<uint8_t>(10000)}}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.errorClass(), ErrorClass::IoError);
    EXPECT_NE(error.message().find("came back"), std::string::npos)
        << error.message();
  }
  readsAreShort = false;
}

TEST(NpzTest, AnEmptyArchiveIsTheEndRecordThatNumpyExpects) {
  std::string whole = formatNpz({});
  EXPECT_EQ(whole, std::string("PK\x05\x06", 4) + std::string(18, '\0'));
  EXPECT_TRUE(parseArchive(whole).empty());
}

TEST(NpzTest, NoticesDamageAndTruncation) {
  std::string whole = formatNpz({{"a", {DataType::UInt8, {2}, {1, 2}}}});
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(parseArchive(whole.substr(0, size)), Error) << size;
  whole[60] ^= 1; // in the array's header or data
  EXPECT_EQ(refusal(whole, parseArchive),
            "'x.npz': 'a.npy' cannot be read: crc error; write or copy the "
            "archive again");
}

/// One array with a field of its central directory changed: `offset` is from
/// the entry's beginning.
std::string withField(size_t offset, uint8_t value) {
  std::string whole = formatNpz({{"a", {DataType::UInt8, {2}, {1, 2}}}});
  whole[whole.rfind("PK\x01\x02") + offset] = char(value);
  return whole;
}

TEST(NpzTest, SaysWhatIsWrong) {
  const std::string again = "; write or copy the archive again";
  const std::string noDirectory =
      "'x.npz': the .npz file is cut off or damaged: the directory at its end "
      "is missing; write or copy it again";
  std::string whole = withField(0, 'P');
  EXPECT_EQ(refusal("hello, world, this is no archive", parseArchive),
            "'x.npz': not a .npz file; numpy.savez writes them, and a single "
            "tensor is given as NAME=FILE.npy");
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1), parseArchive),
            noDirectory);
  EXPECT_EQ(refusal(withField(0, 'Q'), parseArchive), noDirectory);
  whole[whole.size() - 18] = 1; // the second of several disks
  EXPECT_EQ(refusal(whole, parseArchive),
            "'x.npz': the .npz file is damaged: multi-disk zip archives not "
            "supported; write or copy it again");
  EXPECT_EQ(refusal(withField(8, 1), parseArchive),
            "'x.npz': 'a.npy' cannot be read: no password provided" + again);
  EXPECT_EQ(
      refusal(withField(10, 97), parseArchive),
      "'x.npz': 'a.npy' cannot be read: compression method not supported" +
          again);
  EXPECT_EQ(refusal(withField(10, 8), parseArchive), // stored, not deflated
            "'x.npz': 'a.npy' cannot be read: crc error" + again);
  EXPECT_EQ(refusal(withField(42, 1), parseArchive), // where it begins
            "'x.npz': 'a.npy' cannot be read: invalid argument" + again);
  EXPECT_EQ(refusal(withField(24, 131), parseArchive), // its size, one more
            "'x.npz': 'a.npy' cannot be read: zip archive inconsistent" +
                again);
}

TEST(NpzTest, TensorsAreAcceptedBeforeTheyAreRead) {
  std::string whole = formatNpz(
      {{"a", {DataType::UInt8, {100000}, std::vector<uint8_t>(100000)}}});
  whole[whole.rfind("PK\x01\x02") - 1] ^= 1; // the last element
  std::string asked;
  EXPECT_THROW(parseNpz(reinterpret_cast<const uint8_t *>(whole.data()),
                        whole.size(), "x.npz",
                        [&](const std::string &name, DataType type,
                            const std::vector<int64_t> &shape) {
                          asked = name + " " + describe(type, shape);
                          throw std::length_error("too long");
                        }),
               std::length_error);
  EXPECT_EQ(asked, "a uint8[100000]");
  EXPECT_NE(refusal(whole, parseArchive).find("crc error"), std::string::npos);
}

TEST(NpzTest, NamesAreUtf8) {
  const HostTensor tensor{DataType::UInt8, {1}, {7}};
  const std::string whole = formatNpz({{"\xc3\xa9\xe6\xbc\xa2", tensor}});
  EXPECT_EQ(parseArchive(whole).at(0).first, "\xc3\xa9\xe6\xbc\xa2");
  EXPECT_TRUE(whole[whole.rfind("PK\x01\x02") + 9] &
              8); // the flag that says so
  for (const NamedTensors &tensors : {NamedTensors{{"\xff", tensor}},
                                      {{"a", tensor}, {"a", tensor}},
                                      {{std::string("a\0b", 3), tensor}}}) {
    try {
      formatNpz(tensors);
      FAIL();
    } catch (const Error &error) {
      EXPECT_NE(error.message().find("cannot be named in an archive; write it "
                                     "to a file of its own with --output"),
                std::string::npos);
    }
  }
}

TEST(NpzTest, ChangedBytesNeverCrash) {
  std::string whole = formatNpz({{"a", {DataType::UInt8, {2}, {1, 2}}}});
  for (size_t at = 0; at < whole.size(); ++at)
    for (char value : {'\x00', '\x7f', '\xff'}) {
      std::string changed = whole;
      changed[at] = value;
      try {
        parseArchive(changed);
      } catch (const Error &) {
      }
    }
}

} // namespace
} // namespace wsec::runtime
