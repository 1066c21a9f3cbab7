#include "datasets/sources/array_sets.h"

#include "datasets/locate.h"
#include "datasets/npz.h"

namespace thtrain {

namespace {

/// A file of fewer bytes is read at once; the rows of a larger one are converted a piece at a time.
constexpr uint64_t kReadByPiecesFrom = uint64_t{64} << 20;

class ArrayReader {
 public:
  ArrayReader(const DatasetOptions& options, DType floatx, const ArraySets& sets)
      : options_(options), floatx_(floatx), sets_(sets), memory_limit_(most_bytes_of(options)) {
    needed_ = bytes_in_memory(sets.train);
    for (const auto* set : {&sets.valid, &sets.test}) needed_ += *set ? bytes_in_memory(**set) : 0;
    is_streamed_ = needed_ > memory_limit_;
  }

  SourceData read() {
    SourceData out{.train = split(sets_.train), .streamed = is_streamed_};
    if (sets_.valid) out.valid = split(*sets_.valid);
    if (sets_.test) out.test = split(*sets_.test);
    return out;
  }

 private:
  double scale_of(const ArrayFile& x) const {
    return scale_or(options_, x.described().raw.dtype() == DType::kUInt8 ? sets_.byte_scale : 1);
  }
  /// Are these the numbers that will be trained on, so that nothing has to be converted?
  bool is_unchanged(const ArrayFile& x) const {
    return x.described().raw.dtype() == floatx_ && !x.described().swapped && scale_of(x) == 1 &&
           options_.standardize == Standardization::By::kNone;
  }
  bool by_pieces(const ArrayFile& x) const {
    return x.can_stay() && x.bytes() >= kReadByPiecesFrom && !is_unchanged(x);
  }

  /// Bytes of the arrays while they are in memory.
  uint64_t bytes_in_memory(const SetArrays& files) const {
    uint64_t out = static_cast<uint64_t>(files.x.described().raw.size()) * size_of(floatx_);
    if (!is_unchanged(files.x) && !by_pieces(files.x)) out += files.x.bytes();
    if (files.y) out += files.y->bytes() + static_cast<uint64_t>(files.y->described().raw.size()) * sizeof(int64_t);
    if (files.weights) out += files.weights->bytes() + static_cast<uint64_t>(files.weights->described().raw.size()) * 8;
    return out;
  }

  [[noreturn]] void fail_too_large(const ArrayFile& file) const {
    throw UserError({.what = str(file.described().origin, ": the data does not fit in memory"),
                     .expected = str("at most ", bytes_text(static_cast<double>(memory_limit_)),
                                     options_.memory_limit == 0 ? ", half of the memory that there is"
                                                                : ", as data.memory_limit says"),
                     .got = str(bytes_text(static_cast<double>(needed_)), " as ", name_of(floatx_)),
                     .config = file.described().where,
                     .hint = file.why_not().empty() ? "data.memory_limit sets the limit" : file.why_not()});
  }

  DataArray array(const ArrayFile& file, bool stays) {
    if (stays && file.can_stay()) return file.in_file();
    kept_ += file.bytes();
    if (is_streamed_ && kept_ > memory_limit_) fail_too_large(file);
    return file.in_memory();
  }

  // Labels and weights are small, and are read again and again: they stay in the file only where they alone are too
  // large.
  DataArray small_array(const ArrayFile& file) { return array(file, is_streamed_ && file.bytes() > memory_limit_); }

  Split split(const SetArrays& set) {
    DataArray x = array(set.x, is_streamed_ || by_pieces(set.x));
    DataArray y = set.y ? small_array(*set.y) : DataArray{};
    Split out = sets_.sequences || set.lengths
                    ? Split(std::move(x), std::move(y), options_.targets, scale_of(set.x),
                            {set.lengths ? std::optional(set.lengths->in_memory()) : std::nullopt})
                    : Split(std::move(x), std::move(y), options_.targets, scale_of(set.x));
    if (set.weights) out.set_weights(small_array(*set.weights));
    return out;
  }

  const DatasetOptions& options_;
  DType floatx_;
  const ArraySets& sets_;
  uint64_t memory_limit_, needed_ = 0, kept_ = 0;  // kept: in memory until now
  bool is_streamed_ = false;
};

}  // namespace

ArraySets open_array_sets(const DatasetOptions& options, ArrayFile::Format format) {
  auto open = [&](const DataPath& path) {
    const ArrayPath parts(path.path);
    std::string location =
        find_data_file(parts.file, options.config_folder, format == ArrayFile::Format::kIdx, path.where);
    if (!parts.name.empty()) location += str('[', parts.name, ']');
    return ArrayFile(location, format, path.where);
  };
  const bool has_targets = options.targets != Targets::kNone;
  auto set = [&](const std::string& key) -> std::optional<SetArrays> {
    const DataPath* x = key == "train" ? &required_file(options, "train_x") : file_of(options, key + "_x");
    const DataPath *y = file_of(options, key + "_y"), *weights = file_of(options, key + "_w"),
                   *lengths = file_of(options, key + "_l");
    if (!x && (y || weights || lengths)) required_file(options, key + "_x");
    if (!x) return std::nullopt;
    if (!y && has_targets) required_file(options, key + "_y");
    auto maybe = [&](const DataPath* path) { return path ? std::optional(open(*path)) : std::nullopt; };
    return SetArrays{open(*x), maybe(has_targets ? y : nullptr), maybe(weights), maybe(lengths)};
  };
  return {.train = *set("train"), .valid = set("valid"), .test = set("test")};
}

SourceData read_array_sets(const DatasetOptions& options, DType floatx, const ArraySets& sets) {
  return ArrayReader(options, floatx, sets).read();
}

}  // namespace thtrain
