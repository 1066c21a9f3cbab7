#include "trainers/examples.h"

#include <functional>
#include <numeric>

#include "compiler/base/content_hash.h"
#include "compiler/base/content_hasher.h"
#include "trainers/data_fingerprint.h"

namespace thtrain {

static Shape with_count(int64_t count, const Shape& input) {
  Shape out = {count};
  out.insert(out.end(), input.begin(), input.end());
  return out;
}

Examples::Examples(const Split& split, const Shape& input, DType floatx, bool streamed)
    : split_(split),
      input_(split.is_sequence() ? with_count(split.steps(), input) : input),
      floatx_(floatx),
      streamed_(streamed) {
  if (!has_all() || split.size() == 0) return;
  all_ = split.all(floatx);
  all_.x = all_.x.reshape(with_count(split.size(), input_));
}

std::unique_ptr<ExampleStream> Examples::stream(bool shuffled, int64_t window,
                                                std::shared_ptr<const Augmentation> augmentation) const {
  return std::make_unique<ExampleStream>(split_, input_, floatx_, shuffled, window, std::move(augmentation));
}

Batch Examples::like(int64_t count) const {
  if (is_sparse()) {
    Batch out{Tensor(), split_.read_targets(0, count, floatx_)};
    if (has_weights()) out.weights = split_.read_weights(0, count, floatx_);
    return out;
  }
  Batch out = split_.buffer(count, floatx_);
  out.x = out.x.reshape(with_count(count, input_));
  return out;
}

void Examples::set_plan(const ExampleStream::Plan& plan) {
  if ((!streamed_ && !is_sparse()) || plan.count == 0) return;
  if (!stream_) stream_ = stream(false, 0);
  stream_->set_plan(plan);
}

Batch Examples::batch(int64_t begin, int64_t count) {
  if (streamed_ || is_sparse()) {
    if (!stream_) stream_ = stream(false, 0);
    return trimmed(stream_->at(begin, count));
  }
  if (has_lengths()) {
    std::vector<int64_t> numbers(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), begin);
    return gather(numbers);
  }
  Batch out{all_.x.rows(begin, count), all_.y.rows(begin, count)};
  if (has_weights()) out.weights = all_.weights.rows(begin, count);
  return out;
}

Batch Examples::trimmed(Batch batch) const {
  if (!has_lengths()) return batch;
  const int64_t steps = longest(batch.lengths);
  batch.x = first_steps(batch.x, steps);
  if (split_.has_step_targets()) batch.y = first_steps(batch.y, steps);
  return batch;
}

Batch Examples::gather(std::span<const int64_t> examples) const {
  int64_t steps = 1;
  for (int64_t i : examples) steps = std::max(steps, split_.length(i));
  Batch out = split_.first_steps(steps).read(examples, floatx_);
  Shape shape = input_;
  shape[0] = out.x.dim(1);
  out.x = out.x.reshape(with_count(std::ssize(examples), shape));
  return trimmed(std::move(out));
}

static Type type_of_rows(const Tensor& rows, int64_t count, bool has_open_steps) {
  Type out{.dtype = rows.dtype(), .dims = {count}};
  for (size_t i = 1; i < rows.rank(); ++i) out.dims.push_back(rows.dim(i));
  if (has_open_steps) out.dims.at(1) = "steps";
  return out;
}

Type Examples::input_type(int64_t count) const {
  return type_of_rows(Tensor::empty(floatx_, with_count(0, input_)), count, has_lengths());
}

Type Examples::target_type(int64_t count) const {
  if (size() == 0) return {.dtype = DType::kInt64, .dims = {count}};
  return type_of_rows(has_all() ? all_.y : like(1).y, count, has_lengths() && split_.has_step_targets());
}

int64_t Examples::bytes() const {
  if (!has_all() || size() == 0) return 0;
  return static_cast<int64_t>(all_.x.bytes() + all_.y.bytes() + (has_weights() ? all_.weights.bytes() : 0));
}

void Examples::check_unchanged() const {
  if (!streamed_ || size() == 0) return;
  auto check = [](const DataArray& array) {
    if (!array.source) return;
    try {
      array.source->check_unchanged();
    } catch (const UserError& error) {
      throw placed(error, array.where);
    }
  };
  check(split_.x_array());
  check(split_.y_array());
  if (has_weights()) check(split_.weights_array());
}

// An array of all examples as one part, which is read some rows at a time.
static void add_to(ContentHasher& hash, const Split& split, DType floatx,
                   const std::function<Tensor(const Batch&)>& array_of) {
  constexpr int64_t kElements = int64_t{1} << 20;
  const Tensor one = array_of(split.buffer(1, floatx));
  const bool has_rows = one.size() > 0;
  hash.begin_part(has_rows ? one.bytes() * static_cast<uint64_t>(split.size()) : 0);
  const int64_t rows = std::max<int64_t>(1, kElements / element_count(split.input_shape()));
  for (int64_t first = 0; has_rows && first < split.size(); first += rows) {
    const Tensor some = array_of(split.read(first, std::min(rows, split.size() - first), floatx));
    hash.add({static_cast<const char*>(some.raw()), some.bytes()});
  }
}

// Of the numbers, their columns, the targets and weights, some rows at a time.
static std::string sparse_hash(const Split& split, DType floatx) {
  constexpr int64_t kRows = 1024;
  ContentHasher hash;
  for (int64_t first = 0; first < split.size(); first += kRows) {
    std::vector<int64_t> rows(static_cast<size_t>(std::min(kRows, split.size() - first)));
    std::iota(rows.begin(), rows.end(), first);
    const Batch batch = split.read_sparse(rows, floatx);
    const Batch::Sparse& x = batch.sparse;
    for (const Tensor& part : {x.values, x.places, x.indptr, x.columns, batch.y, batch.weights}) {
      hash.begin_part(part.bytes());
      hash.add({static_cast<const char*>(part.raw()), part.bytes()});
    }
  }
  return hash.text();
}

std::string Examples::identity() const {
  if (size() == 0) return "0 examples";
  if (streamed_) {
    const DataArray &x = split_.x_array(), &y = split_.y_array();
    std::string out = str(size(), " examples of ", data_fingerprint(x),
                          x.origin == y.origin ? "" : str("; labels ", data_fingerprint(y)));
    if (has_weights() && split_.weights_array().origin != x.origin)
      out += str("; weights ", data_fingerprint(split_.weights_array()));
    if (has_lengths()) out += str("; lengths ", data_fingerprint(split_.lengths_array()));
    return out;
  }
  auto bytes_of = [](const Tensor& t) { return std::string_view(static_cast<const char*>(t.raw()), t.bytes()); };
  if (is_sparse()) return str(size(), " sparse examples ", sparse_hash(split_, floatx_));
  if (!has_lengths())
    return str(size(), " examples ",
               has_weights() ? content_hash({bytes_of(all_.x), bytes_of(all_.y), bytes_of(all_.weights)})
                             : content_hash({bytes_of(all_.x), bytes_of(all_.y)}));
  ContentHasher hash, lengths;
  add_to(hash, split_, floatx_, [](const Batch& batch) { return batch.x; });
  add_to(hash, split_, floatx_, [](const Batch& batch) { return batch.y; });
  if (has_weights()) add_to(hash, split_, floatx_, [](const Batch& batch) { return batch.weights; });
  add_to(lengths, split_, floatx_, [](const Batch& batch) { return batch.lengths; });
  return str(size(), " examples ", hash.text(), ", lengths ", lengths.text());
}

Split sample_of(const Split& split, int64_t count, bool streamed) {
  auto is_packed = [](const DataArray& array) { return array.source && array.source->is_sequential(); };
  if (streamed && (is_packed(split.x_array()) || is_packed(split.y_array()))) return split.part(0, count);
  // Neighbours in a file are read at once.
  const int64_t block = std::clamp<int64_t>(count / 16, 1, 64), blocks = (count + block - 1) / block;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(i + (split.size() - count) * (i / block) / blocks);
  return split.part(std::move(rows));
}

// What learns such targets.
static const char* objective_hint(Targets targets) {
  switch (targets) {
    case Targets::kValues:
      return "loss.type = \"squared_error\" learns values, behind a last layer of type \"dense\"; whole numbers "
             "that are classes are read as such with data.target = \"classes\"";
    case Targets::kLabels:
      return "loss.type = \"binary_crossentropy\" learns several labels, behind a last layer of type \"dense\" with "
             "activation = \"sigmoid\"";
    case Targets::kLabelSequences:
      return "loss.type = \"ctc\" learns sequences of labels";
    default:
      return "";
  }
}

void require_classes(const Split& split) {
  if (split.size() == 0 || split.targets() == Targets::kClasses) return;
  throw UserError(Message{.what = str(split.x_array().origin, ": a classifier learns from class numbers"),
                          .expected = "a label for each example: the number of its class",
                          .got = split.targets() == Targets::kNone             ? "no labels"
                                 : split.targets() == Targets::kValues         ? "target values"
                                 : split.targets() == Targets::kLabelSequences ? "a sequence of labels of each sequence"
                                                                               : "several labels of each example",
                          .config = split.x_array().where,
                          .hint = objective_hint(split.targets())});
}

}  // namespace thtrain
