// Runs on streams: they end with the bits of the same data in memory, and of an uninterrupted run wherever they are
// stopped.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "datasets/npy.h"
#include "datasets/sources/digits.h"
#include "datasets/sources/idx.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

/// 97 training digits and 20 validation digits in IDX files, which are gzipped or not.
struct Files {
  TemporaryFolder folder;
  Files() {
    DatasetOptions options{.read = digits_reader(), .name = "digits"};
    options.train = 97;
    options.valid = 20;
    options.test = 0;
    const Dataset digits = load_dataset(options, DType::kFloat32);
    write("x", digits.train.x_array().raw);
    write("y", digits.train.y_array().raw);
    write("vx", digits.valid.x_array().raw);
    write("vy", digits.valid.y_array().raw);
  }
  void write(const std::string& name, const Tensor& array) {
    std::string bytes("\0\0\x8", 3);
    bytes += static_cast<char>(array.rank());
    for (int64_t length : array.shape())
      for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(length >> shift & 255);
    for (int64_t i = 0; i < array.size(); ++i) bytes += static_cast<char>(array.as_int(i));
    folder.write(name + ".idx", bytes);
    EXPECT_EQ(std::system(("gzip -k " + folder.path(name + ".idx")).c_str()), 0);
  }
  Experiment experiment(bool streamed, bool packed, int64_t window) const {
    Experiment out = small_experiment();
    IdxConfig data;
    const std::string end = packed ? ".idx.gz" : ".idx";
    data.train = folder.path("x" + end);
    data.train_labels = folder.path("y.idx");
    data.valid = folder.path("vx" + end);
    data.valid_labels = folder.path("vy.idx");
    data.scale = kPixelScale;
    data.shuffle_window = window;
    if (streamed) data.memory_limit = 1e-5;
    out.data = data;
    out.trainer.batch_size = 10;
    out.trainer.full_batches_only = window % 2 == 0;
    out.trainer.epochs = 4;
    return out;
  }
};

Checkpoint end_of(const Experiment& e, const std::string& path) {
  RunFolder folder = RunFolder::create(path, e);
  EXPECT_FALSE(train(e, load_data(e, "."), folder).interrupted);
  return read_checkpoint(folder.checkpoint());
}

void expect_same(const Checkpoint& a, const Checkpoint& b) {
  for (auto [one, other] : {std::pair(&a.weights, &b.weights), {&a.optimizer, &b.optimizer}, {&a.best, &b.best}}) {
    ASSERT_EQ(one->size(), other->size());
    for (size_t i = 0; i < one->size(); ++i) EXPECT_TRUE(same_bits((*one)[i].second, (*other)[i].second));
  }
  EXPECT_EQ(a.state.random.state(), b.state.random.state());
}

TEST(ResumeStreams, TheBitsAreThoseOfTheDataInMemory) {
  Files files;
  for (int64_t window : {0, 16, 33}) {
    const Checkpoint whole = end_of(files.experiment(false, false, window), files.folder.path(str("m", window)));
    expect_same(whole, end_of(files.experiment(true, false, window), files.folder.path(str("s", window))));
    if (window > 0)
      expect_same(whole, end_of(files.experiment(true, true, window), files.folder.path(str("p", window))));
  }
}

TEST(ResumeStreams, WhereverTheyAreStopped) {
  Files files;
  for (bool packed : {false, true}) {
    const Experiment e = files.experiment(true, packed, 33);
    const Dataset data = load_data(e, ".");
    const Checkpoint whole = end_of(e, files.folder.path(str("whole", packed)));
    const std::string path = files.folder.path(str("stopped", packed));
    std::atomic<int> stop{1};  // after one step, each time
    {
      RunFolder folder = RunFolder::create(path, e);
      EXPECT_TRUE(train(e, data, folder, {}, {.stop = &stop}).interrupted);
    }
    int times = 1;
    for (bool interrupted = true; interrupted; ++times) {
      RunFolder folder = RunFolder::open(path);
      interrupted = resume(e, data, folder, {}, {.stop = &stop}).interrupted;
      ASSERT_LT(times, 100);
    }
    EXPECT_GE(times, 4 * 10);
    expect_same(whole, read_checkpoint(RunFolder::open(path).checkpoint()));
  }
}

// A write to a file whose rows are still to be read ends the run before its next checkpoint.
TEST(ResumeStreams, AFileThatChangesMeanwhileEndsTheRun) {
  Files files;
  for (bool packed : {false, true}) {
    Experiment e = files.experiment(true, packed, 16);
    e.trainer.checkpoint_epochs = 1;
    const std::string path = files.folder.path(str("run", packed)), name = packed ? "x.idx.gz" : "x.idx";
    const Dataset data = load_data(e, ".");
    RunFolder folder = RunFolder::create(path, e);
    const std::string file = files.folder.path(name);
    TrainHooks hooks{.on_epoch = [&](const EpochReport& report) {
      if (report.epoch != 2) return;
      const auto then = std::filesystem::last_write_time(file);
      std::FILE* opened = std::fopen(file.c_str(), "r+b");
      ASSERT_EQ(std::fseek(opened, packed ? -3 : 5000, packed ? SEEK_END : SEEK_SET), 0);
      std::fputc(7, opened);
      std::fclose(opened);
      std::filesystem::last_write_time(file, then + std::chrono::seconds(1));
    }};
    const std::string error = error_text([&] { train(e, data, folder, hooks); });
    EXPECT_EQ(error, str("error: ", file, ": the file was changed while the run read it\n",
                         "  expected: no write since it was opened\n  got:      a later time of modification\n",
                         "  hint:     put it back as it was, with its time (`cp -p` keeps it);\n",
                         "            the checkpoint of step ", read_checkpoint(folder.checkpoint()).state.step,
                         " is kept: `thtrain resume ", path, "` goes on from it"));
    EXPECT_EQ(read_checkpoint(folder.checkpoint()).state.epochs, 1);
  }
}

}  // namespace
}  // namespace thtrain
