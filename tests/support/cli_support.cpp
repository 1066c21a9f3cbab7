#include "tests/support/cli_support.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace thtrain {

namespace fs = std::filesystem;

Workshop::Workshop() {
  std::string name = (fs::temp_directory_path() / "thtrain_cli_XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
  path_ = name;
}
Workshop::~Workshop() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Workshop::write(const std::string& name, const std::string& bytes) const {
  fs::create_directories(fs::path(path(name)).parent_path());
  std::ofstream(path(name), std::ios::binary) << bytes;
}

static std::string read_whole(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string Workshop::read(const std::string& name) const {
  return read_whole(path(name));
}
bool Workshop::exists(const std::string& name) const {
  return fs::exists(path(name));
}

std::vector<std::string> Workshop::list() const {
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(path_))
    out.push_back(entry.path().lexically_relative(path_).string());
  std::sort(out.begin(), out.end());
  return out;
}

// The child: outputs to these files, no input, this folder.
[[noreturn]] static void become(const std::string& folder, const std::vector<std::string>& command,
                                const std::string& out, const std::string& err) {
  auto onto = [](const std::string& path, int flags, int target) {
    int file = ::open(path.c_str(), flags, 0600);
    if (file < 0 || ::dup2(file, target) < 0) ::_exit(99);
  };
  onto("/dev/null", O_RDONLY, 0);
  onto(out, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 1);
  onto(err, O_WRONLY | O_CREAT | O_APPEND, 2);
  ::unsetenv("THTRAIN_DATA");
  // Whoever runs the tests in the background may have them ignored.
  for (int number : {SIGINT, SIGHUP, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
  ::setenv("THTRAIN", THTRAIN_BINARY, 1);
  std::vector<char*> words;
  for (const std::string& argument : command) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  if (::chdir(folder.c_str()) == 0) ::execv(words[0], words.data());
  ::_exit(99);
}

static pid_t start_process(const std::string& folder, const std::vector<std::string>& command, const std::string& out,
                           const std::string& err) {
  pid_t process = ::fork();
  if (process == 0) become(folder, command, out, err);
  return process;
}

static std::vector<std::string> program_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), THTRAIN_BINARY);
  return arguments;
}

int Workshop::wait(pid_t process) {
  int status = 0;
  if (::waitpid(process, &status, 0) != process) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static Ended run_process(const std::string& folder, const std::vector<std::string>& command) {
  std::string out = folder + ".out", err = folder + ".err";
  Ended ended;
  ended.code = Workshop::wait(start_process(folder, command, out, err));
  ended.out = read_whole(out);
  ended.err = read_whole(err);
  ::unlink(out.c_str());
  ::unlink(err.c_str());
  return ended;
}

Ended Workshop::run(const std::vector<std::string>& arguments) const {
  return run_process(path_, program_with(arguments));
}

Ended Workshop::shell(const std::string& command) const {
  return run_process(path_, {"/bin/sh", "-c", command});
}

pid_t Workshop::start(const std::vector<std::string>& arguments) const {
  write("log", "");  // here, for the child may come late: nobody reads what an earlier one wrote
  return start_process(path_, program_with(arguments), path("log"), path("log"));
}

std::string tiny_experiment() {
  return "seed = 7\n"
         "\n"
         "[data]\n"
         "source = \"digits\"\n"
         "n_train = 200\n"
         "n_valid = 40\n"
         "n_test = 40\n"
         "\n"
         "[[model.layers]]\n"
         "name = \"hidden\"\n"
         "type = \"dense\"\n"
         "units = 20\n"
         "activation = \"tanh\"\n"
         "\n"
         "[[model.layers]]\n"
         "type = \"softmax\"\n"
         "\n"
         "[trainer]\n"
         "learning_rate = 0.1\n"
         "momentum = 0.5\n"
         "batch_size = 20\n"
         "epochs = 3\n";
}

std::string without_seconds(const std::string& metrics) {
  std::string out;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) out += line.substr(0, line.find(", \"seconds\"")) + "\n";
  return out;
}

std::string without_resolved_lines(std::string text, const Workshop& workshop) {
  static const std::regex location("run/config\\.toml:([0-9]+):[0-9]+\n +([0-9]+) \\| (.*)\n");
  for (std::smatch at; std::regex_search(text, at, location);) {
    std::istringstream config(workshop.read("run/config.toml"));
    std::string line;
    for (int i = std::stoi(at[1]); i > 0; --i) std::getline(config, line);
    EXPECT_EQ(at[1], at[2]) << text;
    EXPECT_EQ(at[3], line) << text;
    // The second one first, whose replacement moves no other.
    const auto first = at.position(1), second = at.position(2);
    text.replace(static_cast<size_t>(second), static_cast<size_t>(at.length(2)), "LINE");
    text.replace(static_cast<size_t>(first), static_cast<size_t>(at.length(1)), "LINE");
  }
  return text;
}

std::string npy_bytes(const std::string& header, const std::string& data) {
  std::string padded = header;
  while ((10 + padded.size() + 1) % 64 != 0) padded += ' ';
  padded += '\n';
  std::string out = "\x93NUMPY";
  out += '\1';
  out += '\0';
  out += static_cast<char>(padded.size() & 255);
  out += static_cast<char>(padded.size() >> 8);
  return out + padded + data;
}

}  // namespace thtrain
