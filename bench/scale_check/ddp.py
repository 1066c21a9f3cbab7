"""Steps of data-parallel training by PyTorch: DistributedDataParallel over gloo, or one process.

    python ddp.py LAYERS BATCH STEPS PROCESSES THREADS     python ddp.py 784-300-10 50 2000 2 1

A network of tanh layers and a softmax, SGD with momentum 0.9; each process takes its part of the minibatch, from
10,000 random examples in memory. Prints the milliseconds of a step of rank 0, behind a tenth of them as warm-up.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def train(rank, sizes, batch, steps, processes, threads, port):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    layers = []
    for n, m in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(n, m), torch.nn.Tanh()]
    model = torch.nn.Sequential(*layers[:-1])
    if processes > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        dist.init_process_group("gloo", rank=rank, world_size=processes)
        model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True,
                                                          static_graph=True)
    x, y = torch.randn(10000, sizes[0]), torch.randint(0, sizes[-1], (10000,))
    loss = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    own = batch // processes

    def step(i):
        begin = (i * batch + rank * own) % (10000 - own)
        optimizer.zero_grad()
        loss(model(x[begin:begin + own]), y[begin:begin + own]).backward()
        optimizer.step()

    for i in range(steps // 10):
        step(i)
    if processes > 1:
        dist.barrier()
    began = time.perf_counter()
    for i in range(steps):
        step(i)
    if rank == 0:
        print(f"{1000 * (time.perf_counter() - began) / steps:.4f}", flush=True)
    if processes > 1:
        dist.barrier()
        os._exit(0)  # gloo's threads may outlive what they use


if __name__ == "__main__":
    sizes = [int(n) for n in sys.argv[1].split("-")]
    batch, steps, processes, threads = (int(word) for word in sys.argv[2:6])
    port = 20000 + os.getpid() % 20000
    if processes == 1:
        train(0, sizes, batch, steps, 1, threads, port)
    else:
        mp.spawn(train, (sizes, batch, steps, processes, threads, port), nprocs=processes)
