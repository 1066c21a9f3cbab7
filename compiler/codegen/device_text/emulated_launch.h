// launch(): what the entry of a program calls where the emulated device computes on memory of the host. It follows
// entry_abi.h and emulated_cuda.h.
#ifndef THTRAIN_EMULATED_LAUNCH_H
#define THTRAIN_EMULATED_LAUNCH_H

/* A kernel that is wrong fails the call by the check `mistake`, with the thread and the block. */
template <class... Parameters, class... Arguments>
static void th_launch(ThContext* ctx, int mistake, void (*kernel)(Parameters...), long blocks, int threads,
                      Arguments... arguments) {
  const auto body = [&] { kernel((Parameters)arguments...); };
  typedef decltype(body) Body;
  ThWrong wrong{};
  if (blocks > 0 && !ctx->failure.word)
    if (!th_run_blocks(
            blocks, threads, [](const void* of) { (*(Body*)of)(); }, &body, &wrong))
      ctx->fail(ctx, mistake, wrong.thread, wrong.block);
}

/* Arguments are converted to the parameters. A kernel with one parameter more takes the word of failure: the number of
   a check that did not hold, plus one, and the two values of its message. */
template <class... Parameters, class... Arguments>
static void launch(ThContext* ctx, int mistake, void (*kernel)(Parameters...), long blocks, int threads,
                   Arguments... arguments) {
  if constexpr (sizeof...(Parameters) > sizeof...(Arguments)) {
    long failure[3] = {0, 0, 0};
    th_launch(ctx, mistake, kernel, blocks, threads, arguments..., (long*)failure);
    if (failure[0]) ctx->fail(ctx, (int)failure[0] - 1, failure[1], failure[2]);
  } else {
    th_launch(ctx, mistake, kernel, blocks, threads, arguments...);
  }
}

#endif
