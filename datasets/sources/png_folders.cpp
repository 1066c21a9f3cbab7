#include "datasets/sources/png_folders.h"

#include <png.h>

#include <algorithm>
#include <filesystem>

#include "compiler/base/escape.h"
#include "datasets/content.h"
#include "datasets/data_fields.h"
#include "datasets/file.h"
#include "datasets/memory.h"
#include "datasets/sources/joined.h"

namespace thtrain {

namespace fs = std::filesystem;

// Names in a folder, in the order of their bytes.
static std::vector<std::string> names_in(const std::string& folder, bool folders) {
  std::vector<std::string> out;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.') || entry.is_directory(ignored) != folders) continue;
    const std::string end = entry.path().extension().string();
    if (folders || end == ".png" || end == ".PNG") out.push_back(name);
  }
  if (problem)
    throw file_error(folder, "the folder cannot be read", "a folder with a subfolder for each class",
                     problem.message());
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

struct Size {
  int64_t height, width;
  bool operator==(const Size&) const = default;
};

/// Planes of a picture, appended to `out`.
Size append_picture(const std::string& path, bool grey, std::vector<uint8_t>& out) {
  const std::string bytes = read_file(path);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  auto fail = [&] {
    const std::string said = image.message;
    png_image_free(&image);
    throw file_error(path, "the picture cannot be read", "a PNG file", said.empty() ? content_text(bytes) : said);
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) fail();
  constexpr png_uint_32 kMostSide = 1 << 15;
  if (image.width > kMostSide || image.height > kMostSide) {
    Size size{image.height, image.width};
    png_image_free(&image);
    throw file_error(path, "the picture is too large", str("at most ", kMostSide, " pixels a side"),
                     str(size.height, 'x', size.width));
  }
  image.format = grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const size_t channels = grey ? 1 : 3, pixels = static_cast<size_t>(image.width) * image.height;
  std::vector<uint8_t> picture(pixels * channels);
  const png_color black{0, 0, 0};
  const Size size{image.height, image.width};
  if (png_image_finish_read(&image, &black, picture.data(), 0, nullptr) == 0) fail();
  for (size_t c = 0; c < channels; ++c)
    for (size_t i = 0; i < pixels; ++i) out.push_back(picture[i * channels + c]);
  return size;
}

}  // namespace

PngFolders read_png_folders(const std::string& folder, bool grey, const std::vector<std::string>& classes,
                            uint64_t memory_limit) {
  PngFolders out{.images = {}, .labels = {}, .classes = classes};
  const std::vector<std::string> names = names_in(folder, true);
  if (names.empty()) throw file_error(folder, "there are no classes", "a subfolder for each class", "no subfolders");
  if (classes.empty()) out.classes = names;
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  std::optional<Size> first;
  std::string first_path;
  for (const std::string& name : names) {
    const auto place = std::find(out.classes.begin(), out.classes.end(), name);
    if (place == out.classes.end())
      throw file_error(folder, "the subfolder is none of the classes", join(out.classes, ", "), printable(name));
    const std::string inner = (fs::path(folder) / name).string();
    for (const std::string& file : names_in(inner, false)) {
      const std::string path = (fs::path(inner) / file).string();
      const Size size = append_picture(path, grey, pixels);
      if (!first) {
        first = size;
        first_path = path;
      }
      if (!(size == *first))
        throw file_error(path, "the picture has another size than the first",
                         str(first->height, 'x', first->width, " pixels, as ", first_path),
                         str(size.height, 'x', size.width));
      if (memory_limit > 0 && pixels.size() > memory_limit)
        throw file_error(folder, "the pictures do not fit in memory",
                         str("at most ", bytes_text(static_cast<double>(memory_limit))),
                         str("more than ", labels.size(), " pictures of ", first->height, 'x', first->width));
      labels.push_back(place - out.classes.begin());
    }
  }
  if (labels.empty()) throw file_error(folder, "there are no pictures", "FOLDER/CLASS/*.png", "none in its subfolders");
  auto count = static_cast<int64_t>(labels.size());
  Shape shape = {count, first->height, first->width};
  if (!grey) shape.insert(shape.begin() + 1, 3);
  out.images = Tensor::of(pixels, shape);
  out.labels = Tensor::of(labels, {count});
  return out;
}

void PngFoldersConfig::fill(DatasetOptions& out) const {
  SetFiles::fill(out);
  out.read = [color = color](const DatasetOptions& options, DType floatx) {
    std::vector<std::string> classes;
    const uint64_t limit = usable_memory() / 2 / (1 + size_of(floatx));
    SourceData data = read_sets(options, [&](const std::string& folder) {
      PngFolders found = read_png_folders(folder, color == Color::kGrey, classes, limit);
      classes = found.classes;
      return JoinedPart{found.images, found.labels};
    });
    data.classes = static_cast<int64_t>(classes.size());
    data.class_names = classes;
    return data;
  };
}

void PngFoldersConfig::describe(Fields<PngFoldersConfig>& f) {
  f.about(
      "Folders of PNG pictures of one size: `train = [\"pictures\"]` reads `pictures/CLASS/*.png`, the subfolders in "
      "the "
      "order of their names are the classes. Paths are looked for as those of `npy`.");
  f.choice("color", &PngFoldersConfig::color, {{"grey", Color::kGrey}, {"rgb", Color::kRgb}})
      .synonyms({"colour", "mode"})
      .help("One number for each pixel, or three planes of red, green and blue.");
  describe_sets(f, "Folders");
}

Kind<DataConfig> png_folders_source() {
  return kind<PngFoldersConfig, DataConfig>();
}

}  // namespace thtrain
