#include "datasets/sources/joined.h"

#include "datasets/file.h"
#include "datasets/locate.h"

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

static std::optional<Split> read_set(const DatasetOptions& options, const std::string& set,
                                     const std::function<JoinedPart(const std::string& path)>& read) {
  const std::vector<DataPath> files = files_of(options, set);
  if (files.empty()) return std::nullopt;
  std::vector<Tensor> x, y;
  std::string first;
  for (const DataPath& file : files) {
    try {
      const std::string path = find_data_file(file.path, options.config_folder, true, file.where);
      JoinedPart part = read(path);
      auto one = [](const Tensor& t) {
        return str(name_of(t.dtype()), shape_text(Shape(t.shape().begin() + 1, t.shape().end())));
      };
      if (x.empty()) first = path;
      if (!x.empty() && (one(part.x) != one(x[0]) || one(part.y) != one(y[0])))
        throw file_error(path, "the examples differ from those of the first file", str(one(x[0]), ", as in ", first),
                         one(part.x));
      x.push_back(part.x);
      y.push_back(part.y);
    } catch (const UserError& error) {
      throw placed(error, file.where);
    }
  }
  auto array = [&](const std::vector<Tensor>& parts) {
    return DataArray{.raw = joined(parts), .origin = first, .where = files[0].where};
  };
  return Split(array(x), array(y), options.targets, options.scale != 0 ? options.scale : 1);
}

SourceData read_sets(const DatasetOptions& options, const std::function<JoinedPart(const std::string& path)>& read) {
  std::optional<Split> train = read_set(options, "train", read);
  TH_CHECK(train.has_value(), "a data set without training files");
  return {.train = *train, .valid = read_set(options, "valid", read), .test = read_set(options, "test", read)};
}

}  // namespace thtrain
