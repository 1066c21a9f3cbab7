#include "datasets/sources/joined.h"

#include "compiler/base/file.h"
#include "datasets/locate.h"
#include "datasets/sparse_rows.h"

namespace thtrain {

// Rows of all tensors, one after the other.
static Tensor joined(const std::vector<Tensor>& parts) {
  if (parts.size() == 1) return parts[0];
  Shape shape = parts[0].shape();
  shape[0] = 0;
  for (const Tensor& part : parts) shape[0] += part.dim(0);
  Tensor out = Tensor::empty(parts[0].dtype(), shape);
  for (int64_t at = 0; const Tensor& part : parts) {
    out.rows(at, part.dim(0)).assign(part);
    at += part.dim(0);
  }
  return out;
}

namespace {

class SetReader {
 public:
  SetReader(const DatasetOptions& options, DType floatx, const ReadPart& read)
      : options_(options), floatx_(floatx), read_(read), room_(most_bytes_of(options)) {}

  std::optional<Split> read(const std::string& set) {
    const std::vector<DataPath> files = files_of(options_, set);
    if (files.empty()) return std::nullopt;
    std::vector<JoinedPart> parts;
    std::string first;
    for (const DataPath& file : files) {
      located(file.where, [&] {
        const std::string path = find_data_file(file.path, options_.config_folder, true, file.where);
        if (parts.empty()) first = path;
        parts.push_back(read_part(path));
        check_alike(path, first, parts.back(), parts.front());
      });
    }
    DataArray x{.raw = {}, .origin = first, .where = files[0].where}, y = x;
    std::vector<Tensor> targets;
    std::vector<std::string> names;
    for (const JoinedPart& part : parts) {
      targets.push_back(part.y);
      names.insert(names.end(), part.files.begin(), part.files.end());
    }
    if (!names.empty()) x.files = std::make_shared<const std::vector<std::string>>(std::move(names));
    y.raw = joined(targets);
    join_examples(std::move(parts), x);
    return Split(std::move(x), std::move(y), options_.targets, scale_or(options_, 1));
  }

 private:
  JoinedPart read_part(const std::string& path) {
    JoinedPart out = read_(path, room_);
    room_ -= std::min(room_, out.held);
    if (out.source) return out;
    const uint64_t used = out.x.bytes() + static_cast<uint64_t>(out.x.size()) * size_of(floatx_);
    room_ -= std::min(room_, used);
    return out;
  }

  static void check_alike(const std::string& path, const std::string& first_path, const JoinedPart& part,
                          const JoinedPart& first) {
    auto one = [](const Tensor& t) {
      return str(name_of(t.dtype()), shape_text(Shape(t.shape().begin() + 1, t.shape().end())));
    };
    if (one(part.x) == one(first.x) && one(part.y) == one(first.y)) return;
    throw file_error(path, "the examples differ from those of the first file",
                     str(one(first.x), ", as in ", first_path), one(part.x));
  }

  /// In memory where all parts are.
  static void join_examples(std::vector<JoinedPart> parts, DataArray& x) {
    std::vector<Tensor> rows;
    bool stays = false;
    for (const JoinedPart& part : parts) {
      rows.push_back(part.x);
      stays = stays || part.source;
    }
    if (!stays) {
      x.raw = joined(rows);
      return;
    }
    Shape shape = rows[0].shape();
    shape[0] = 0;
    std::vector<JoinedRows::Part> sources;
    for (JoinedPart& part : parts) {
      shape[0] += part.x.dim(0);
      if (!part.source) part.source = std::make_shared<const MemoryRows>(part.x);
      sources.push_back({part.source, part.x.dim(0)});
    }
    x.raw = outline(rows[0].dtype(), shape);
    if (sources[0].source->sparse()) {
      x.source = std::make_shared<const JoinedSparseRows>(std::move(sources));
      return;
    }
    x.source = std::make_shared<const JoinedRows>(std::move(sources), row_bytes(x));
  }

  const DatasetOptions& options_;
  DType floatx_;
  const ReadPart& read_;
  uint64_t room_;
};

}  // namespace

SourceData read_sets(const DatasetOptions& options, DType floatx, const ReadPart& read) {
  SetReader reader(options, floatx, read);
  std::optional<Split> train = reader.read("train");
  TH_CHECK(train.has_value(), "a data set without training files");
  std::optional<Split> valid = reader.read("valid");
  return {.train = *train, .valid = std::move(valid), .test = reader.read("test")};
}

}  // namespace thtrain
