#include "datasets/sources/png_folders.h"

#include <png.h>

#include <algorithm>
#include <filesystem>

#include "compiler/base/escape.h"
#include "datasets/content.h"
#include "datasets/data_fields.h"
#include "datasets/file.h"
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

std::string size_text(const Size& size) {
  return str(size.height, 'x', size.width);
}

/// A PNG file whose header was read.
class Picture {
 public:
  explicit Picture(const std::string& path) : path_(path), bytes_(read_file(path)) {
    image_.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&image_, bytes_.data(), bytes_.size()) == 0) fail();
    constexpr png_uint_32 kMostSide = 1 << 15;
    if (image_.width <= kMostSide && image_.height <= kMostSide) return;
    const std::string got = size_text(size());
    png_image_free(&image_);
    throw file_error(path_, "the picture is too large", str("at most ", kMostSide, " pixels a side"), got);
  }
  ~Picture() { png_image_free(&image_); }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;

  Size size() const { return {image_.height, image_.width}; }

  /// Its planes, one after the other: of grey, or of red, green and blue.
  void read(bool grey, uint8_t* out) {
    const size_t channels = grey ? 1 : 3, pixels = static_cast<size_t>(image_.width) * image_.height;
    image_.format = grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    std::vector<uint8_t> picture(pixels * channels);
    const png_color black{0, 0, 0};
    if (png_image_finish_read(&image_, &black, picture.data(), 0, nullptr) == 0) fail();
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < pixels; ++i) *out++ = picture[i * channels + c];
  }

 private:
  [[noreturn]] void fail() {
    const std::string said = image_.message;
    png_image_free(&image_);
    throw file_error(path_, "the picture cannot be read", "a PNG file", said.empty() ? content_text(bytes_) : said);
  }

  std::string path_, bytes_;
  png_image image_{};
};

/// Pictures of one size, each unpacked when it is asked for.
class PictureRows : public RowSource {
 public:
  PictureRows(std::vector<std::string> paths, bool grey)
      : paths_(std::move(paths)), grey_(grey), size_(Picture(paths_.at(0)).size()) {
    for (const std::string& path : paths_) opened_.push_back(file_state(path));
  }

  Size size() const { return size_; }
  int64_t row_bytes() const { return size_.height * size_.width * (grey_ ? 1 : 3); }

  void read(int64_t first, int64_t count, std::byte* out) const override {
    for (int64_t i = first; i < first + count; ++i, out += row_bytes()) {
      const std::string& path = paths_[static_cast<size_t>(i)];
      Picture picture(path);
      if (!(picture.size() == size_))
        throw file_error(path, "the picture has another size than the first",
                         str(size_text(size_), " pixels, as ", paths_[0]), size_text(picture.size()));
      picture.read(grey_, reinterpret_cast<uint8_t*>(out));
    }
  }
  /// Each is opened whenever it is read: another one under its name is a change.
  void check_unchanged() const override {
    for (size_t i = 0; i < paths_.size(); ++i)
      if (const FileState now = file_state(paths_[i]); now != opened_[i]) fail_changed(paths_[i], opened_[i], now);
  }
  void list_files(std::vector<OpenedFile>& out) const override {
    for (size_t i = 0; i < paths_.size(); ++i) out.push_back({paths_[i], opened_[i]});
  }

 private:
  std::vector<std::string> paths_;
  std::vector<FileState> opened_;
  bool grey_;
  Size size_;
};

}  // namespace

PngFolders read_png_folders(const std::string& folder, bool grey, const std::vector<std::string>& classes,
                            uint64_t most_bytes) {
  PngFolders out{.images = {}, .labels = {}, .classes = classes};
  const std::vector<std::string> names = names_in(folder, true);
  if (names.empty()) throw file_error(folder, "there are no classes", "a subfolder for each class", "no subfolders");
  if (classes.empty()) out.classes = names;
  std::vector<std::string> paths;
  std::vector<int64_t> labels;
  for (const std::string& name : names) {
    const auto place = std::find(out.classes.begin(), out.classes.end(), name);
    if (place == out.classes.end())
      throw file_error(folder, "the subfolder is none of the classes", join(out.classes, ", "), printable(name));
    const std::string inner = (fs::path(folder) / name).string();
    for (const std::string& file : names_in(inner, false)) {
      paths.push_back((fs::path(inner) / file).string());
      labels.push_back(place - out.classes.begin());
    }
  }
  if (labels.empty()) throw file_error(folder, "there are no pictures", "FOLDER/CLASS/*.png", "none in its subfolders");
  const auto count = static_cast<int64_t>(labels.size());
  auto rows = std::make_shared<const PictureRows>(std::move(paths), grey);
  Shape shape = {count, rows->size().height, rows->size().width};
  if (!grey) shape.insert(shape.begin() + 1, 3);
  out.labels = Tensor::of(labels, {count});
  if (static_cast<uint64_t>(count * rows->row_bytes()) > most_bytes) {
    out.images = outline(DType::kUInt8, shape);
    out.source = std::move(rows);
    return out;
  }
  out.images = Tensor::empty(DType::kUInt8, shape);
  rows->read(0, count, static_cast<std::byte*>(out.images.raw()));
  return out;
}

void PngFoldersConfig::fill(DatasetOptions& out) const {
  SetFiles::fill(out);
  out.read = [color = color](const DatasetOptions& options, DType floatx) {
    std::vector<std::string> classes;
    SourceData data = read_sets(options, floatx, [&](const std::string& folder, uint64_t room) {
      PngFolders found = read_png_folders(folder, color == Color::kGrey, classes, room / (1 + size_of(floatx)));
      classes = found.classes;
      return JoinedPart{found.images, found.labels, found.source};
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
