// The program `thtrain`: parses the command line, runs the command, and turns errors into texts and exit codes.
#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "trainers/trainer.h"

namespace thtrain {

// When the process started: what it computed before main() is nearly all of the time that it was there.
static std::chrono::steady_clock::time_point process_start() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::steady_clock::now() - std::chrono::seconds(used.tv_sec) - std::chrono::nanoseconds(used.tv_nsec);
}

static int report(const char* text, ExitCode code) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", text);
  if (code == kOurFault && !std::strstr(text, "please report"))
    std::fputs("  hint:     this is a fault of thtrain, not of your input: please report it\n", stderr);
  return code;
}

static int run(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started) {
  try {
    return parse_arguments(words, started)();
  } catch (const UserError& error) {
    return report(error.what(), kBadInput);
  } catch (const Interrupted& interrupted) {
    std::fflush(stdout);
    std::fprintf(stderr, "thtrain: %s\n", interrupted.messages()[0].what.c_str());
    return 128 + interrupted.signal();
  } catch (const NonFiniteLoss& error) {
    return report(error.what(), kNotFinite);
  } catch (const Error& error) {
    return report(error.what(), kOurFault);
  } catch (const std::bad_alloc&) {
    std::fputs("error: there is not enough memory\n", stderr);
    return kOurFault;
  } catch (const std::exception& error) {
    return report(str("error: ", error.what()).c_str(), kOurFault);
  }
}

}  // namespace thtrain

int main(int argc, char** argv) {
  auto started = thtrain::process_start();
  return thtrain::run({argv + (argc > 0), argv + argc}, started);
}
