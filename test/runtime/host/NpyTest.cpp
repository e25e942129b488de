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

std::string refusal(const std::string &bytes) {
  try {
    parse(bytes);
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
  EXPECT_EQ(refusal("hello, world"), "'x.npy': not a .npy file");
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
  EXPECT_THROW(parseArchive(whole), Error);
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
