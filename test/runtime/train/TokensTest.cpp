// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Tokens.h"
#include "runtime/host/Npy.h"
#include "runtime/host/OutputFiles.h"
#include "runtime/program/Errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>

using namespace wsec::runtime;

namespace {

std::string written(const std::string &name, const std::string &content) {
  const std::string path = testing::TempDir() + "/" + name;
  OutputFiles files;
  files.add(path, content);
  files.commit();
  return path;
}

template <class Integer>
std::string npy(DataType type, const std::vector<Integer> &values,
                std::vector<int64_t> shape = {}) {
  HostTensor tensor{type, std::move(shape), {}};
  if (tensor.shape.empty())
    tensor.shape = {int64_t(values.size())};
  tensor.bytes.resize(values.size() * sizeof(Integer));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return formatNpy(tensor);
}

std::vector<int64_t> all(const Tokens &tokens) {
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < tokens.size(); ++i)
    values.push_back(tokens[i]);
  return values;
}

std::string errorOf(const std::function<void()> &make) {
  try {
    make();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Tokens, IntegersOfAnyWidth) {
  const std::vector<int64_t> expected{3, 0, 250};
  EXPECT_EQ(all(Tokens::open(
                written("u8.npy", npy<uint8_t>(DataType::UInt8, {3, 0, 250})))),
            expected);
  EXPECT_EQ(all(Tokens::open(written(
                "i16.npy", npy<int16_t>(DataType::Int16, {3, 0, 250})))),
            expected);
  EXPECT_EQ(all(Tokens::open(written(
                "u16.npy", npy<uint16_t>(DataType::UInt16, {3, 0, 65535})))),
            (std::vector<int64_t>{3, 0, 65535}));
  EXPECT_EQ(all(Tokens::open(written(
                "i64.npy", npy<int64_t>(DataType::Int64, {3, 0, 250})))),
            expected);
}

TEST(Tokens, TextAsBytesOrCharacters) {
  const std::string path = written("text.txt", "b\xC3\xA4"
                                               "ab\xE2\x82\xAC");
  EXPECT_EQ(
      all(Tokens::open(path)),
      (std::vector<int64_t>{'b', 0xC3, 0xA4, 'a', 'b', 0xE2, 0x82, 0xAC}));
  const Tokens characters = Tokens::open(path, TextUnit::Characters);
  EXPECT_EQ(all(characters), (std::vector<int64_t>{1, 2, 0, 1, 3}));
  EXPECT_EQ(characters.characters(),
            (std::vector<char32_t>{'a', 'b', 0xE4, 0x20AC}));
  EXPECT_EQ(characters.description(), "5 characters of 4 kinds");
  // Another text has the tokens of this one.
  const std::string other = written("other.txt", "\xE2\x82\xAC"
                                                 "a");
  EXPECT_EQ(
      all(Tokens::open(other, TextUnit::Characters, characters.characters())),
      (std::vector<int64_t>{3, 0}));
}

TEST(Tokens, RowsOverlapByNone) {
  std::vector<int16_t> values(20);
  std::iota(values.begin(), values.end(), 0);
  const Tokens tokens =
      Tokens::open(written("rows.npy", npy(DataType::Int16, values)));
  const HostTensor rows = tokens.rows(3, 2, 4);
  EXPECT_EQ(rows.shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(rows.number(0), 3);
  EXPECT_EQ(rows.number(4), 7);
  EXPECT_EQ(rows.number(7), 10);
}

TEST(Tokens, Refused) {
  EXPECT_THAT(
      errorOf([] { Tokens::open(written("a.json", "[]")); }),
      testing::HasSubstr("expected integers in a .npy file, or a .txt"));
  EXPECT_THAT(errorOf([] {
                Tokens::open(
                    written("f.npy", npy<float>(DataType::Float32, {1})));
              }),
              testing::HasSubstr("found float32[1]"));
  EXPECT_THAT(errorOf([] {
                Tokens::open(written(
                    "2d.npy", npy<int8_t>(DataType::Int8, {1, 2}, {1, 2})));
              }),
              testing::HasSubstr("of one dimension, found int8[1, 2]"));
  const std::string latin = written("latin.txt", "a\xE4z");
  EXPECT_THAT(errorOf([&] { Tokens::open(latin, TextUnit::Characters); }),
              testing::HasSubstr("byte 1 begins no character of UTF-8"));
  for (const char *text :
       {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"})
    EXPECT_NE(errorOf([&] {
                Tokens::open(written("bad.txt", text), TextUnit::Characters);
              }),
              "");
  const std::string known = written("known.txt", "ab");
  EXPECT_THAT(errorOf([&] {
                Tokens::open(
                    written("new.txt", "ac"), TextUnit::Characters,
                    Tokens::open(known, TextUnit::Characters).characters());
              }),
              testing::HasSubstr("character U+0063 is not one of the 2"));
}

TEST(Tokens, VocabularyAndCount) {
  const Tokens tokens = Tokens::open(
      written("v.npy", npy<int32_t>(DataType::Int32, {4, 96, 97, -1})));
  EXPECT_THAT(errorOf([&] { tokens.requireWithin(98); }),
              testing::HasSubstr("token 3 is -1"));
  EXPECT_THAT(
      errorOf([&] { tokens.requireWithin(97); }),
      testing::HasSubstr("token 2 is 97, and the vocabulary of the model "
                         "has 97: 0 to 96"));
  EXPECT_EQ(errorOf([&] { tokens.requireCount(4, "x"); }), "");
  EXPECT_THAT(errorOf([&] { tokens.requireCount(5, "2 steps"); }),
              testing::HasSubstr("2 steps take 5 tokens, and there are 4"));
}

TEST(Tokens, FilesGoOnWhereTheLastOneEnds) {
  const std::string bytes = written("u8.npy",
                                    npy<uint8_t>(DataType::UInt8, {3, 0, 250})),
                    words = written("i32.npy",
                                    npy<int32_t>(DataType::Int32, {7, 300})),
                    text = written("two.txt", "ba");
  const Tokens tokens = Tokens::open({bytes, words, text});
  EXPECT_EQ(all(tokens), (std::vector<int64_t>{3, 0, 250, 7, 300, 'b', 'a'}));
  EXPECT_EQ(tokens.path(), bytes + ", " + words + ", " + text);
  EXPECT_NE(tokens.digest(), Tokens::open({words, bytes, text}).digest());
  EXPECT_EQ(Tokens::open(std::vector{bytes}).digest(),
            Tokens::open(bytes).digest());
  EXPECT_THAT(errorOf([&] { tokens.requireWithin(251); }),
              testing::HasSubstr("i32.npy': token 1 is 300"));
  // The characters of both texts are one alphabet.
  const Tokens characters =
      Tokens::open({text, written("three.txt", "cab")}, TextUnit::Characters);
  EXPECT_EQ(all(characters), (std::vector<int64_t>{1, 0, 2, 0, 1}));
}

} // namespace
