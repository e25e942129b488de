// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/TensorProto.h"
#include "runtime/program/Errors.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

using Bytes = std::vector<uint8_t>;

NamedTensor parse(const Bytes &bytes) {
  return parseTensorProto(bytes.data(), bytes.size(), "input_0.pb");
}

TEST(TensorProtoTest, RawData) {
  NamedTensor read = parse({0x08, 2,      // dims: 2
                            0x10, 1,      // float
                            0x42, 1, 'x', // name
                            0x4a, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0});
  EXPECT_EQ(read.name, "x");
  EXPECT_EQ(describe(read.tensor.type, read.tensor.shape), "float32[2]");
  EXPECT_EQ(read.tensor.number(0), 1);
  EXPECT_EQ(read.tensor.number(1), -2);
}

TEST(TensorProtoTest, PackedDimensionsAndTypedData) {
  NamedTensor read =
      parse({0x0a, 2, 1, 2, // dims packed: 1, 2
             0x10, 7,       // int64
             0x3a, 11, 5,   // int64_data: 5, -1
             0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01});
  EXPECT_EQ(read.tensor.shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(read.tensor.number(0), 5);
  EXPECT_EQ(read.tensor.number(1), -1);
}

TEST(TensorProtoTest, HalvesAsIntegersAndUnpackedFloats) {
  EXPECT_EQ(parse({0x08, 1, 0x10, 10, 0x2a, 2, 0x80, 0x78}).tensor.number(0),
            1); // 0x3c00
  EXPECT_EQ(parse({0x08, 1, 0x10, 1, 0x25, 0, 0, 0x80, 0x3f}).tensor.number(0),
            1);
}

TEST(TensorProtoTest, TypedDataOfEveryWidth) {
  // double_data, uint64_data for uint32, int32_data for int8 and bool.
  EXPECT_EQ(parse({0x08, 1, 0x10, 11, 0x52, 8, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f})
                .tensor.number(0),
            1);
  EXPECT_EQ(parse({0x08, 1, 0x10, 12, 0x5a, 2, 0x80, 0x01}).tensor.number(0),
            128);
  EXPECT_EQ(parse({0x08, 1, 0x10, 3, 0x2a, 10, 0xfe, 0xff, 0xff, 0xff, 0xff,
                   0xff, 0xff, 0xff, 0xff, 0x01})
                .tensor.number(0),
            -2);
  EXPECT_EQ(parse({0x08, 1, 0x10, 9, 0x2a, 1, 1}).tensor.number(0), 1);
}

TEST(TensorProtoTest, SkipsOtherFields) {
  EXPECT_EQ(
      parse({0x62, 3, 'd', 'o', 'c', 0x10, 9, 0x4a, 1, 1}).tensor.number(0), 1);
}

TEST(TensorProtoTest, SaysWhatIsWrong) {
  auto refusal = [](const Bytes &bytes) {
    try {
      parse(bytes);
      return std::string();
    } catch (const Error &error) {
      return error.message();
    }
  };
  EXPECT_EQ(refusal({0x10, 8}),
            "'input_0.pb': element type STRING of ONNX is not supported");
  EXPECT_EQ(refusal({0x10, 99}),
            "'input_0.pb': element type 99 of ONNX is not supported");
  EXPECT_EQ(refusal({0x08, 3, 0x10, 1}),
            "'input_0.pb': float32[3] does not fit the 0 bytes of data");
  EXPECT_EQ(refusal({0x08, 1}),
            "'input_0.pb': not an ONNX tensor: it has no element type");
  EXPECT_EQ(refusal({0x4a, 9, 0}), "'input_0.pb': not a whole ONNX tensor");
  EXPECT_EQ(refusal({0x10, 1, 0x70, 1}),
            "'input_0.pb': tensors with external data are not supported here");
}

} // namespace
} // namespace wsec::runtime
