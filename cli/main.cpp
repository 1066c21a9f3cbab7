// The program `thtrain`: parses the command line, runs the command, and turns errors into texts and exit codes.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/base/system_error.h"
#include "compiler/base/unfinished_files.h"
#include "compiler/tuning/trial_process.h"
#include "trainers/trainer.h"

namespace thtrain {

// When the process started: what it computed before main() is nearly all of the time that it was there.
static std::chrono::steady_clock::time_point process_start() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::steady_clock::now() - std::chrono::seconds(used.tv_sec) - std::chrono::nanoseconds(used.tv_nsec);
}

static bool working_folder_is_gone() {
  std::error_code error;
  (void)std::filesystem::current_path(error);
  return error == std::errc::no_such_file_or_directory;
}

static int report(const char* text, ExitCode code) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s%s\n", before_report().c_str(), text);
  if (code == kBadInput && !std::strstr(text, "the working folder is gone") && working_folder_is_gone())
    std::fputs("error: the working folder is gone\n  hint:     go to a folder that exists, and try again\n", stderr);
  if (code == kOurFault && !std::strstr(text, "please report"))
    std::fputs("  hint:     this is a fault of thtrain, not of your input: please report it\n", stderr);
  return code;
}

// A descriptor that the caller closed would be given to the first file that is opened, and lines would go there.
static void open_closed_streams() {
  for (int descriptor : {0, 1, 2})
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) (void)!::open("/dev/null", O_RDWR);
}

// What no command expected of the file system: the user's machine, not a fault of thtrain.
static Message system_message(const std::filesystem::filesystem_error& error) {
  std::string path = error.path1().string();
  if (!error.path2().empty()) path += str(" to ", error.path2().string());
  std::string what = error.what();  // "filesystem error: cannot create directory: No such file or directory [x]"
  size_t start = what.find(": "), end = what.find(": ", start + 2);
  if (start != std::string::npos && end != std::string::npos) what = what.substr(start + 2, end - start - 2);
  return {.what = path.empty() ? what : str(path, ": ", what), .got = system_error_text(error.code().value())};
}

static int run(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started, bool& failed) {
  try {
    const int code = parse_arguments(words, started)();
    failed = false;
    return code;
  } catch (const UserError& error) {
    return report(error.what(), kBadInput);
  } catch (const Interrupted& interrupted) {
    std::fflush(stdout);
    std::fprintf(stderr, "thtrain: %s\n", printable(interrupted.messages()[0].what).c_str());
    return 128 + interrupted.signal();
  } catch (const EndedByOther&) {
    failed = false;
    return kNotFinite;
  } catch (const NonFiniteLoss& error) {
    return report(error.what(), kNotFinite);
  } catch (const Error& error) {
    return report(error.what(), kOurFault);
  } catch (const BrokenPipe&) {
    return kBrokenPipe;
  } catch (const std::filesystem::filesystem_error& error) {
    return report(system_message(error).text().c_str(), kBadInput);
  } catch (const std::bad_alloc&) {
    std::fputs("error: there is not enough memory\n", stderr);
    return kBadInput;
  } catch (const std::exception& error) {
    return report(str("error: ", error.what()).c_str(), kOurFault);
  }
}

}  // namespace thtrain

int main(int argc, char** argv) {
  auto started = thtrain::process_start();
  thtrain::open_closed_streams();
  thtrain::expect_write_errors();
  thtrain::remove_unfinished_on_signals();
  thtrain::set_trial_program({"/proc/self/exe", "trial"});
  bool failed = true;
  const int code = thtrain::run({argv + (argc > 0), argv + argc}, started, failed);
  std::fflush(nullptr);
  thtrain::leave_job(failed, code);
  return code;
}
