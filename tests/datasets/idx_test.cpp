#include "datasets/idx.h"

#include <zlib.h>

#include "compiler/base/file.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

std::string big_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes; i-- > 0;) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

std::string idx_bytes(int code, const std::vector<uint32_t>& shape, const std::string& elements) {
  std::string out = big_endian(static_cast<uint64_t>(code) << 8 | shape.size(), 4);
  for (uint32_t length : shape) out += big_endian(length, 4);
  return out + elements;
}

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string digits_bytes() {
  std::string elements;
  for (int i = 0; i < 24; ++i) elements += static_cast<char>(i * 10);
  return idx_bytes(8, {2, 3, 4}, elements);
}

TEST(ReadIdx, ReadsPlainAndGzippedBytes) {
  TemporaryFolder folder;
  std::string plain = folder.write("digits-idx3-ubyte", digits_bytes());
  std::string packed = folder.write("digits-idx3-ubyte.gz", gzipped(digits_bytes()));
  std::string misnamed = folder.write("packed-without-the-name", gzipped(digits_bytes()));
  for (const std::string& path : {plain, packed, misnamed}) {
    Tensor array = read_idx(path);
    EXPECT_EQ(array.type_text(), "uint8[2, 3, 4]");
    EXPECT_EQ(array.at<uint8_t>({1, 2, 3}), 230);
    EXPECT_EQ(array.at<uint8_t>({0, 1, 0}), 40);
  }
}

TEST(ReadIdx, ReadsEveryDtype) {
  TemporaryFolder folder;
  auto read = [&](int code, const std::string& elements) {
    return read_idx(folder.write("a", idx_bytes(code, {2}, elements)));
  };
  EXPECT_TRUE(same_bits(read(0x09, "\x01\xff"), Tensor::vector<int8_t>({1, -1})));
  EXPECT_TRUE(same_bits(read(0x0b, big_endian(258, 2) + big_endian(0xfffe, 2)), Tensor::vector<int16_t>({258, -2})));
  EXPECT_TRUE(
      same_bits(read(0x0c, big_endian(70000, 4) + big_endian(0xfffffffd, 4)), Tensor::vector<int32_t>({70000, -3})));
  EXPECT_TRUE(
      same_bits(read(0x0d, big_endian(0x3f800000, 4) + big_endian(0xc0200000, 4)), Tensor::vector<float>({1, -2.5})));
  EXPECT_TRUE(same_bits(read(0x0e, big_endian(0x3ff0000000000000, 8) + big_endian(0xc004000000000000, 8)),
                        Tensor::vector<double>({1, -2.5})));
}

TEST(ReadIdx, ReadsEmptyArrays) {
  TemporaryFolder folder;
  EXPECT_EQ(read_idx(folder.write("a", idx_bytes(8, {0, 28}, ""))).type_text(), "uint8[0, 28]");
}

TEST(ReadIdx, ReadsMnist) {
  const char* data = std::getenv("THTRAIN_DATA");
  if (!data) GTEST_SKIP() << "THTRAIN_DATA is not set";
  Tensor labels = read_idx(str(data, "/mnist/t10k-labels-idx1-ubyte.gz"));
  ASSERT_EQ(labels.type_text(), "uint8[10000]");
  EXPECT_EQ(labels.as_int(0), 7);
  EXPECT_EQ(labels.as_int(9999), 6);
  EXPECT_EQ(read_idx(str(data, "/mnist/t10k-images-idx3-ubyte.gz")).type_text(), "uint8[10000, 28, 28]");
}

// ---- errors, whole texts ----

std::string idx_error(const std::string& path) {
  return error_text([&] { read_idx(path); });
}

TEST(IdxErrors, MissingAndFolder) {
  TemporaryFolder folder;
  EXPECT_EQ(idx_error(folder.path("none")), "error: " + folder.path("none") + ": no such file");
  EXPECT_EQ(idx_error(folder.path()),
            "error: " + folder.path() + ": not a regular file\n  expected: a file\n  got:      a folder");
}

TEST(IdxErrors, NotIdx) {
  TemporaryFolder folder;
  struct Row {
    std::string bytes, got, hint;
  };
  const Row rows[] = {
      {"", "an empty file", ""},
      {std::string("\0\0\x8", 3), "bytes of no known format", ""},
      {"\x93NUMPY", "a .npy file", "\n  hint:     source = \"npy\" reads .npy files"},
      {"1,2\n", "text that begins with \"1,2\"", "\n  hint:     source = \"csv\" reads tables of numbers"},
      {"PK\3\4", "a zip archive, such as an .npz file", ""},
      {gzipped("1,2\n"), "a gzipped file of something else", ""},
  };
  for (const auto& [bytes, got, hint] : rows) {
    std::string path = folder.write("a", bytes);
    EXPECT_EQ(
        idx_error(path),
        "error: " + path + ": not an IDX file\n  expected: a file in MNIST's IDX format\n  got:      " + got + hint);
  }
  std::string path = folder.write("a", idx_bytes(0x0a, {1}, "x"));
  EXPECT_EQ(idx_error(path), "error: " + path +
                                 ": the IDX file holds numbers of an unknown type\n"
                                 "  expected: 8 (uint8), 9 (int8), 11 (int16), 12 (int32), 13 (float32), 14 (float64)\n"
                                 "  got:      type 10");
}

TEST(IdxErrors, ImpossibleShape) {
  TemporaryFolder folder;
  std::string path = folder.write("a", idx_bytes(8, {4294967295, 4294967295, 2}, "x"));
  EXPECT_EQ(idx_error(path), "error: " + path +
                                 ": the shape in the IDX header is impossible\n"
                                 "  expected: lengths that give less than 2^63 bytes\n"
                                 "  got:      uint8[4294967295, 4294967295, 2]");
}

TEST(IdxErrors, TruncatedOrTooLong) {
  TemporaryFolder folder;
  std::string whole = digits_bytes();
  auto text = [](const std::string& path, const std::string& expected, const std::string& got) {
    return "error: " + path + ": the IDX file is truncated, or its header is wrong\n  expected: " + expected +
           "\n  got:      " + got + "\n  hint:     copy the file again";
  };
  const std::string all = "16 bytes of header and 24 of uint8[2, 3, 4]";
  std::string path = folder.write("a", whole.substr(0, 10));
  EXPECT_EQ(idx_error(path), text(path, "a header of 16 bytes", "10 bytes"));
  path = folder.write("a", whole.substr(0, 39));
  EXPECT_EQ(idx_error(path), text(path, all, "39 bytes"));
  path = folder.write("a", whole.substr(0, 20));
  EXPECT_EQ(idx_error(path), text(path, all, "20 bytes"));
  path = folder.write("a", gzipped(whole.substr(0, 39)));
  EXPECT_EQ(idx_error(path), text(path, all, "39 bytes unpacked"));
  path = folder.write("a", gzipped(idx_bytes(8, {60000, 28, 28}, "")));
  EXPECT_EQ(idx_error(path), text(path, "16 bytes of header and 47040000 of uint8[60000, 28, 28]",
                                  str("at most ", 1032 * std::filesystem::file_size(path), " bytes unpacked")));
  path = folder.write("a", whole + "x");
  EXPECT_EQ(idx_error(path), "error: " + path + ": the IDX file is longer than its header says\n  expected: " + all +
                                 "\n  got:      41 bytes");
  path = folder.write("a", gzipped(whole + "x"));
  EXPECT_EQ(idx_error(path), "error: " + path + ": the IDX file is longer than its header says\n  expected: " + all +
                                 "\n  got:      more bytes unpacked");
}

TEST(IdxErrors, DamagedGzip) {
  TemporaryFolder folder;
  std::string packed = gzipped(digits_bytes());
  std::string path = folder.write("a", packed.substr(0, packed.size() - 9));
  EXPECT_EQ(idx_error(path), "error: " + path + ": the gzip data is truncated\n  hint:     copy the file again");
  std::string crc = packed;
  crc[crc.size() - 6] = static_cast<char>(crc[crc.size() - 6] ^ 1);
  path = folder.write("a", crc);
  EXPECT_EQ(idx_error(path), "error: " + path +
                                 ": the gzip data is damaged\n"
                                 "  got:      incorrect data check\n"
                                 "  hint:     copy the file again");
  for (size_t length = 0; length < packed.size(); ++length) {
    EXPECT_NE(idx_error(folder.write("a", packed.substr(0, length))), "no error") << length;
  }
}

}  // namespace
}  // namespace thtrain
