#include "datasets/matrix_market.h"

#include <algorithm>
#include <array>
#include <complex>
#include <optional>

#include "compiler/base/escape.h"
#include "datasets/content.h"
#include "datasets/coordinates.h"
#include "datasets/csv_text.h"
#include "datasets/text_lines.h"

namespace thtrain {
namespace {

enum class Field { kReal, kInteger, kComplex, kPattern };
enum class Symmetry { kGeneral, kSymmetric, kSkew, kHermitian };

std::string_view next_word(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view out = line.substr(begin, end - begin);
  line = line.substr(end);
  return out;
}

class MatrixMarketReader {
 public:
  explicit MatrixMarketReader(const std::string& path) : path_(path), file_(path), lines_(file_) {}

  SparseTensor read() {
    read_banner();
    read_sizes();
    std::string_view line;
    while (next_line(line)) read_element(line);
    if (count_ != claimed_)
      throw file_error(path_, str(count_ == 1 ? "there is 1 element" : str("there are ", count_, " elements")),
                       str(claimed_, ", as line ", size_line_, " says"), {}, "was the file cut short?");
    EqualPlaces equal{};
    elements_.values = values();
    if (std::optional<SparseTensor> out = csr_of(elements_, rows_, columns_, equal)) return *out;
    throw file_error(path_,
                     str("line ", lines_of_[equal.second], ": row ", elements_.rows[equal.second] + 1, ", column ",
                         elements_.columns[equal.second] + 1, " is in line ", lines_of_[equal.first], " already"),
                     "each place once", {},
                     symmetry_ == Symmetry::kGeneral
                         ? ""
                         : "of a symmetric matrix the elements on one side of the diagonal are given");
  }

 private:
  UserError error(std::string what, std::string expected, std::string_view got, std::string hint = "") const {
    return file_error(path_, str("line ", lines_.number(), ": ", what), std::move(expected),
                      str('"', excerpt(got, 40), '"'), std::move(hint));
  }

  /// The next one that says something.
  bool next_line(std::string_view& line) {
    while (lines_.next(line)) {
      line = trimmed(line);
      if (!line.empty() && !line.starts_with('%')) return true;
    }
    return false;
  }

  template <class Kind, size_t kCount>
  Kind one_of(const std::array<std::pair<const char*, Kind>, kCount>& kinds, std::string_view word, const char* what,
              std::string hint = "") const {
    for (const auto& [name, kind] : kinds)
      if (word == name) return kind;
    throw error(str("the ", what, " is not known"),
                str("one of ", join(kinds, ", ", [](const auto& kind) { return kind.first; })), word, std::move(hint));
  }

  void read_banner() {
    const std::string beginning = file_.beginning();
    std::string_view line;
    std::string text;
    if (content_of(beginning) == Content::kText && lines_.next(line)) text = trimmed(line);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    std::string_view rest = text;
    if (next_word(rest) != "%%matrixmarket")
      throw file_error(path_, "not a Matrix Market file", "a first line %%MatrixMarket matrix coordinate real general",
                       content_text(beginning));
    const std::string_view object = next_word(rest), form = next_word(rest), field = next_word(rest),
                           symmetry = next_word(rest);
    if (object != "matrix") throw error("no matrix", "matrix", object);
    if (form != "coordinate")
      throw error("the matrix is not sparse", "coordinate", form,
                  form == "array" ? "numpy.save writes a dense matrix as .npy, which the source npy reads" : "");
    field_ = one_of(std::array{std::pair("real", Field::kReal), std::pair("double", Field::kReal),
                               std::pair("integer", Field::kInteger), std::pair("complex", Field::kComplex),
                               std::pair("pattern", Field::kPattern)},
                    field, "kind of number");
    symmetry_ =
        one_of(std::array{std::pair("general", Symmetry::kGeneral), std::pair("symmetric", Symmetry::kSymmetric),
                          std::pair("skew-symmetric", Symmetry::kSkew), std::pair("hermitian", Symmetry::kHermitian)},
               symmetry, "symmetry");
  }

  void read_sizes() {
    std::string_view line;
    if (!next_line(line)) throw file_error(path_, "there are no sizes", "a line: rows columns elements");
    size_line_ = lines_.number();
    std::string_view rest = line;
    std::array<std::optional<int64_t>, 3> sizes;
    for (auto& size : sizes) size = integer_in(next_word(rest));
    if (!trimmed(rest).empty() || !std::all_of(sizes.begin(), sizes.end(), [](auto n) { return n && *n >= 0; }))
      throw error("not the sizes of the matrix", "rows, columns and elements: three integers, 0 or more", line);
    rows_ = *sizes[0], columns_ = *sizes[1], claimed_ = *sizes[2];
    if (symmetry_ != Symmetry::kGeneral && rows_ != columns_)
      throw error("the matrix is symmetric, but not square", "as many rows as columns", line);
    // "1 1" and its line's end are the shortest element.
    constexpr uint64_t kShortest = 4;
    if (static_cast<uint64_t>(claimed_) > file_.size / kShortest)
      throw error(str("more elements than a file of ", file_.size, " bytes can have"),
                  str("at most ", file_.size / kShortest), line);
    require_believable_rows(path_, str("line ", size_line_, ": "), rows_, file_.size);
  }

  void read_element(std::string_view line) {
    if (++count_ > claimed_)
      throw error("more elements than the sizes say", str(claimed_, ", as in line ", size_line_), line);
    std::string_view rest = line;
    const std::optional<int64_t> i = integer_in(next_word(rest)), j = integer_in(next_word(rest));
    std::complex<double> value = 1;
    int64_t whole = 0;
    bool holds = i && j;
    if (field_ == Field::kInteger) {
      const std::optional<int64_t> number = integer_in(next_word(rest));
      holds = holds && number;
      whole = number.value_or(0);
    } else if (field_ != Field::kPattern) {
      const std::optional<double> re = number_in(next_word(rest));
      const std::optional<double> im = field_ == Field::kComplex ? number_in(next_word(rest)) : 0.0;
      holds = holds && re && im;
      value = {re.value_or(0), im.value_or(0)};
    }
    if (!holds || !trimmed(rest).empty()) throw error("not an element of the matrix", expected_element(), line);
    if (*i < 1 || *i > rows_ || *j < 1 || *j > columns_)
      throw error("the element is outside of the matrix", str("rows 1 to ", rows_, ", columns 1 to ", columns_), line,
                  "rows and columns are counted from 1");
    add(*i - 1, *j - 1, value, whole);
    if (symmetry_ == Symmetry::kSkew && *i == *j)
      throw error("an element on the diagonal of a skew-symmetric matrix", "none: they are 0", line);
    if (symmetry_ == Symmetry::kGeneral || *i == *j) return;
    const double sign = symmetry_ == Symmetry::kSkew ? -1 : 1;
    if (symmetry_ == Symmetry::kHermitian) value = std::conj(value);
    if (symmetry_ == Symmetry::kSkew) whole = static_cast<int64_t>(-static_cast<uint64_t>(whole));
    add(*j - 1, *i - 1, sign * value, whole);
  }

  const char* expected_element() const {
    if (field_ == Field::kPattern) return "row column";
    if (field_ == Field::kInteger) return "row column value, three integers";
    return field_ == Field::kReal ? "row column value" : "row column real imaginary";
  }

  void add(int64_t i, int64_t j, std::complex<double> value, int64_t whole) {
    elements_.rows.push_back(i);
    elements_.columns.push_back(j);
    lines_of_.push_back(lines_.number());
    if (field_ == Field::kInteger)
      integers_.push_back(whole);
    else
      numbers_.push_back(value);
  }

  Tensor values() const {
    const auto stored = static_cast<int64_t>(elements_.rows.size());
    if (field_ == Field::kInteger) return Tensor::of<int64_t>(integers_, {stored});
    if (field_ == Field::kComplex) return Tensor::of<std::complex<double>>(numbers_, {stored});
    Tensor out = Tensor::empty(DType::kFloat64, {stored});
    std::transform(numbers_.begin(), numbers_.end(), out.data<double>(), [](const auto& z) { return z.real(); });
    return out;
  }

  const std::string& path_;
  TextFile file_;
  TextLines lines_;
  Field field_ = Field::kReal;
  Symmetry symmetry_ = Symmetry::kGeneral;
  int64_t rows_ = 0, columns_ = 0, claimed_ = 0, size_line_ = 0, count_ = 0;
  Coordinates elements_;
  std::vector<int64_t> lines_of_;
  std::vector<std::complex<double>> numbers_;
  std::vector<int64_t> integers_;
};

}  // namespace

SparseTensor read_matrix_market(const std::string& path) {
  return MatrixMarketReader(path).read();
}

}  // namespace thtrain
