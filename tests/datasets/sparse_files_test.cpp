// Sparse matrices in the files of other programs: SciPy's .npz and Matrix Market (tests/golden/sparse.py).
#include <complex>

#include "datasets/matrix_market.h"
#include "datasets/npz.h"
#include "datasets/sparse_npz.h"
#include "tests/support/datasets_support.h"

namespace thtrain::sparse_files_test {
namespace {

std::string golden(const std::string& name) {
  return source_path("tests/golden/sparse/" + name);
}

Tensor elements() {
  return Tensor::matrix({{1.5, 0.0, -2.0, 0.0}, {0.0, 0.0, 0.0, 0.0}, {0.0, 3.0, 0.0, 4.0}});
}

TEST(SparseNpz, ReadsWhatSciPySaves) {
  const SparseTensor csr = read_sparse_npz(golden("csr.npz"));
  EXPECT_TRUE(same_bits(csr.dense(), elements().cast(DType::kFloat32)));
  EXPECT_EQ(csr.format, SparseFormat::kCsr);
  EXPECT_EQ(csr.indices.dtype(), DType::kInt32);
  const SparseTensor csc = read_sparse_npz(golden("csc_deflated.npz"));
  EXPECT_TRUE(same_bits(csc.dense(), elements()));
  EXPECT_EQ(csc.format, SparseFormat::kCsc);
  const SparseTensor coo = read_sparse_npz(golden("coo.npz"));
  EXPECT_TRUE(same_bits(coo.dense(), Tensor::matrix<int64_t>({{3, 0, -4, 0}, {0, 0, 0, 0}, {0, 6, 0, 8}})));
  EXPECT_EQ(coo.format, SparseFormat::kCsr);
  EXPECT_EQ(read_sparse_npz(golden("complex.npz")).dense().data<std::complex<double>>()[0], std::complex(1.5, 3.0));
  const SparseTensor empty = read_sparse_npz(golden("empty.npz"));
  EXPECT_EQ(std::tuple(empty.rows, empty.columns, empty.stored()), std::tuple(2, 3, 0));
}

TEST(SparseNpz, WritesTheArraysOfSciPy) {
  TemporaryFolder folder;
  for (const char* name : {"csr.npz", "csc_deflated.npz", "complex.npz", "empty.npz"}) {
    SCOPED_TRACE(name);
    const SparseTensor matrix = read_sparse_npz(golden(name));
    write_sparse_npz(folder.path("a.npz"), matrix);
    const ZipReader written(folder.path("a.npz")), of_scipy(golden(name));
    for (size_t i = 0; i < written.entries().size(); ++i) {
      const ZipEntry &own = written.entries()[i], &other = of_scipy.entries().at(i);
      EXPECT_EQ(own.name, other.name);
      ASSERT_EQ(own.size, other.size) << own.name;
      std::string bytes(own.size, '\0'), expected(own.size, '\0');
      written.read(own, std::as_writable_bytes(std::span(bytes)));
      of_scipy.read(other, std::as_writable_bytes(std::span(expected)));
      EXPECT_EQ(bytes, expected) << own.name;
    }
  }
}

// An archive of these arrays, which says that it is a CSR.
class Archive {
 public:
  Archive() {
    write_sparse_npz(path(), SparseTensor::from_dense(elements()));
    const NpzFile file(path());
    for (const std::string& name : file.names())
      if (name != "format") arrays_.emplace_back(name, file.read(name));
  }
  std::string path() const { return folder_.path("a.npz"); }
  std::string error_with(const std::string& name, const Tensor& array, std::string_view format = "csr") const {
    ZipWriter zip(path());
    const auto add = [&](const std::string& entry, const std::string& header, std::span<const std::byte> bytes) {
      zip.add(entry + ".npy", {std::as_bytes(std::span(header)), bytes});
    };
    for (const auto& [other, own] : arrays_) {
      const Tensor& written = other == name ? array : own;
      add(other, npy_header_text(written), {static_cast<const std::byte*>(written.raw()), written.bytes()});
    }
    std::string header = npy_header_text(Tensor(int8_t{0}));
    header.replace(header.find("|i1"), 3, str("|S", format.size()));
    add("format", header, std::as_bytes(std::span(format)));
    zip.commit();
    return error_text([&] { read_sparse_npz(path()); });
  }

 private:
  TemporaryFolder folder_;
  std::vector<std::pair<std::string, Tensor>> arrays_;
};

TEST(SparseNpz, RefusesWhatIsNoMatrix) {
  const Archive archive;
  const std::string begin = "error: " + archive.path() + ": ";
  const std::string hint =
      "\n  hint:     matrix.sum_duplicates(), before scipy.sparse.save_npz, sorts the indices and adds what is given "
      "twice";
  EXPECT_EQ(archive.error_with("", {}), "no error");
  EXPECT_EQ(archive.error_with("indices", Tensor::vector<int32_t>({0, 2, 1, 9})),
            begin + "row 2 has an element with the index 9\n  expected: at least 0 and less than 4");
  EXPECT_EQ(archive.error_with("indices", Tensor::vector<int32_t>({2, 0, 1, 3})),
            begin + "in row 0 the index 0 follows 2\n  expected: ascending indices, each once" + hint);
  EXPECT_EQ(archive.error_with("indices", Tensor::vector<int32_t>({0, 2, 3, 3})),
            begin + "in row 2 the index 3 follows 3\n  expected: ascending indices, each once" + hint);
  EXPECT_EQ(archive.error_with("indptr", Tensor::vector<int32_t>({0, 2, 1, 4})),
            begin + "indptr is 2 at row 1, and 1 after it\n  expected: numbers that do not fall, up to 4");
  EXPECT_EQ(archive.error_with("indptr", Tensor::vector<int32_t>({0, 9, 2, 4})),
            begin + "indptr is 0 at row 0, and 9 after it\n  expected: numbers that do not fall, up to 4");
  EXPECT_EQ(archive.error_with("indptr", Tensor::vector<int32_t>({0, 2, 2, 5})),
            begin + "indptr begins with 0 and ends with 5\n  expected: from 0 to the number of elements, 4");
  EXPECT_EQ(archive.error_with("data", Tensor::vector<double>({1, 2, 3})),
            begin + "3 elements and 4 indices\n  expected: as many");
  EXPECT_EQ(archive.error_with("shape", Tensor::vector<int64_t>({int64_t{1} << 62, 4})),
            begin + "indptr has 4 elements\n  expected: one more than the 4611686018427387904 rows");
  EXPECT_EQ(archive.error_with("shape", Tensor::vector<int64_t>({3, -4})),
            begin + "the array shape is not that of a matrix\n  expected: two lengths\n  got:      [3, -4]");
  EXPECT_EQ(archive.error_with("indices", Tensor::vector<double>({0, 2, 1, 3})),
            begin + "the array indices has no indices\n  expected: int32 or int64\n  got:      float64[4]");
  EXPECT_EQ(archive.error_with("", {}, "bsr"),
            begin +
                "a sparse matrix in another format\n  expected: csr, csc or coo\n  got:      bsr\n"
                "  hint:     matrix.tocsr() before scipy.sparse.save_npz");
  EXPECT_EQ(archive.error_with("", {}, "coo"),
            begin + "there is no array named \"row\"\n  expected: one of indices, indptr, shape, data, format");
}

TEST(SparseNpz, RefusesOtherArchives) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.npz");
  write_npz(path, {{"train_x", elements()}});
  EXPECT_EQ(error_text([&] { read_sparse_npz(path); }),
            "error: " + path +
                ": there is no sparse matrix in the archive\n  expected: arrays format, shape and data, as "
                "scipy.sparse.save_npz writes them\n  got:      train_x");
  write_npz(path, {{"format", elements()}, {"shape", elements()}, {"data", elements()}});
  EXPECT_EQ(error_text([&] { read_sparse_npz(path); }),
            "error: " + path + ": the array shape is no vector\n  expected: one axis\n  got:      float64[3, 4]");
}

SparseTensor read_text(const TemporaryFolder& folder, const std::string& text) {
  return read_matrix_market(folder.write("a.mtx", text));
}

TEST(MatrixMarket, ReadsWhatSciPyWrites) {
  EXPECT_TRUE(same_bits(read_matrix_market(golden("real.mtx")).dense(), elements()));
  EXPECT_TRUE(same_bits(read_matrix_market(golden("symmetric.mtx")).dense(),
                        Tensor::matrix<int64_t>({{1, 0, 2}, {0, 3, 0}, {2, 0, 0}})));
  EXPECT_TRUE(same_bits(read_matrix_market(golden("skew.mtx")).dense(), Tensor::matrix({{0.0, -1.5}, {1.5, 0.0}})));
  EXPECT_TRUE(same_bits(read_matrix_market(golden("pattern.mtx")).dense(),
                        Tensor::matrix({{1.0, 0.0, 1.0, 0.0}, {0.0, 0.0, 0.0, 0.0}, {0.0, 1.0, 0.0, 1.0}})));
  const Tensor z = read_matrix_market(golden("complex.mtx")).dense();
  const auto* of_z = z.data<std::complex<double>>();
  EXPECT_EQ(of_z[1], std::complex(2.0, -1.0));
  EXPECT_EQ(of_z[2], std::complex(2.0, 1.0));
}

TEST(MatrixMarket, ElementsInAnyOrder) {
  TemporaryFolder folder;
  const std::string text =
      "%%matrixmarket MATRIX Coordinate Real General\r\n% a comment\r\n\r\n 2 3 3 \r\n2 3 4\r\n2\t1  3\r\n1 2 "
      "-.5e1\r\n";
  EXPECT_TRUE(same_bits(read_text(folder, text).dense(), Tensor::matrix({{0.0, -5.0, 0.0}, {3.0, 0.0, 4.0}})));
  EXPECT_EQ(read_text(folder, "%%MatrixMarket matrix coordinate real general\n2 0 0\n").rows, 2);
}

TEST(MatrixMarket, RefusesWithTheLine) {
  TemporaryFolder folder;
  const std::string begin = "error: " + folder.path("a.mtx") + ": ",
                    banner = "%%MatrixMarket matrix coordinate real general\n";
  const auto error = [&](const std::string& text) { return error_text([&] { read_text(folder, text); }); };
  EXPECT_EQ(error("1 1 1\n"), begin +
                                  "not a Matrix Market file\n  expected: a first line %%MatrixMarket matrix coordinate "
                                  "real general\n  got:      text that begins with \"1 1 1\"");
  EXPECT_EQ(
      error("%%MatrixMarket matrix array real general\n1 1\n1\n"),
      begin +
          "line 1: the matrix is not sparse\n  expected: coordinate\n  got:      \"array\"\n  hint:     numpy.save "
          "writes a dense matrix as .npy, which the source npy reads");
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real triangular\n1 1 0\n"),
            begin +
                "line 1: the symmetry is not known\n  expected: one of general, symmetric, skew-symmetric, hermitian\n"
                "  got:      \"triangular\"");
  EXPECT_EQ(error(banner), begin + "there are no sizes\n  expected: a line: rows columns elements");
  EXPECT_EQ(error(banner + "2 2\n"), begin +
                                         "line 2: not the sizes of the matrix\n  expected: rows, columns and elements: "
                                         "three integers, 0 or more\n  got:      \"2 2\"");
  EXPECT_EQ(error(banner + "2 2 9000000000000000000\n1 1 1\n"),
            begin + "line 2: more elements than a file of 76 bytes can have\n  expected: at most 19\n" +
                "  got:      \"2 2 9000000000000000000\"");
  EXPECT_EQ(error(banner + "9000000000000000000 2 1\n1 1 1\n"),
            begin + "line 2: too many rows for a file of 76 bytes\n  expected: at most 16778432 rows\n" +
                "  got:      9000000000000000000\n  hint:     nearly all of them would be empty: number the rows anew");
  EXPECT_EQ(error(banner + "2 2 2\n1 1 1\n"),
            begin + "there is 1 element\n  expected: 2, as line 2 says\n  hint:     was the file cut short?");
  EXPECT_EQ(error(banner + "2 2 1\n1 1 1\n2 2 2\n"),
            begin + "line 4: more elements than the sizes say\n  expected: 1, as in line 2\n  got:      \"2 2 2\"");
  EXPECT_EQ(error(banner + "2 2 1\n1 x 1\n"),
            begin + "line 3: not an element of the matrix\n  expected: row column value\n  got:      \"1 x 1\"");
  EXPECT_EQ(error(banner + "2 2 1\n0 1 1\n"),
            begin +
                "line 3: the element is outside of the matrix\n  expected: rows 1 to 2, columns 1 to 2\n"
                "  got:      \"0 1 1\"\n  hint:     rows and columns are counted from 1");
  EXPECT_EQ(error(banner + "2 2 3\n1 2 1\n1 1 1\n1 2 1\n"),
            begin + "line 5: row 1, column 2 is in line 3 already\n  expected: each place once");
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 2 1\n2 1 1\n"),
            begin +
                "line 4: row 1, column 2 is in line 3 already\n  expected: each place once\n  hint:     of a symmetric "
                "matrix the elements on one side of the diagonal are given");
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 2 1\n"),
            begin +
                "line 2: the matrix is symmetric, but not square\n  expected: as many rows as columns\n"
                "  got:      \"2 3 1\"");
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n"),
            begin +
                "line 3: an element on the diagonal of a skew-symmetric matrix\n  expected: none: they are 0\n"
                "  got:      \"1 1 1\"");
}

}  // namespace
}  // namespace thtrain::sparse_files_test
