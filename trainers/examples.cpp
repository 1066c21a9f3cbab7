#include "trainers/examples.h"

#include "compiler/base/content_hash.h"
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
  if (streamed_ || split.size() == 0) return;
  all_ = split.all(floatx);
  all_.x = all_.x.reshape(with_count(split.size(), input_));
}

std::unique_ptr<ExampleStream> Examples::stream(bool shuffled, int64_t window,
                                                std::shared_ptr<const Augmentation> augmentation) const {
  return std::make_unique<ExampleStream>(split_, input_, floatx_, shuffled, window, std::move(augmentation));
}

Batch Examples::like(int64_t count) const {
  Batch out = split_.buffer(count, floatx_);
  out.x = out.x.reshape(with_count(count, input_));
  return out;
}

void Examples::set_plan(int64_t count, int64_t batch) {
  if (!streamed_ || count == 0) return;
  if (!stream_) stream_ = stream(false, 0);
  stream_->set_plan({count, batch});
}

Batch Examples::batch(int64_t begin, int64_t count) {
  if (streamed_) {
    if (!stream_) stream_ = stream(false, 0);
    return trimmed(stream_->at(begin, count));
  }
  Batch out{all_.x.rows(begin, count), all_.y.rows(begin, count)};
  if (has_weights()) out.weights = all_.weights.rows(begin, count);
  if (has_lengths()) out.lengths = all_.lengths.rows(begin, count);
  return trimmed(out);
}

Batch Examples::trimmed(Batch batch) const {
  if (!has_lengths()) return batch;
  const int64_t steps = longest(batch.lengths);
  batch.x = first_steps(batch.x, steps);
  if (split_.has_step_targets()) batch.y = first_steps(batch.y, steps);
  return batch;
}

Batch Examples::gather(std::span<const int64_t> examples) const {
  // Any array as rows of steps: one number, or one step, where it has none.
  auto rows_of = [&](const Tensor& all, int64_t steps) {
    if (all.rank() == 1) return first_steps(all.reshape({all.dim(0), 1}), examples, 1).reshape({std::ssize(examples)});
    return first_steps(all, examples, steps < 0 ? all.dim(1) : steps);
  };
  Batch out;
  int64_t steps = -1;
  if (has_lengths()) {
    out.lengths = rows_of(all_.lengths, -1);
    steps = longest(out.lengths);
  }
  out.x = rows_of(all_.x, steps);
  out.y = split_.targets() == Targets::kNone ? all_.y : rows_of(all_.y, split_.has_step_targets() ? steps : -1);
  if (has_weights()) out.weights = rows_of(all_.weights, -1);
  return out;
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
  return type_of_rows(streamed_ ? like(1).y : all_.y, count, has_lengths() && split_.has_step_targets());
}

int64_t Examples::bytes() const {
  if (streamed_ || size() == 0) return 0;
  const uint64_t more = (has_weights() ? all_.weights.bytes() : 0) + (has_lengths() ? all_.lengths.bytes() : 0);
  return static_cast<int64_t>(all_.x.bytes() + all_.y.bytes() + more);
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
  std::string out = str(size(), " examples ",
                        has_weights() ? content_hash({bytes_of(all_.x), bytes_of(all_.y), bytes_of(all_.weights)})
                                      : content_hash({bytes_of(all_.x), bytes_of(all_.y)}));
  if (has_lengths()) out += str(", lengths ", content_hash({bytes_of(all_.lengths)}));
  return out;
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
