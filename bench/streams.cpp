#include "bench/streams.h"

#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>

#include "bench/scratch_folder.h"
#include "bench/worker.h"
#include "compiler/base/clock.h"
#include "compiler/base/error.h"
#include "datasets/npy.h"
#include "datasets/sources/csv.h"
#include "datasets/sources/idx.h"
#include "datasets/sources/npy.h"
#include "nn/layers/dense.h"
#include "nn/layers/softmax.h"
#include "reports/json.h"
#include "trainers/load_data.h"
#include "trainers/program.h"

namespace thtrain {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kPixels = 784, kBatch = 20;
constexpr const char *kSmall = "small", *kLarge = "large";  // the files in memory, and those that are read
constexpr const char *kComputing = "computing", *kReading = "reading", *kBoth = "both";

// ---- the files -----------------------------------------------------------------------------------------------------

/// Pictures as those of MNIST: four of five pixels are 0.
std::vector<uint8_t> some_pixels(int64_t rows) {
  RandomState random(17);
  std::vector<uint8_t> out(static_cast<size_t>(rows * kPixels));
  for (uint8_t& pixel : out) {
    const uint32_t drawn = random.next_uint32();
    pixel = drawn % 5 == 0 ? static_cast<uint8_t>(drawn >> 8) : 0;
  }
  return out;
}

/// A file that is gzipped or not.
class Sink {
 public:
  Sink(const std::string& path, bool packed) : file_(::gzopen(path.c_str(), packed ? "wb1" : "wbT"), ::gzclose) {
    if (!file_) fail();
  }
  void write(const void* bytes, size_t count) {
    for (size_t done = 0; done < count;) {
      const auto piece = static_cast<unsigned>(std::min<size_t>(count - done, size_t{1} << 20));
      if (::gzwrite(file_.get(), static_cast<const char*>(bytes) + done, piece) != static_cast<int>(piece)) fail();
      done += piece;
    }
  }
  void close() {
    if (::gzclose(file_.release()) != Z_OK) fail();
  }

 private:
  [[noreturn]] static void fail() {
    throw UserError(Message{.what = "bench streams: the file cannot be written",
                            .expected = "room for it in the system's temporary folder, which TMPDIR names"});
  }
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

std::string idx_header(const std::vector<uint32_t>& lengths) {
  std::string out("\0\0\x8", 3);
  out += static_cast<char>(lengths.size());
  for (uint32_t length : lengths)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(length >> shift & 255);
  return out;
}

struct Case {
  std::string name, text;  // "float32", "npy float32"
  bool packed = false;
  DType dtype = DType::kUInt8;
  int64_t rows = 0;
};

/// So many rows that the file has about so many bytes; of the packed one before it is packed.
Case case_named(const std::string& name, bool quick) {
  const int64_t large = quick ? int64_t{16} << 20 : int64_t{4} << 30, small = quick ? large : int64_t{256} << 20;
  if (name == "float32") return {name, "npy float32", false, DType::kFloat32, large / (4 * kPixels)};
  if (name == "uint8") return {name, "npy uint8", false, DType::kUInt8, large / kPixels};
  if (name == "gzip") return {name, "idx uint8, gzip", true, DType::kUInt8, small / kPixels};
  if (name == "csv") return {name, "csv", false, DType::kFloat64, small / (3 * kPixels)};
  throw UserError(Message{.what = str("bench streams: there is no case \"", name, '"'),
                          .expected = str("one of ", join(stream_formats(), ", "))});
}

/// Writes the rows, a few thousand again and again.
void write_rows(const Case& c, int64_t rows, Sink& sink) {
  constexpr int64_t kDrawn = 5000;
  const std::vector<uint8_t> pixels = some_pixels(kDrawn);
  std::string piece;
  std::vector<size_t> ends;
  for (int64_t i = 0; i < kDrawn; ++i) {
    const uint8_t* row = pixels.data() + i * kPixels;
    if (c.name == "csv") {
      for (int64_t k = 0; k < kPixels; ++k) piece += str(static_cast<int>(row[k]), ',');
      piece += str(i % 10, '\n');
    } else if (c.dtype == DType::kFloat32) {
      std::vector<float> numbers(row, row + kPixels);
      for (float& number : numbers) number /= 256;
      piece.append(reinterpret_cast<const char*>(numbers.data()), kPixels * sizeof(float));
    } else {
      piece.append(reinterpret_cast<const char*>(row), kPixels);
    }
    ends.push_back(piece.size());
  }
  for (int64_t done = 0; done < rows; done += kDrawn)
    sink.write(piece.data(), ends[static_cast<size_t>(std::min(kDrawn, rows - done)) - 1]);
}

struct Paths {
  std::string x, y;
};

Paths paths_of(const Case& c, const std::string& folder, const std::string& name) {
  const std::string base = folder + "/" + name;
  return {base + (c.name == "csv" ? ".csv" : c.packed ? ".idx.gz" : ".npy"), base + (c.packed ? "_y.idx" : "_y.npy")};
}

/// Files of so many rows in the folder.
void make_files(const Case& c, int64_t rows, const std::string& folder, const std::string& name) {
  const auto [x, y] = paths_of(c, folder, name);
  Sink sink(x, c.packed);
  if (c.packed) {
    const std::string header = idx_header({static_cast<uint32_t>(rows), kPixels});
    sink.write(header.data(), header.size());
  } else if (c.name != "csv") {
    const std::string header = npy_header_text(outline(c.dtype, {rows, kPixels}));
    sink.write(header.data(), header.size());
  }
  write_rows(c, rows, sink);
  sink.close();
  if (c.name == "csv") return;
  std::vector<uint8_t> labels(static_cast<size_t>(rows));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<uint8_t>(i % 5000 % 10);
  if (!c.packed) return write_npy(y, Tensor::of(labels, {rows}));
  Sink targets(y, false);
  const std::string header = idx_header({static_cast<uint32_t>(rows)});
  targets.write(header.data(), header.size());
  targets.write(labels.data(), labels.size());
  targets.close();
}

/// What reads these files.
OneOf<DataConfig> data_of(const Case& c, const std::string& folder, const std::string& name) {
  const auto [x, y] = paths_of(c, folder, name);
  if (c.name == "csv") {
    CsvConfig out;
    out.train = x;
    out.scale = kPixelScale;
    return out;
  }
  auto with_labels = [&, &x = x, &y = y](auto out, double scale) {
    out.train = x;
    out.train_labels = y;
    out.scale = scale;
    return OneOf<DataConfig>(out);
  };
  if (c.packed) return with_labels(IdxConfig(), kPixelScale);
  return with_labels(NpyConfig(), c.dtype == DType::kFloat32 ? 1 : kPixelScale);
}

// ---- what is measured ----------------------------------------------------------------------------------------------

/// configs/labs/mlp_mnist.toml on these files.
Experiment experiment_of(const OneOf<DataConfig>& data, bool shuffled, int threads) {
  Experiment out;
  out.data = data;
  Dense::Options hidden;
  hidden.name = "hidden";
  hidden.units = 500;
  hidden.activation = "tanh";
  Softmax::Options softmax;
  softmax.name = "softmax";
  out.model.layers = {hidden, softmax};
  out.loss.l2 = 1e-4;
  out.trainer.batch_size = kBatch;
  out.trainer.shuffle = shuffled;
  out.compiler.threads = threads;
  return out;
}

uint64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) << 10;
  return 0;
}

struct Timed {
  double seconds = std::numeric_limits<double>::infinity();  // of a call
  uint64_t memory = 0;
};

/// The best of stretches of calls over about `seconds`; what is before it warms up.
Timed time_calls(double seconds, const std::function<void()>& call) {
  Timed out;
  call();            // draws the first order, and waits for what is not read ahead yet
  long calls = 256;  // more than are read ahead
  for (double taken = 0; taken < seconds / 40; calls *= 2) {
    const Clock::time_point begin = Clock::now();
    for (long i = 0; i < calls; ++i) call();
    taken = seconds_since(begin);
  }
  const Clock::time_point all = Clock::now();
  while (seconds_since(all) < seconds) {
    const Clock::time_point begin = Clock::now();
    for (long i = 0; i < calls; ++i) call();
    out.seconds = std::min(out.seconds, seconds_since(begin) / static_cast<double>(calls));
    out.memory = std::max(out.memory, anonymous_bytes());
  }
  return out;
}

Timed time_steps(const Experiment& experiment, double seconds) {
  const Dataset data = load_data(experiment, ".");
  TrainingProgram program(experiment, data, ".");
  RandomState random(1);
  program.begin_epoch(random);
  int64_t batch = 0;
  return time_calls(seconds, [&] {
    if (batch == program.batches()) {
      program.begin_epoch(random);
      batch = 0;
    }
    program.step(batch++);
  });
}

Timed time_reading(const Experiment& experiment, double seconds) {
  const Dataset data = load_data(experiment, ".");
  TH_CHECK(data.streamed, "data in memory");
  Feed feed(Examples(data.train, {kPixels}, DType::kFloat32, true), "train", experiment.trainer.shuffle,
            data.shuffle_window);
  const int64_t count = data.train.size() / kBatch * kBatch;
  feed.set_plan({.count = count, .batch = kBatch});
  RandomState random(1);
  int64_t start = count;
  return time_calls(seconds, [&] {
    if (start == count) {
      if (experiment.trainer.shuffle) feed.begin_epoch(random);
      start = 0;
    }
    feed.arguments(start, kBatch);
    start += kBatch;
  });
}

/// What serve_streams() answers, in a process of its own.
Timed apart(const StreamOptions& options, const std::string& folder, const std::string& question) {
  std::vector<std::string> command = {"/proc/self/exe", "bench", "streams", "--worker", folder};
  if (options.quick) command.push_back("--quick");
  Worker worker(command, {});
  worker.read();
  std::map<std::string, std::string> answer = worker.ask(question, options.seconds);
  if (answer.contains("error")) throw UserError(Message{.what = "bench streams: " + answer["error"]});
  return {std::stod(answer["seconds"]), std::stoull(answer["memory"])};
}

void measure_case(const StreamOptions& options, const Case& c, const std::string& folder,
                  const std::function<void(const std::string&)>& progress,
                  const std::function<void(const StreamMeasurement&)>& found) {
  progress(str("writing the file of ", c.text));
  make_files(c, std::min<int64_t>(c.rows, 50000), folder, kSmall);
  make_files(c, c.rows, folder, kLarge);
  StreamMeasurement m{.format = c.text, .file_bytes = InputFile(paths_of(c, folder, kLarge).x).size()};
  for (int threads : options.threads)
    for (bool shuffled : {false, true}) {
      m.threads = threads;
      m.shuffled = shuffled;
      m.compute_us = m.read_us = m.both_us = std::numeric_limits<double>::infinity();
      m.memory_bytes = 0;
      for (int repetition = 0; repetition < options.repetitions; ++repetition) {
        auto time = [&](const char* what) {
          progress(str(c.text, shuffled ? ", shuffled" : ", in order", ", ", threads,
                       threads == 1 ? " thread" : " threads", ", repetition ", repetition + 1, " of ",
                       options.repetitions, ": ", what));
          return apart(options, folder, str(what, " ", c.name, " ", static_cast<int>(shuffled), " ", threads));
        };
        m.compute_us = std::min(m.compute_us, 1e6 * time(kComputing).seconds);
        m.read_us = std::min(m.read_us, 1e6 * time(kReading).seconds);
        const Timed timed = time(kBoth);
        m.both_us = std::min(m.both_us, 1e6 * timed.seconds);
        m.memory_bytes = std::max(m.memory_bytes, timed.memory);
      }
      found(m);
    }
}

}  // namespace

double StreamMeasurement::ratio() const {
  return both_us / std::max(compute_us, read_us);
}

double StreamMeasurement::wait_share() const {
  return std::max(0.0, both_us - compute_us) / both_us;
}

const std::vector<std::string>& stream_formats() {
  static const std::vector<std::string> all = {"float32", "uint8", "gzip", "csv"};
  return all;
}

void measure_streams(const StreamOptions& options, const std::function<void(const std::string&)>& progress,
                     const std::function<void(const StreamMeasurement&)>& found) {
  StreamOptions chosen = options;
  if (chosen.formats.empty()) chosen.formats = stream_formats();
  if (chosen.threads.empty()) chosen.threads = {1, 2};
  std::vector<Case> cases;
  for (const std::string& name : chosen.formats) cases.push_back(case_named(name, chosen.quick));
  for (const Case& c : cases) {
    const ScratchFolder folder;
    measure_case(chosen, c, folder.path(), progress, found);
  }
}

void serve_streams(const std::string& folder, bool quick) {
  std::cout << JsonObject().add("ready", "streams").line() << std::endl;
  std::string what, name;
  bool shuffled = false;
  int threads = 1;
  for (double seconds = 0; std::cin >> what >> name >> shuffled >> threads >> seconds;) {
    try {
      const Case c = case_named(name, quick);
      OneOf<DataConfig> data = data_of(c, folder, what == kComputing ? kSmall : kLarge);
      if (what != kComputing) dynamic_cast<FileConfig&>(*data).memory_limit = quick ? 0.01 : 0.25;
      const Experiment experiment = experiment_of(data, shuffled, threads);
      const Timed timed = what == kReading ? time_reading(experiment, seconds) : time_steps(experiment, seconds);
      std::cout << JsonObject().add("seconds", timed.seconds).add("memory", static_cast<int64_t>(timed.memory)).line()
                << std::endl;
    } catch (const Error& error) {
      std::cout << JsonObject().add("error", error.messages().front().what).line() << std::endl;
    }
  }
}

std::string json_line(const StreamMeasurement& m) {
  return str("{\"bench\": \"streams\", \"case\": \"", m.format, "\", \"order\": \"",
             m.shuffled ? "shuffled" : "in order", "\", \"threads\": ", m.threads, ", \"file_bytes\": ", m.file_bytes,
             ", \"compute_us\": ", m.compute_us, ", \"read_us\": ", m.read_us, ", \"both_us\": ", m.both_us,
             ", \"ratio\": ", m.ratio(), ", \"wait_share\": ", m.wait_share(), ", \"memory_bytes\": ", m.memory_bytes,
             "}");
}

std::string stream_table(const std::vector<StreamMeasurement>& measurements) {
  std::string out =
      "| file | order | threads | computing alone, us | reading alone, us | both, us | both / the longer | waits | "
      "memory |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const StreamMeasurement& m : measurements)
    out += str("| ", m.format, ", ", bytes_text(static_cast<double>(m.file_bytes)), " | ",
               m.shuffled ? "shuffled" : "in order", " | ", m.threads, " | ", fixed_text(m.compute_us, 1), " | ",
               fixed_text(m.read_us, 1), " | ", fixed_text(m.both_us, 1), " | ", fixed_text(m.ratio(), 2), " | ",
               fixed_text(100 * m.wait_share(), 0), " % | ", bytes_text(static_cast<double>(m.memory_bytes)), " |\n");
  return out;
}

}  // namespace thtrain
