// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/memoryx/StoreNumbers.h"

#include <cstring>
#include <fstream>

namespace wsec::runtime {
namespace {

using namespace test;

class SafetensorsTest : public testing::Test {
protected:
  /// A file with this header, padded to `length` bytes, and zeros as data.
  std::string file(const std::string &header, size_t dataBytes,
                   const std::string &name = "t.safetensors") {
    std::string bytes;
    for (int i = 0; i < 8; ++i)
      bytes += char(header.size() >> (8 * i));
    return raw(bytes + header + std::string(dataBytes, '\0'), name);
  }
  std::string raw(const std::string &bytes,
                  const std::string &name = "t.safetensors") {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }
  void refused(const std::string &part, const std::string &header,
               size_t dataBytes = 8) {
    const std::string path = file(header, dataBytes);
    expectError(ErrorClass::BadTensor, part,
                [&] { SafetensorsFile its(path); });
  }
  /// A tensor of eight bytes with one field in the place of its own.
  static std::string tensor(const std::string &field = "",
                            const std::string &value = "") {
    std::string text;
    for (const auto &[name, its] :
         {std::pair<std::string, std::string>{"dtype", "\"F32\""},
          {"shape", "[2]"},
          {"data_offsets", "[0,8]"}})
      if (field != name || !value.empty())
        text += (text.empty() ? "{\"" : ",\"") + name +
                "\":" + (field == name ? value : its);
    return "{\"w\":" + text + "}}";
  }

  static TensorSource source(const std::string &name,
                             std::vector<uint64_t> shape,
                             const Floats &values) {
    return {name, "F32", std::move(shape), values.size() * 4,
            [&values](uint64_t offset, uint64_t bytes, void *to) {
              std::memcpy(
                  to, reinterpret_cast<const char *>(values.data()) + offset,
                  bytes);
            }};
  }
  static void expectValues(const FileTensor &tensor, const Floats &values) {
    ASSERT_EQ(tensor.bytes, values.size() * 4);
    EXPECT_EQ(std::memcmp(tensor.data, values.data(), tensor.bytes), 0);
  }
  const Folder folder;
};

TEST_F(SafetensorsTest, ReadsWhatTheFormatAllows) {
  const SafetensorsFile its(
      file(R"({"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},)"
           R"("__metadata__":{"format":"pt"},)"
           R"("scalar":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
           R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[8,8]}}   )",
           20));
  ASSERT_EQ(its.tensors().size(), 3u);
  EXPECT_EQ(its.tensors()[0].name, "scalar");
  EXPECT_EQ(its.tensors()[0].elements, 1u);
  EXPECT_EQ(its.tensors()[1].name, "none");
  EXPECT_EQ(its.tensors()[1].elements, 0u);
  EXPECT_EQ(its.tensors()[2].type, "BF16");
  EXPECT_EQ(its.tensors()[2].data + 12, its.file().data() + its.file().size());
  EXPECT_EQ(its.metadata().at("format"), "pt");
  EXPECT_TRUE(SafetensorsFile(file("{}", 0)).tensors().empty());
  EXPECT_EQ(SafetensorsFile(file(tensor(), 8)).tensors().size(), 1u);
}

TEST_F(SafetensorsTest, RefusesHeaders) {
  auto noFile = [&](const std::string &part, const std::string &bytes) {
    const std::string path = raw(bytes);
    expectError(ErrorClass::BadTensor, part,
                [&] { SafetensorsFile its(path); });
  };
  noFile("it has 0 bytes", "");
  noFile("it has 7 bytes", std::string(7, '\0'));
  noFile("its header has 18446744073709551615 bytes", std::string(16, '\xff'));
  noFile("its header has 9 bytes, the file 16",
         std::string("\x09\0\0\0\0\0\0\0{       ", 16));
  // Within the file, but longer than headers are.
  std::string large("\x01\xe1\xf5\x05\0\0\0\0{", 9);
  noFile("a header at most 100000000", large + std::string(100'000'000, ' '));
  refused("does not begin with '{'", "");
  refused("does not begin with '{'", " {}");
  refused("does not begin with '{'", "[]");
  refused("is no JSON, at byte", "{\"a\":");
  refused("is no JSON, at byte", "{} {}");
  refused("is no JSON, at byte", "{\"\xff\":{}}");
  refused("is nested more than 5 deep",
          "{\"w\":" + std::string(100'000, '[') + "}");
  refused("has 'w' twice", "{\"w\":{},\"w\":{}}");
  refused("has 'dtype' twice", R"({"w":{"dtype":"F32","dtype":"F32"}})");
  refused("'__metadata__' that is no object", R"({"__metadata__":[]})");
  refused("metadata 'a' that is no string", R"({"__metadata__":{"a":1}})");
  expectError(ErrorClass::IoError, "missing",
              [&] { SafetensorsFile its(folder / "missing"); });
}

TEST_F(SafetensorsTest, RefusesTensors) {
  refused("is no object", "{\"w\":1}");
  refused("has the unknown key 'strides'",
          R"({"w":{"dtype":"F32","strides":[1]}})");
  refused("has no 'dtype'", tensor("dtype"));
  refused("has no 'dtype'", tensor("dtype", "7"));
  refused("unknown type 'F31'", tensor("dtype", "\"F31\""));
  refused("has no list 'shape'", tensor("shape"));
  refused("has no list 'shape'", tensor("shape", "2"));
  refused("has -2 in 'shape'", tensor("shape", "[-2]"));
  refused("has 2.0 in 'shape'", tensor("shape", "[2.0]"));
  refused("has a number out of range", tensor("shape", "[1e400]"));
  refused("8 bytes of data, expected 12", tensor("shape", "[3]"));
  refused("expected more than 2^64",
          tensor("shape", "[4294967296,4294967296,2]"));
  refused("expected more than 2^64", tensor("shape", "[4611686018427387906]"));
  refused("8 bytes of data, expected 0", tensor("shape", "[0]"));
  // Three and a half bytes.
  refused("bytes of data, expected 3", R"({"w":{"dtype":"F4","shape":[7],)"
                                       R"("data_offsets":[0,3]}})");
  refused("has no list 'data_offsets'", tensor("data_offsets"));
  refused("are no begin and end", tensor("data_offsets", "[0]"));
  refused("are no begin and end", tensor("data_offsets", "[0,4,8]"));
  refused("are no begin and end", tensor("data_offsets", "[8,0]"));
  refused("in 'data_offsets'", tensor("data_offsets", "[-8,0]"));
  refused("ends at byte 16 of 8", tensor("data_offsets", "[8,16]"));
  refused("ends at byte 8 of 4", tensor(), 4);
}

TEST_F(SafetensorsTest, RefusesPlaces) {
  auto two = [](const std::string &first, const std::string &second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(SafetensorsFile(file(two("[4,8]", "[0,4]"), 8)).tensors()[0].name,
            "b");
  refused("tensor 'b' of", two("[0,4]", "[0,4]"));
  refused("overlaps 'a'", two("[0,4]", "[3,7]"));
  refused("has 1 bytes before it that are of no tensor", two("[0,4]", "[5,9]"),
          9);
  refused("has 2 bytes before it", two("[2,6]", "[6,10]"), 10);
  refused("has 1 bytes at its end", two("[0,4]", "[4,8]"), 9);
  refused("has 1 bytes at its end", "{}", 1);
}

TEST_F(SafetensorsTest, WritesWhatItReads) {
  const Floats a = numbers(1, 3000, 1), b = numbers(2, 7, 1), none;
  const std::vector<TensorSource> tensors = {source("layer.0.a", {3, 1000}, a),
                                             source("b", {7}, b),
                                             source("none", {0}, none)};
  const auto written = writeSafetensors(folder.path, "model", tensors);
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].name, "model.safetensors");
  const auto model = SafetensorsModel::open(folder.path);
  EXPECT_EQ(written[0].bytes, model.files()[0]->file().size());
  EXPECT_EQ(model.at("layer.0.a").offset % 64, 0u);
  EXPECT_EQ(model.at("layer.0.a").shape, (std::vector<uint64_t>{3, 1000}));
  expectValues(model.at("layer.0.a"), a);
  expectValues(model.at("b"), b);
  expectError(ErrorClass::BadTensor, "there is no tensor 'layer.0.b'",
              [&] { model.at("layer.0.b"); });
}

TEST_F(SafetensorsTest, DividesWithoutDividingTensors) {
  std::vector<Floats> values;
  for (uint64_t i = 0; i < 5; ++i)
    values.push_back(numbers(i, 100 + 50 * i, 1));
  std::vector<TensorSource> tensors;
  for (size_t i = 0; i < 5; ++i)
    tensors.push_back(
        source("w" + std::to_string(i), {values[i].size()}, values[i]));
  const auto written = writeSafetensors(folder.path, "model", tensors, 1000);
  ASSERT_EQ(written.size(), 5u); // 400 + 600, 800, 1000, 1200 and the index
  EXPECT_EQ(written[0].name, "model-00001-of-00004.safetensors");
  EXPECT_EQ(written[4].name, "model.safetensors.index.json");
  for (const std::string &path : {folder.path, folder / written[4].name}) {
    const auto model = SafetensorsModel::open(path);
    EXPECT_EQ(model.files().size(), 4u);
    for (size_t i = 0; i < 5; ++i)
      expectValues(model.at("w" + std::to_string(i)), values[i]);
  }
}

TEST_F(SafetensorsTest, RefusesIndices) {
  file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "1.st");
  file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "2.st");
  file(R"({"c":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "3.st");
  auto index = [&](const std::string &part, const std::string &text,
                   ErrorClass errorClass = ErrorClass::BadTensor) {
    const std::string path = raw(text, "i.json");
    expectError(errorClass, part, [&] { SafetensorsModel::open(path); });
  };
  EXPECT_EQ(SafetensorsModel::open(
                raw(R"({"weight_map":{"a":"1.st","c":"3.st"}})", "i.json"))
                .tensors()
                .size(),
            2u);
  index("is no JSON object", "[]");
  index("has no object 'weight_map'", "{}");
  index("has no object 'weight_map'", R"({"weight_map":[]})");
  index("has no file for 'a'", R"({"weight_map":{"a":1}})");
  index("has 'a' twice", R"({"weight_map":{"a":"1.st","a":"2.st"}})");
  for (const char *name : {"", "..", "/etc/passwd", "../1.st", "x/1.st"})
    index("expected a file of its own folder",
          std::string(R"({"weight_map":{"a":")") + name + "\"}}");
  index("4.st': No such file", R"({"weight_map":{"a":"4.st"}})",
        ErrorClass::IoError);
  index("does not have tensor 'c' of '3.st'",
        R"({"weight_map":{"a":"1.st","b":"3.st"}})");
  index("has tensor 'b', which is not in '1.st'",
        R"({"weight_map":{"a":"1.st","b":"1.st"}})");
  index("tensor 'a' is in two files",
        R"({"weight_map":{"a":"1.st","b":"2.st"}})");
}

TEST_F(SafetensorsTest, ParametersAreFloats) {
  ParameterStore store({});
  const SafetensorsFile its(
      file(R"({"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
           R"("h":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]}})",
           12));
  expectError(ErrorClass::BadTensor, "tensor 'i' is I64",
              [&] { store.add(its.tensors()[0]); });
  EXPECT_EQ(store.weights(store.add(its.tensors()[1])), (Floats{0, 0}));
}

} // namespace
} // namespace wsec::runtime
