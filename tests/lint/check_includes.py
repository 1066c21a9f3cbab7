"""A file includes its own room and rooms to its left, from the root of the tree, and no cycle comes of it.

    compiler/base < ir < kernel < ops < cpu < passes < autodiff < plan < codegen < store < host < cuda < libraries <
    tuning < runtime < compiler/*.h (api.h)
    base < config    api.h, config < nn < reports < trainers < bench < cli    api.h, config < datasets < reports
    all < tests, docs

Within compiler/ops the families have an order too, and passes know ops by their contract (compiler/ir/op.h).
"""

import os
import re

import tree

# Room: the rooms directly to its left. What those see, it sees too.
LEFT = {
    "compiler/base": [],
    "compiler/ir": ["compiler/base"],
    "compiler/kernel": ["compiler/ir"],
    "compiler/ops": ["compiler/kernel"],
    "compiler/autodiff": ["compiler/passes"],
    "compiler/cpu": ["compiler/ops"],
    "compiler/passes": ["compiler/cpu"],
    "compiler/plan": ["compiler/autodiff"],
    "compiler/codegen": ["compiler/plan"],
    "compiler/store": ["compiler/codegen"],
    "compiler/host": ["compiler/store"],
    "compiler/cuda": ["compiler/host"],
    "compiler/libraries": ["compiler/cuda"],
    "compiler/tuning": ["compiler/libraries"],
    "compiler/runtime": ["compiler/tuning"],
    "compiler": ["compiler/runtime"],
    "config": ["compiler/base"],
    "nn": ["compiler", "config"],
    "datasets": ["compiler", "config"],
    "reports": ["nn", "datasets"],
    "trainers": ["reports"],
    "bench": ["trainers"],
    "cli": ["bench"],
    "tests": ["cli"],
    "docs": ["trainers"],
}

# Written by the build; cmake/generated.cmake.
GENERATED = {"compiler/base/build_info.h", "compiler/codegen/embedded_text.h"}

# <header> that only these files may see.
GUARDED = [
    (re.compile(r"toml(\+\+|plusplus)"), re.compile(r"cli/toml_config\.cpp$"),
     "only cli/toml_config.cpp may see toml++"),
    (re.compile(r"CLI/"), re.compile(r"cli/"), "only cli/ may see CLI11"),
    (re.compile(r"(.*/)?(cuda|cublas|cudnn|cufft|cusparse|cusolver|curand|nvrtc|nvJitLink)", re.I),
     re.compile(r"tests/compiler/cuda/declarations"),
     "only the test of the declarations in compiler/cuda may see CUDA headers"),
]

# The families of ops, each to the right of those that it may see. Of the folder's own files, headers see none.
FAMILIES = ["shape", "elemwise", "index", "reduce", "order", "linalg", "factor", "fft", "sparse", "conv", "image",
            "nnet", "pool", "random", "effect", "control"]
# Headers for users, which declare expressions of expressions: the sources of any family may build nodes of any other
# (the derivative of a sum is a broadcast, and that of a broadcast a sum).
BUILDERS = {f"compiler/ops/{name}" for name in [
    "shape/shape.h", "elemwise/elemwise.h", "index/index.h", "reduce/cumulative.h", "reduce/reduce.h", "order/order.h",
    "linalg/linalg.h", "factor/factor.h", "factor/decompositions.h", "factor/matrix_functions.h", "fft/fft.h",
    "conv/conv.h", "image/pad.h", "image/windows.h", "nnet/losses.h", "nnet/softmax.h", "pool/pool.h",
    "random/random.h", "effect/effect.h", "control/repeat.h", "control/scan.h", "control/stable_gradient.h",
    "control/stop_gradient.h"]}

# Families that passes and the planner know besides the elementwise one: a pass that is named after a family, and the
# rules, which name the ops that they rewrite.
KNOWN_TO = [
    (re.compile(r"compiler/passes/fuse_reductions\."), {"reduce", "nnet"}),
    (re.compile(r"compiler/passes/fuse_pooling\."), {"pool"}),
    (re.compile(r"compiler/passes/fuse_layers\."), {"linalg"}),
    (re.compile(r"compiler/passes/fuse_scatters\."), {"index"}),
    (re.compile(r"compiler/passes/choose_gradients\."), {"control"}),
    (re.compile(r"compiler/passes/hoist_from_loops\."), {"control"}),
    (re.compile(r"compiler/passes/inline_calls\."), {"control"}),
    (re.compile(r"compiler/passes/accumulations\."), {"reduce", "shape"}),  # over iterations, one state after another
    (re.compile(r"compiler/passes/batch_loops\."), {"control", "index"}),  # histories of states are sliced
    (re.compile(r"compiler/passes/merge_loops\."), {"control"}),
    (re.compile(r"compiler/passes/trim_loops\."), {"control"}),
    (re.compile(r"compiler/passes/match\."), {"shape"}),  # numbers are found below views
    (re.compile(r"compiler/passes/place_values\."), {"control"}),
    (re.compile(r"compiler/passes/read_starts\."), {"index"}),  # of slices
    (re.compile(r"compiler/passes/solve_for_inverses\."), {"linalg", "factor"}),
    (re.compile(r"compiler/passes/rules/"), set(FAMILIES)),
]

# Passes ask the record of an op (compiler/ir/op.h) and do not compare it with ops by name. Exempt are the rules, ops of
# the file itself, leaves, and these.
NAMES_OPS = {
    "compiler/passes/solve_for_inverses.cpp": {"dot", "batched_dot", "lu", "solution"},  # products and factors of these
    "compiler/passes/choose_gradients.cpp": {"stable_gradient"},  # the op is there for this pass
    "compiler/passes/find_gemm.cpp": {"add", "sub", "neg", "mul", "true_div"},  # the algebra of sums and multiples
    "compiler/passes/accumulations.cpp": {"add", "mul", "maximum", "minimum"},  # what states collect by
    "compiler/passes/batch_loops.cpp": {"scan"},  # of whose iterations one computation is made
    "compiler/passes/hoist_from_loops.cpp": {"scan"},  # whose iterations run again and again
    "compiler/passes/fuse_scatters.cpp": {"fused"},  # what fuse_elementwise has made
    "compiler/passes/inline_calls.cpp": {"graph_call", "graph_call_with_tangents"},  # which it puts graphs in place of
    "compiler/passes/match.cpp": {"switch", "broadcast_to", "dimshuffle", "reshape"},  # part of the rules
    "compiler/passes/merge_loops.cpp": {"scan"},  # whose bodies are compared
    "compiler/passes/stable_forms.cpp": {"cast"},
    "compiler/passes/trim_loops.cpp": {"scan"},  # whose outputs are many
}
LEAVES = {"input", "shared", "constant", "start_token"}
OP = re.compile(r"\b(\w+)_op\(\)")

# The width of vectors in bytes: others ask the target (compiler/kernel/target.h) for lanes and registers.
WIDTH = re.compile(r"\bvector_bytes\b")
KNOWS_WIDTH = re.compile(
    r"compiler/(kernel/target\.|kernel/cpp/dialect\.cpp|host/(cpu|target_text|host_compiler)\.|tuning/machine\.)")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>\n]*>|"[^"\n]*")', re.M)


def room_of(path):
    """The room of a path from the root, or None."""
    parts = path.split("/")
    if parts[0] == "compiler":
        inner = "/".join(parts[:2])
        return inner if len(parts) > 2 and inner in LEFT else "compiler" if len(parts) == 2 else None
    return parts[0] if parts[0] in LEFT and len(parts) > 1 else None


def seen_by(room):
    rooms = {room}
    for left in LEFT[room]:
        rooms |= seen_by(left)
    return rooms


def family_of(path):
    """The family of a path in compiler/ops, "" for files of the folder itself; None elsewhere."""
    parts = path.split("/")
    if parts[:2] != ["compiler", "ops"]:
        return None
    return parts[2] if len(parts) > 3 else ""


def wrong_family(path, target):
    """Why a file may not see that header of a family of ops; None where it may."""
    seen = family_of(target)
    if not seen:
        return None
    if seen not in FAMILIES:
        return f"{seen} is in no list of families of tests/lint/check_includes.py"
    own, is_source = family_of(path), path.endswith(".cpp")
    if own == "":
        return None if is_source else f"a header outside of the families sees none, not {seen}"
    if own is not None:
        may = own in FAMILIES and FAMILIES.index(seen) <= FAMILIES.index(own)
        return None if may or (is_source and target in BUILDERS) else f"{seen} is not to the left of {own}"
    if room_of(path) not in ("compiler/passes", "compiler/plan", "compiler/codegen") or seen == "elemwise":
        return None
    if any(pattern.match(path) and seen in known for pattern, known in KNOWN_TO):
        return None
    return f"passes and the planner know ops by compiler/ir/op.h; {seen} is not for this file"


def named_ops(path, text):
    """(line, name) of each op that a pass knows by its name, and should not."""
    if not path.startswith(("compiler/passes/", "compiler/plan/", "compiler/autodiff/")) or "/rules/" in path:
        return
    own = set(re.findall(r"^(?:static )?const Op& (\w+)_op\(\) \{", text, re.M))
    for match in OP.finditer(text):
        if match.group(1) not in own | LEAVES | NAMES_OPS.get(path, set()):
            yield text.count("\n", 0, match.start()) + 1, match.group(1)


def find_cycles(graph):
    """One cycle for each file that closes one, as lists of paths. Iterative: a chain of headers may be long."""
    cycles, state = [], {}
    for start in sorted(graph):
        if start in state:
            continue
        state[start] = "open"
        stack = [(start, iter(graph[start]))]
        while stack:
            path, rest = stack[-1]
            for target in rest:
                if state.get(target) == "open":
                    open_paths = [p for p, _ in stack]
                    cycles.append(open_paths[open_paths.index(target):] + [target])
                elif target not in state:
                    state[target] = "open"
                    stack.append((target, iter(graph.get(target, []))))
                    break
            else:
                state[path] = "done"
                stack.pop()
    return cycles


def check(root):
    findings, graph = [], {}
    for path in tree.files(root):
        if path.startswith("tests/package/"):
            continue  # a project of somebody else
        room = room_of(path)
        if room is None:
            findings.append(f"{path}:1: is in no room")
            continue
        allowed = seen_by(room)
        graph[path] = []
        text = tree.read(root, path)
        for line, name in named_ops(path, text):
            findings.append(f"{path}:{line}: names {name}_op(): passes and the planner know ops by compiler/ir/op.h")
        if room.startswith("compiler") and not KNOWS_WIDTH.match(path):
            for match in WIDTH.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                findings.append(f"{path}:{line}: reads vector_bytes: ask the target for lanes or registers")
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            is_system = match.group(1)[0] == "<"
            target = match.group(1)[1:-1]
            for pattern, may, why in GUARDED:
                if is_system and pattern.match(target) and not may.match(path):
                    findings.append(f"{path}:{line}: includes <{target}>: {why}")
            if is_system:
                continue
            if target not in GENERATED and not os.path.exists(os.path.join(root, target)):
                findings.append(f'{path}:{line}: "{target}" is not there; includes are written from the root')
                continue
            graph[path].append(target)
            target_room = room_of(target)
            if target_room is None:
                findings.append(f'{path}:{line}: "{target}" is in no room')
            elif target_room not in allowed:
                findings.append(f'{path}:{line}: "{target}": {target_room} is not to the left of {room}')
            elif (why := wrong_family(path, target)) is not None:
                findings.append(f'{path}:{line}: "{target}": {why}')
    findings += [f"{cycle[0]}:1: include cycle: {' -> '.join(cycle)}" for cycle in find_cycles(graph)]
    return findings


if __name__ == "__main__":
    tree.main(check, __doc__)
