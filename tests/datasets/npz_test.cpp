#include "datasets/npz.h"

#include <cmath>

#include "datasets/npy.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

std::string golden_archive(const std::string& name) {
  return source_path("tests/golden/npy/" + name);
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const ZipReader& zip, const ZipEntry& entry) {
  std::string out(entry.size, '\0');
  zip.read(entry, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(Npz, ReadsWhatNumPyWrites) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    SCOPED_TRACE(name);
    NpzFile file(golden_archive(name));
    EXPECT_EQ(file.names(), (std::vector<std::string>{"hidden/W", "hidden/b", "steps"}));
    EXPECT_TRUE(file.contains("hidden/W"));
    EXPECT_FALSE(file.contains("hidden/W.npy"));
    EXPECT_TRUE(same_bits(file.read("hidden/W"), Tensor::matrix<float>({{-1, -0.5, 0}, {0.5, 1, 1.5}})));
    EXPECT_TRUE(same_bits(file.read("hidden/b"), Tensor::vector<double>({-1, -0.5, 0})));
    EXPECT_TRUE(same_bits(file.read("steps"), Tensor(int64_t{7})));
    EXPECT_EQ(read_npz(golden_archive(name)).size(), 3u);
  }
}

TEST(Npz, ReadsSixtyFourBitSizes) {
  EXPECT_TRUE(same_bits(read_npz(golden_archive("zip64.npz")).at("big/x"),
                        Tensor::matrix<float>({{-1, -0.5, 0}, {0.5, 1, 1.5}})));
}

TEST(Npz, RoundTripsEveryDtypeAndStrides) {
  TemporaryFolder folder;
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (DType dtype : kAllDTypes) {
    arrays.emplace_back(str("layer/", name_of(dtype)),
                        Tensor::of(std::vector<double>{0, 1, 2, 3, 4, 5}, {2, 3}).cast(dtype));
  }
  arrays.emplace_back("transposed", read_npy(golden_archive("cube_fortran.npy")));
  arrays.emplace_back("nan", Tensor(std::nan("")));
  arrays.emplace_back("empty", Tensor::zeros(DType::kFloat32, {0, 4}));
  write_npz(folder.path("a.npz"), arrays);
  auto read = read_npz(folder.path("a.npz"));
  ASSERT_EQ(read.size(), arrays.size());
  for (const auto& [name, array] : arrays) EXPECT_TRUE(same_bits(read.at(name), array)) << name;
  write_npz(folder.path("b.npz"), arrays);
  EXPECT_EQ(read_file(folder.path("a.npz")), read_file(folder.path("b.npz"))) << "the bytes depend on the time";
}

TEST(Npz, ArraysCanBeWrittenToAndOutliveTheFile) {
  Tensor array;
  {
    NpzFile file(golden_archive("stored.npz"));
    array = file.read("hidden/W");
  }
  array.data<float>()[0] = 9;
  EXPECT_EQ(array.as_double(0), 9);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array.raw()) % 64, 0u);
}

TEST(Npz, AnArchiveWithoutArraysIsEmpty) {
  TemporaryFolder folder;
  write_npz(folder.path("none.npz"), {});
  EXPECT_TRUE(read_npz(folder.path("none.npz")).empty());
  ZipWriter zip(folder.path("notes.npz"));
  zip.add("notes.txt", {bytes_of("hello"), bytes_of(" world")});
  zip.commit();
  EXPECT_TRUE(NpzFile(folder.path("notes.npz")).names().empty());
  ZipReader reader(folder.path("notes.npz"));
  EXPECT_EQ(text_of(reader, reader.entries().at(0)), "hello world");
}

TEST(Zip, WritesSixtyFourBitFieldsWhereTheyAreNeeded) {
  TemporaryFolder folder;
  ZipWriter zip(folder.path("wide.zip"), 6);  // "large" begins at 6 bytes
  zip.add("small", {bytes_of("12345")});
  zip.add("large", {bytes_of("1234567")});
  zip.commit();
  ZipReader reader(folder.path("wide.zip"));
  ASSERT_EQ(reader.entries().size(), 2u);
  EXPECT_EQ(text_of(reader, reader.entries()[0]), "12345");
  EXPECT_EQ(text_of(reader, reader.entries()[1]), "1234567");
}

TEST(Zip, RefusesTwoEntriesOfOneName) {
  TemporaryFolder folder;
  ZipWriter zip(folder.path("a.zip"));
  zip.add("x", {});
  EXPECT_THROW(zip.add("x", {}), InternalError);
  EXPECT_THROW(zip.add("", {}), InternalError);
}

// ---- errors, whole texts ----

std::string npz_error(const std::string& path) {
  return error_text([&] { read_npz(path); });
}

const std::string kAgain = "\n  hint:     copy or write the file again";

TEST(NpzErrors, NotAnArchive) {
  TemporaryFolder folder;
  auto text = [](const std::string& path, const std::string& got) {
    return "error: " + path +
           ": not an .npz file\n  expected: a zip archive, as numpy.savez writes it\n  got:      " + got;
  };
  std::string path = folder.path("none.npz");
  EXPECT_EQ(npz_error(path), "error: " + path + ": no such file");
  path = folder.write("empty.npz", "");
  EXPECT_EQ(npz_error(path), text(path, "an empty file"));
  path = folder.write("other.npz", std::string(100, 'x'));
  EXPECT_EQ(npz_error(path), text(path, "text that begins with \"" + std::string(40, 'x') + "...\""));
  path = golden_archive("f4_little.npy");
  EXPECT_EQ(npz_error(path), text(path, "a .npy file") + "\n  hint:     this is one array: name it .npy");
}

TEST(NpzErrors, TruncatedAnywhere) {
  TemporaryFolder folder;
  std::string whole = read_file(golden_archive("stored.npz"));
  std::string path = folder.write("cut.npz", whole.substr(0, 500));
  EXPECT_EQ(npz_error(path), "error: " + path +
                                 ": the .npz file is truncated\n"
                                 "  expected: a zip archive with a directory at its end\n"
                                 "  got:      500 bytes without one" +
                                 kAgain);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(npz_error(folder.write("cut.npz", whole.substr(0, length))), "no error") << length;
  }
}

TEST(NpzErrors, ADamagedEntryIsNamed) {
  TemporaryFolder folder;
  std::string whole = read_file(golden_archive("stored.npz"));
  std::string flipped = whole;
  flipped[200] = static_cast<char>(flipped[200] ^ 1);  // among the elements of hidden/W
  std::string path = folder.write("a.npz", flipped);
  EXPECT_EQ(npz_error(path), "error: " + path +
                                 ": entry \"hidden/W.npy\" is damaged\n"
                                 "  expected: CRC 01684a4b\n"
                                 "  got:      CRC 9c67ab3d" +
                                 kAgain);
  // Every single damaged byte gives an error or leaves the arrays whole (dates and the like); never anything else.
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    std::string good = read_file(golden_archive(name));
    auto arrays = read_npz(golden_archive(name));
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x55);
      folder.write("b.npz", bad);
      try {
        for (const auto& [key, array] : read_npz(folder.path("b.npz"))) {
          EXPECT_TRUE(!arrays.contains(key) || same_bits(array, arrays.at(key))) << name << " byte " << i;
        }
      } catch (const UserError&) {
      }
    }
  }
}

/// The location of the `n`th central header in `bytes`.
size_t central_header(const std::string& bytes, int n = 0) {
  size_t at = bytes.find("PK\1\2");
  for (; n > 0; --n) at = bytes.find("PK\1\2", at + 1);
  return at;
}

TEST(NpzErrors, DamagedDirectories) {
  TemporaryFolder folder;
  std::string whole = read_file(golden_archive("stored.npz"));
  size_t first = central_header(whole), end = whole.find("PK\5\6");
  const std::pair<std::pair<size_t, char>, std::string> rows[] = {
      {{first, 'X'}, "entry 1 of 3 is not there"},
      {{central_header(whole, 2) + 28, 100}, "entry 3 is cut off"},
      {{first + 45, 1}, "entry \"hidden/W.npy\" lies outside the file"},
      {{end + 19, 1}, "it lies outside the file"},
      {{end + 10, 4}, "entry 4 of 4 is not there"},
  };
  for (const auto& [change, why] : rows) {
    std::string bad = whole;
    bad[change.first] = change.second;
    std::string path = folder.write("d.npz", bad);
    EXPECT_EQ(npz_error(path),
              "error: " + path + ": the directory of the .npz file is damaged\n  got:      " + why + kAgain);
  }
  std::string wide = read_file(golden_archive("zip64.npz"));
  size_t locator = wide.find("PK\6\7"), record = wide.find("PK\6\6"), extra = central_header(wide) + 46 + 9;
  const std::pair<std::pair<size_t, char>, std::string> wide_rows[] = {
      {{locator + 14, 1}, "its 64-bit end record lies outside the file"},
      {{record, 'X'}, "its 64-bit end record is not there"},
      {{extra, 2}, "entry \"big/x.npy\" has no 64-bit sizes"},
  };
  for (const auto& [change, why] : wide_rows) {
    std::string bad = wide;
    bad[change.first] = change.second;
    std::string path = folder.write("d.npz", bad);
    EXPECT_EQ(npz_error(path),
              "error: " + path + ": the directory of the .npz file is damaged\n  got:      " + why + kAgain);
  }
}

TEST(NpzErrors, DamagedSizesAndLocations) {
  TemporaryFolder folder;
  std::string stored = read_file(golden_archive("stored.npz")), deflated = read_file(golden_archive("deflated.npz"));
  auto error = [&](std::string bytes, size_t at, char value) {
    bytes[at] = value;
    return npz_error(folder.write("s.npz", bytes));
  };
  std::string head = "error: " + folder.path("s.npz") + ": entry \"hidden/W.npy\" is damaged\n";
  size_t s = central_header(stored), d = central_header(deflated);
  EXPECT_EQ(error(stored, s + 24, 1),
            head + "  expected: 1 bytes unpacked\n  got:      only 152 bytes packed" + kAgain);
  EXPECT_EQ(error(stored, s + 42, 1), head + "  expected: a local header at byte 1\n  got:      other bytes" + kAgain);
  EXPECT_EQ(error(stored, 29, 9),
            head + "  expected: 152 bytes from byte 2366 on\n  got:      a file of 816 bytes" + kAgain);
  EXPECT_EQ(error(deflated, d + 24, 10), head + "  expected: 10 bytes unpacked\n  got:      more bytes" + kAgain);
  EXPECT_EQ(error(deflated, d + 25, 9), head + "  expected: 2456 bytes unpacked\n  got:      152 bytes" + kAgain);
  EXPECT_EQ(error(deflated, d + 27, 9),
            head + "  expected: 150995096 bytes unpacked\n  got:      only 87 bytes packed" + kAgain);
  EXPECT_EQ(error(deflated, 62, 7),
            head + "  expected: 152 bytes unpacked\n  got:      bytes that cannot be unpacked after 0 bytes" + kAgain);
}

TEST(NpzErrors, WaysOfPackingThatAreNotSupported) {
  TemporaryFolder folder;
  EXPECT_EQ(npz_error(golden_archive("bzip2.npz")),
            "error: " + golden_archive("bzip2.npz") +
                ": entry \"x.npy\" is packed in a way that is not supported\n"
                "  expected: stored (method 0) or deflated (method 8)\n"
                "  got:      method 12\n"
                "  hint:     write the file with numpy.savez or numpy.savez_compressed");
  std::string encrypted = read_file(golden_archive("stored.npz"));
  encrypted[central_header(encrypted) + 8] |= 1;
  std::string path = folder.write("e.npz", encrypted);
  EXPECT_EQ(npz_error(path), "error: " + path +
                                 ": entry \"hidden/W.npy\" is encrypted\n"
                                 "  expected: an archive without a password\n"
                                 "  hint:     write the file with numpy.savez or numpy.savez_compressed");
}

TEST(NpzErrors, NamesThatAreMissingOrDouble) {
  NpzFile file(golden_archive("stored.npz"));
  EXPECT_EQ(error_text([&] { file.read("hidden/w"); }), "error: " + golden_archive("stored.npz") +
                                                            ": there is no array named \"hidden/w\"\n"
                                                            "  expected: one of hidden/W, hidden/b, steps");
  TemporaryFolder folder;
  std::string bytes = read_file(golden_archive("stored.npz"));
  bytes[central_header(bytes, 1) + 46 + 7] = 'W';  // hidden/b becomes a second hidden/W
  std::string path = folder.write("two.npz", bytes);
  EXPECT_EQ(npz_error(path),
            "error: " + path +
                ": two arrays are named \"hidden/W\"\n"
                "  expected: a name for each array\n"
                "  hint:     which of them is meant is not known: write the file again with other names");
}

TEST(NpzErrors, AnErrorInsideAnArrayNamesBoth) {
  TemporaryFolder folder;
  ZipWriter zip(folder.path("a.npz"));
  zip.add("x.npy", {bytes_of("hello")});
  zip.commit();
  EXPECT_EQ(npz_error(folder.path("a.npz")), "error: " + folder.path("a.npz") +
                                                 "[x]: not a .npy file\n"
                                                 "  expected: an array as numpy.save writes it\n"
                                                 "  got:      text that begins with \"hello\"\n"
                                                 "  hint:     source = \"csv\" reads tables of numbers");
}

TEST(Npz, TheHeaderOfAnArrayIsReadAlone) {
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    NpzFile file(golden_archive(name));
    for (const std::string& array : file.names()) {
      NpyHeader header = file.header(array);
      Tensor whole = file.read(array);
      EXPECT_EQ(str(name_of(header.dtype), shape_text(header.shape)), whole.type_text()) << name << " " << array;
    }
  }
}

TEST(ArrayPath, NamesAnArrayInAnNpzFile) {
  ArrayPath one("a/b.npz[x[1]]"), other("a[1].npy"), open("b.npz[x");
  EXPECT_EQ(one.file, "a/b.npz");
  EXPECT_EQ(one.name, "x[1]");
  EXPECT_EQ(other.file, "a[1].npy");
  EXPECT_EQ(other.name, "");
  EXPECT_EQ(open.file, "b.npz[x");
}

}  // namespace
}  // namespace thtrain
