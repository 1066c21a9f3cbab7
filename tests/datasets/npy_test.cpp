#include "datasets/npy.h"

#include <cstring>

#include "compiler/base/file.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

std::string golden(const std::string& name) {
  return source_path("tests/golden/npy/" + name);
}

/// What generate.py's values() gives.
double expected_value(DType dtype, int64_t i) {
  auto x = static_cast<double>(i);
  if (dtype == DType::kBool) return i % 3 == 1;
  if (is_complex(dtype)) return x - 2;
  if (is_float(dtype)) return x * 0.5 - 1;
  return is_signed_int(dtype) ? x * 11 - 20 : x * 40;
}

void expect_values(const Tensor& array) {
  for (int64_t i = 0; i < array.size(); ++i) EXPECT_EQ(array.as_double(i), expected_value(array.dtype(), i)) << i;
  if (array.dtype() == DType::kComplex64) {
    EXPECT_EQ((array.at<std::complex<float>>({1, 2}).imag()), 5.5f);
  }
  if (array.dtype() == DType::kComplex128) {
    EXPECT_EQ((array.at<std::complex<double>>({1, 2}).imag()), 5.5);
  }
}

std::string code_of(DType dtype) {
  std::string kind = dtype == DType::kBool  ? "b"
                     : is_complex(dtype)    ? "c"
                     : is_float(dtype)      ? "f"
                     : is_signed_int(dtype) ? "i"
                                            : "u";
  return kind + std::to_string(size_of(dtype));
}

TEST(ReadNpy, ReadsEveryDtypeOrderAndByteOrderOfNumPy) {
  for (DType dtype : kAllDTypes) {
    for (const char* suffix : {"_little.npy", "_big_fortran.npy"}) {
      SCOPED_TRACE(code_of(dtype) + suffix);
      NpyHeader header = read_npy_header(golden(code_of(dtype) + suffix));
      EXPECT_EQ(header.dtype, dtype);
      EXPECT_EQ(header.shape, Shape({2, 3}));
      EXPECT_EQ(header.fortran_order, suffix[1] == 'b');
      EXPECT_EQ(header.swapped, suffix[1] == 'b' && size_of(dtype) > 1);
      Tensor array = read_npy(golden(code_of(dtype) + suffix));
      EXPECT_EQ(array.dtype(), dtype);
      EXPECT_EQ(array.shape(), Shape({2, 3}));
      expect_values(array);
    }
  }
}

TEST(ReadNpy, ReadsVersions2And3) {
  for (int version : {2, 3}) {
    std::string path = golden(str("version", version, ".npy"));
    EXPECT_EQ(read_npy_header(path).version, version);
    expect_values(read_npy(path));
  }
}

TEST(ReadNpy, ReadsScalarsVectorsAndEmptyArrays) {
  Tensor scalar = read_npy(golden("scalar.npy"));
  EXPECT_EQ(scalar.shape(), Shape());
  EXPECT_EQ(scalar.as_double(), 2.5);
  Tensor vector = read_npy(golden("vector.npy"));
  EXPECT_EQ(vector.shape(), Shape({5}));
  expect_values(vector);
  EXPECT_EQ(read_npy(golden("empty.npy")).type_text(), "float32[0, 3]");
}

TEST(ReadNpy, FortranOrderBecomesRowMajor) {
  Tensor read = read_npy(golden("cube_fortran.npy"));
  EXPECT_TRUE(read.is_contiguous());
  expect_values(read);
}

TEST(ReadNpy, ElementsMayHaveOddAddresses) {
  TemporaryFolder folder;
  std::string header = "{'shape': (2,), 'descr': '<f8', 'fortran_order': False}";
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  bytes += header + std::string(16, '\0');
  EXPECT_EQ(read_npy(folder.write("odd.npy", bytes)).type_text(), "float64[2]");
}

TEST(ReadNpyElements, KeepsTheBytesOfTheFile) {
  InputFile file(golden("i4_big_fortran.npy"));
  NpyHeader header = read_npy_header(file);
  EXPECT_TRUE(header.swapped);
  Tensor raw = read_npy_elements(file, header);
  EXPECT_EQ(raw.strides(), Shape({1, 2}));
  EXPECT_EQ(raw.at<int32_t>({1, 2}), 35 << 24);
}

TEST(ReadNpy, OtherBytesThanOneAreTrueToo) {
  TemporaryFolder folder;
  std::string bytes = read_file(golden("b1_little.npy"));
  bytes.back() = 7;
  Tensor array = read_npy(folder.write("b.npy", bytes));
  unsigned char last;
  std::memcpy(&last, static_cast<char*>(array.raw()) + 5, 1);
  EXPECT_EQ(last, 1);
}

TEST(WriteNpy, WritesTheBytesThatNumPyWrites) {
  TemporaryFolder folder;
  for (DType dtype : kAllDTypes) {
    std::string path = golden(code_of(dtype) + "_little.npy");
    write_npy(folder.path("x.npy"), read_npy(path));
    EXPECT_EQ(read_file(folder.path("x.npy")), read_file(path)) << path;
  }
  for (const char* name : {"scalar.npy", "vector.npy", "empty.npy"}) {
    write_npy(folder.path("x.npy"), read_npy(golden(name)));
    EXPECT_EQ(read_file(folder.path("x.npy")), read_file(golden(name))) << name;
  }
}

TEST(WriteNpy, RoundTripsStridedArrays) {
  TemporaryFolder folder;
  Tensor cube = read_npy(golden("cube_fortran.npy"));
  write_npy(folder.path("cube.npy"), cube);
  EXPECT_TRUE(same_bits(read_npy(folder.path("cube.npy")), cube));
}

// ---- errors, whole texts ----

const char kSupported[] =
    "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, complex64, complex128";

std::string npy_error(const std::string& path) {
  return error_text([&] { read_npy_header(path); });
}

/// A version 1 file with this header text and `data` bytes behind it.
std::string npy_bytes(const std::string& header, size_t data = 0) {
  std::string out("\x93NUMPY\1\0", 8);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header + std::string(data, '\0');
}

TEST(NpyErrors, MissingFolderAndPermission) {
  TemporaryFolder folder;
  std::string missing = folder.path("none.npy");
  EXPECT_EQ(npy_error(missing), "error: " + missing + ": no such file");
  EXPECT_EQ(npy_error(folder.path()),
            "error: " + folder.path() + ": not a regular file\n  expected: a file\n  got:      a folder");
  std::string secret = folder.write("secret.npy", "x");
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::filesystem::permissions(secret, std::filesystem::perms::none);
  WithoutRoot without_root;
  EXPECT_EQ(npy_error(secret), "error: " + secret +
                                   ": the file may not be read\n"
                                   "  expected: read permission for this user\n"
                                   "  got:      permission denied\n"
                                   "  hint:     the file belongs to another user");
}

TEST(NpyErrors, AnotherFormat) {
  TemporaryFolder folder;
  struct Row {
    std::string bytes, got, hint;
  };
  const Row rows[] = {
      {"", "an empty file", ""},
      {"hello world\n1", "text that begins with \"hello world\"", "source = \"csv\" reads tables of numbers"},
      {"PK\3\4 more", "a zip archive, such as an .npz file", "an array in an .npz file is named so: file.npz[name]"},
      {"\x1f\x8b\x08 more", "a gzipped file", "unpack it: gunzip " + folder.path("a.npy")},
      {std::string("\0\0\x8\3", 4), "an IDX file", "source = \"idx\" reads IDX files"},
      {"\x89HDF\r\n\x1a\n", "an HDF5 file", ""},
      {"\x89PNG\r\n\x1a\n", "a picture", ""},
      {std::string("\7\0\1", 3), "bytes of no known format", ""},
  };
  for (const Row& row : rows) {
    std::string path = folder.write("a.npy", row.bytes);
    EXPECT_EQ(npy_error(path), "error: " + path +
                                   ": not a .npy file\n  expected: an array as numpy.save writes it\n  got:      " +
                                   row.got + (row.hint.empty() ? "" : "\n  hint:     " + row.hint));
  }
}

TEST(NpyErrors, UnknownVersion) {
  TemporaryFolder folder;
  std::string path = folder.write("v.npy", std::string("\x93NUMPY\4\1\2\0", 10));
  EXPECT_EQ(npy_error(path), "error: " + path +
                                 ": the version of the .npy file is not supported\n"
                                 "  expected: version 1.0, 2.0 or 3.0\n"
                                 "  got:      version 4.1");
}

TEST(NpyErrors, TruncatedAnywhere) {
  TemporaryFolder folder;
  std::string whole = read_file(golden("f4_little.npy"));
  auto text = [](const std::string& path, const std::string& rest) {
    return "error: " + path + ": the .npy file is truncated" + rest + "\n  hint:     copy or write the file again";
  };
  std::string path = folder.write("a.npy", whole.substr(0, 7));
  EXPECT_EQ(npy_error(path), text(path, "\n  expected: a header of 8 bytes\n  got:      7 bytes"));
  path = folder.write("a.npy", whole.substr(0, 100));
  EXPECT_EQ(npy_error(path), text(path, "\n  expected: a header of 128 bytes\n  got:      100 bytes"));
  path = folder.write("a.npy", whole.substr(0, 151));
  EXPECT_EQ(npy_error(path), text(path,
                                  ", or its header is wrong\n"
                                  "  expected: 128 bytes of header and 24 of float32[2, 3]\n"
                                  "  got:      151 bytes"));
  for (size_t length = 6; length < whole.size(); ++length) {
    EXPECT_NE(npy_error(folder.write("a.npy", whole.substr(0, length))), "no error") << length;
  }
}

TEST(NpyErrors, MalformedHeaders) {
  TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "'{' was expected at character 1"},
      {"(1, 2)", "'{' was expected at character 1"},
      {"{'descr': '<f4'", "a comma or } is missing"},
      {"{'descr': '<f4',", "a quoted text was expected at character 17"},
      {"{'descr': '<f4, }", "a quote is not closed"},
      {"{'descr' '<f4', }", "':' was expected at character 10"},
      {"{'descr': '<f4', 'fortran_order': no, 'shape': (1,), }", "fortran_order is neither True nor False"},
      {"{'descr': '<f4', 'fortran_order': False, }", "the key 'shape' is missing"},
      {"{'fortran_order': False, 'shape': (1,)}", "the key 'descr' is missing"},
      {"{'descr': '<f4', 'descr': '<f8', 'shape': (1,)}", "the key 'descr' appears twice"},
      {"{'order': 'C'}", "the key 'order' is unknown"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': [1]}", "'(' was expected at character 51"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}", "a comma or ) is missing in the shape"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}", "a length of the shape is not an integer"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "text follows the dictionary"},
  };
  for (const auto& [header, why] : rows) {
    std::string path = folder.write("m.npy", npy_bytes(header, 4));
    std::string got = header.empty() ? "" : "\n  got:      " + header;
    EXPECT_EQ(npy_error(path), "error: " + path +
                                   ": the header of the .npy file is malformed\n"
                                   "  expected: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" +
                                   got + "\n  hint:     " + why);
  }
  std::string axes = "{'shape': (";
  for (int i = 0; i < 65; ++i) axes += "1, ";
  std::string deep = folder.write("m.npy", npy_bytes(axes + "), 'descr': '<f4', 'fortran_order': False}", 4));
  EXPECT_EQ(npy_error(deep), "error: " + deep +
                                 ": the header of the .npy file is malformed\n"
                                 "  expected: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n"
                                 "  got:      " +
                                 axes.substr(0, 72) +
                                 "...\n"
                                 "  hint:     the shape has more than 64 axes");
  std::string huge = folder.write("m.npy", std::string("\x93NUMPY\2\0\0\0\0\x10", 12));
  EXPECT_EQ(npy_error(huge), "error: " + huge +
                                 ": the header of the .npy file is malformed\n"
                                 "  expected: a header of at most 1048576 bytes\n"
                                 "  got:      268435456 bytes");
}

TEST(NpyErrors, ImpossibleShapes) {
  TemporaryFolder folder;
  const std::pair<const char*, const char*> rows[] = {
      {"(-1, 3)", "a length of -1"},
      {"(99999999999999999999,)", "a length of 99999999999999999999"},
      {"(4294967296, 4294967296)", "float32[4294967296, 4294967296]"},
      {"(0, 4294967296, 4294967296)", "float32[0, 4294967296, 4294967296]"},
  };
  for (const auto& [shape, got] : rows) {
    std::string header = str("{'descr': '<f4', 'fortran_order': False, 'shape': ", shape, ", }");
    std::string path = folder.write("s.npy", npy_bytes(header, 16));
    EXPECT_EQ(npy_error(path), "error: " + path +
                                   ": the shape in the .npy header is impossible\n"
                                   "  expected: lengths that are not negative and give less than 2^63 bytes\n"
                                   "  got:      " +
                                   got);
  }
  std::string path =
      folder.write("s.npy", npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }", 16));
  EXPECT_EQ(npy_error(path), "error: " + path +
                                 ": the .npy file is truncated, or its header is wrong\n"
                                 "  expected: 81 bytes of header and 4000000000000 of float32[1000000, 1000000]\n"
                                 "  got:      97 bytes\n"
                                 "  hint:     copy or write the file again");
}

TEST(NpyErrors, UnsupportedDtypes) {
  auto text = [](const std::string& path, const std::string& got, const std::string& hint) {
    return "error: " + path + ": the dtype of the .npy file is not supported\n  expected: " + kSupported +
           "\n  got:      " + got + (hint.empty() ? "" : "\n  hint:     " + hint);
  };
  const std::string cast = "convert it in NumPy: numpy.save(path, array.astype(numpy.float32))";
  const std::string numbers =
      "numbers are needed; numpy.unique(texts, return_inverse=True)[1] makes class numbers of texts";
  EXPECT_EQ(npy_error(golden("half.npy")), text(golden("half.npy"), "'<f2' (float16)", cast));
  EXPECT_EQ(npy_error(golden("text.npy")), text(golden("text.npy"), "'<U2' (strings)", numbers));
  EXPECT_EQ(npy_error(golden("objects.npy")), text(golden("objects.npy"), "'|O' (Python objects)", numbers));
  EXPECT_EQ(npy_error(golden("records.npy")),
            text(golden("records.npy"), "a structured dtype (records)", "save one array of numbers"));
  EXPECT_EQ(npy_error(golden("dates.npy")), text(golden("dates.npy"), "'<M8[D]' (dates)", cast));
  TemporaryFolder folder;
  std::string path = folder.write("q.npy", npy_bytes("{'descr': '', 'fortran_order': False, 'shape': (1,)}", 4));
  EXPECT_EQ(npy_error(path), text(path, "'' (an unknown code)", ""));
}

TEST(NpyErrors, WritingNeedsAFolderAndPermission) {
  TemporaryFolder folder;
  Tensor array(1.0);
  std::string path = folder.path("none/x.npy");
  EXPECT_EQ(error_text([&] { write_npy(path, array); }),
            "error: " + path + ": the file cannot be written\n  expected: a folder " + folder.path("none") +
                "\n  got:      no such folder\n  hint:     run: mkdir -p " + folder.path("none"));
  std::string closed = folder.path("closed/x.npy");
  std::filesystem::create_directory(folder.path("closed"));
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::filesystem::permissions(folder.path("closed"), std::filesystem::perms(0555));
  {
    WithoutRoot without_root;
    EXPECT_EQ(error_text([&] { write_npy(closed, array); }),
              "error: " + closed + ": the file cannot be written\n  expected: write permission for the folder " +
                  folder.path("closed") + "\n  got:      permission denied");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("closed")));
}

}  // namespace
}  // namespace thtrain
