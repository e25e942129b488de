// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Npy.h"
#include "runtime/program/Errors.h"

#include <cstring>
#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

HostTensor parse(const std::string &bytes) {
  return parseNpy(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(),
                  "x.npy");
}
NamedTensors parseArchive(const std::string &bytes) {
  return parseNpz(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(),
                  "x.npz");
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
            "'x.npz': 'a.npy' is damaged: its checksum is another one; write "
            "or copy the archive again");
}

/// One array with a field of its central directory changed: `offset` is from
/// the entry's beginning.
std::string withField(size_t offset, uint8_t value) {
  std::string whole = formatNpz({{"a", {DataType::UInt8, {2}, {1, 2}}}});
  whole[whole.rfind("PK\x01\x02") + offset] = char(value);
  return whole;
}

// Of its zip64 field, behind 46 bytes, the name and the field's own header.
constexpr size_t sizeField = 46 + 5 + 4, offsetField = sizeField + 16;

TEST(NpzTest, SaysWhatIsWrong) {
  std::string whole = withField(0, 'P');
  EXPECT_EQ(refusal("hello, world, this is no archive", parseArchive),
            "'x.npz': not a .npz file; numpy.savez writes them, and a single "
            "tensor is given as NAME=FILE.npy");
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1), parseArchive),
            "'x.npz': the .npz file is cut off: the directory at its end is "
            "missing; write or copy it again");
  EXPECT_EQ(refusal(withField(0, 'Q'), parseArchive),
            "'x.npz': the directory of the archive is damaged");
  EXPECT_EQ(refusal(withField(8, 1), parseArchive),
            "'x.npz': encrypted archives are not supported");
  EXPECT_EQ(refusal(withField(10, 12), parseArchive),
            "'x.npz': 'a.npy' is packed by method 12; numpy.savez stores (0), "
            "numpy.savez_compressed deflates (8)");
  EXPECT_EQ(refusal(withField(10, 8), parseArchive),
            "'x.npz': 'a.npy' does not inflate");
  EXPECT_EQ(refusal(withField(offsetField, 1), parseArchive),
            "'x.npz': 'a.npy' is not where it should be");
  whole = withField(10, 8);
  whole[whole.rfind("PK\x01\x02") + sizeField + 2] = 0x40; // 4 MiB
  EXPECT_EQ(refusal(whole, parseArchive),
            "'x.npz': 'a.npy' states an impossible size");
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
