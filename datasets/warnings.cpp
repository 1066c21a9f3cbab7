#include "datasets/warnings.h"

#include <algorithm>
#include <charconv>

#include "compiler/base/escape.h"

namespace thtrain {

namespace {

/// What the labels of a split are.
struct Labels {
  std::vector<int64_t> counts;  // of each class
  int64_t present = 0;          // classes with examples
  bool sorted = true;
};

Labels labels_of(const Split& split) {
  Labels out{.counts = std::vector<int64_t>(static_cast<size_t>(split.classes()))};
  int64_t last = 0;
  constexpr int64_t kRows = int64_t{1} << 16;
  for (int64_t first = 0; first < split.size(); first += kRows) {
    Tensor labels = split.read_targets(first, std::min(kRows, split.size() - first), DType::kFloat32);
    for (int64_t i = 0; i < labels.size(); ++i) {
      int64_t label = labels.data<int64_t>()[i];
      if (label < 0 || label >= split.classes()) continue;  // of a stream: refused when it is trained on
      out.present += out.counts[static_cast<size_t>(label)]++ == 0;
      out.sorted = out.sorted && label >= last;
      last = label;
    }
  }
  return out;
}

class Doubts {
 public:
  Doubts(const Dataset& data, bool shuffled)
      : data_(data), shuffled_(shuffled), train_(labels_of(data.train)), valid_(labels_of(data.valid)) {}

  std::vector<std::string> list() {
    if (has_header_of_numbers())
      add("the names in the header are numbers: is the first line an example? data.header = false takes it as one");
    if (data_.classes() >= data_.train.size() && have_gaps())
      add(str("there are ", train_.present, " distinct labels, of which the largest is ", data_.classes() - 1,
              "; labels are numbered from 0, so the model has ", data_.classes(), " classes for ", data_.train.size(),
              " training examples: number the labels from 0 to ", train_.present - 1));
    else if (data_.classes() >= data_.train.size())
      add(str("as many classes (", data_.classes(), ") as training examples (", data_.train.size(),
              "): is the label a name or a value of each example?",
              data_.columns.empty() ? "" : " data.label_column chooses another column"));
    else if (only_one_class())
      add(str("every training example is of class ", class_text(only_class()), ": there is nothing to tell apart",
              data_.columns.empty() ? "" : "; data.label_column names another column"));
    else if (are_values())
      add(str(train_.present, " classes in ", data_.train.size(), " training examples: is the label ",
              data_.class_names.empty() ? "a value, not a class? data.target = \"values\" takes numbers to approximate"
                                        : "a name of each example, not a class?",
              data_.columns.empty()       ? ""
              : data_.class_names.empty() ? "; data.label_column names another column"
                                          : " data.label_column names another column"));
    else if (begins_at_one())
      add("the labels begin at 1: class 0 has no examples, but the model learns it too; subtract 1 from each label");
    if (only_one_class() || are_values()) return out_;  // the other doubts follow from this one
    if (is_sorted() && !shuffled_)
      add("the training examples are sorted by class, and are taken in order: a minibatch sees few classes; "
          "trainer.shuffle = true mixes them");
    if (is_sorted() && data_.cut_from_end)
      add("the examples are sorted by class, and the last ones are kept for validation: they are of other classes than "
          "the rest; data.split = \"stratified\" draws them from each class");
    else if (data_.classes() < data_.train.size())
      add_missing();
    return out_;
  }

 private:
  bool has_header_of_numbers() const {
    auto is_number = [](const std::string& name) {
      double value = 0;
      auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
      return error == std::errc() && end == name.data() + name.size();
    };
    return data_.columns_named && std::all_of(data_.columns.begin(), data_.columns.end(), is_number) &&
           !counts_columns();
  }
  // Names that pandas gives, of which data.header had to be asked.
  bool counts_columns() const {
    for (size_t i = 0; i < data_.columns.size(); ++i)
      if (data_.columns[i] != std::to_string(i)) return false;
    return true;
  }
  bool only_one_class() const { return train_.present == 1 && data_.train.size() > 1 && valid_is_within(only_class()); }
  size_t only_class() const {
    return static_cast<size_t>(
        std::find_if(train_.counts.begin(), train_.counts.end(), [](int64_t n) { return n > 0; }) -
        train_.counts.begin());
  }
  bool valid_is_within(size_t only) const { return valid_.present == (count(valid_, only) > 0 ? 1 : 0); }
  // Many classes, and few examples of each.
  bool are_values() const {
    constexpr int64_t kFewestClasses = 20, kFewExamples = 5;
    return train_.present >= kFewestClasses && data_.train.size() < kFewExamples * train_.present;
  }
  // Few labels with several examples each, and numbers that none of them has.
  bool have_gaps() const {
    return train_.present > 1 && data_.class_names.empty() && 2 * train_.present <= data_.train.size();
  }
  bool begins_at_one() const {
    return data_.class_names.empty() && data_.classes() > 1 && count(train_, 0) == 0 && count(valid_, 0) == 0 &&
           count(train_, 1) > 0;
  }
  static int64_t count(const Labels& labels, size_t c) { return c < labels.counts.size() ? labels.counts[c] : 0; }
  bool is_sorted() const { return train_.sorted && train_.present > 1 && data_.train.size() >= 2 * train_.present; }

  void add_missing() {
    const char* stratified = "data.split = \"stratified\" gives each set its part of each class";
    const char* more = data_.cut_from_end ? stratified : "the model cannot learn it; add some, or leave its number out";
    add_missing(train_, "training", more);
    if (data_.valid.size() > 0)
      add_missing(valid_, "validation", data_.cut_from_end ? stratified : "the validation error says nothing about it");
  }

  void add_missing(const Labels& labels, const char* set, const char* what_to_do) {
    std::vector<std::string> missing;
    constexpr size_t kMost = 5;
    size_t total = 0;
    for (size_t c = begins_at_one() ? 1 : 0; c < labels.counts.size(); ++c) {
      if (labels.counts[c] == 0 && ++total <= kMost) missing.push_back(class_text(c));
    }
    if (total == 0) return;
    std::string more = total > kMost ? str(" and ", total - kMost, " more") : "";
    add(str("no ", set, " example is of class ", join(missing, ", "), more, "; ", what_to_do));
  }

  std::string class_text(size_t c) const {
    if (c >= data_.class_names.size()) return std::to_string(c);
    return str(c, " (\"", excerpt(data_.class_names[c], 40), "\")");
  }
  void add(std::string_view what) { out_.push_back(str(data_.train.y_array().origin, ": ", what)); }

  const Dataset& data_;
  bool shuffled_;
  Labels train_, valid_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> data_warnings(const Dataset& data, bool shuffled, bool are_learned) {
  std::vector<std::string> out;
  if (data.may_lack_header)
    out.push_back(str(data.train.x_array().origin,
                      ": the first line is taken as an example, but its numbers count on as the names of columns may: "
                      "data.header = true takes them as names, data.header = false as an example"));
  // Classes of steps, such as the next character, need not be balanced or mixed.
  const bool has_classes = are_learned && data.targets() == Targets::kClasses && !data.train.has_step_targets();
  if (has_classes && data.train.size() > 0) {
    const std::vector<std::string> doubts = Doubts(data, shuffled).list();
    out.insert(out.end(), doubts.begin(), doubts.end());
  }
  if (shuffled && data.is_window_default && data.shuffle_window > 0 && data.shuffle_window < data.train.size())
    out.push_back(str(data.train.x_array().origin, ": packed, so that ", data.shuffle_window,
                      " examples at a time are shuffled; data.shuffle_window takes another number, and a file that is "
                      "not packed is shuffled as a whole"));
  return out;
}

}  // namespace thtrain
