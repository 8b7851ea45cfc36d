#!/usr/bin/env python3
"""Works for `mlbench run`: worker.py PEER reads requests from standard input and replies on standard output, one JSON object a line.

    {"load": TASK}      -> {"loaded": {"version", "uses"}} or {"skipped": REASON}
    {"answer": true}    -> {"answer": [[NUMBER, ...], ...]}    what the contestants compare
    {"run": TIMES}      -> {"seconds": [SECONDS, ...]}         one value a repetition
    {"memory": true}    -> {"peak_bytes": BYTES}
    anything that fails -> {"failed": REASON}

TASK has kind, precision, threads, folder and the work: rows, or prompt and new_tokens, or text_file and lines.

A peer is one file, peer_NAME.py: WORK, the pairs of kind and precision that it does, and load(task), which gives an object with version, uses,
run() (the work once; returns its seconds where not all of the call counts) and answer(). It imports its library in load.
"""

import importlib
import json
import os
import sys
import time

THREAD_VARIABLES = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"]


class Skip(Exception):
    """The peer does not take part, and why."""


def load(peer, task):
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(task["threads"])
    module = importlib.import_module("peer_" + peer.replace(".", "_"))
    if (task["kind"], task["precision"]) not in module.WORK:
        raise Skip("does no such work in this suite")
    try:
        return module.load(task)
    except ModuleNotFoundError as error:
        raise Skip(f"not installed: there is no Python module {error.name}") from error
    except FileNotFoundError as error:
        raise Skip(f"there is no file {error.filename}; make it with Bench/make_models.py") from error


def run(job):
    started = time.perf_counter()
    seconds = job.run()
    return time.perf_counter() - started if seconds is None else seconds


def peak_bytes():
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    except FileNotFoundError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def reply(peer, state, request):
    if "load" in request:
        job = state["job"] = load(peer, request["load"])
        return {"loaded": {"version": job.version, "uses": getattr(job, "uses", "")}}
    if "answer" in request:
        return {"answer": state["job"].answer()}
    if "run" in request:
        return {"seconds": [run(state["job"]) for _ in range(request["run"])]}
    if "memory" in request:
        return {"peak_bytes": peak_bytes()}
    raise ValueError("unknown request")


def main():
    # Replies go to the real standard output; what libraries print there goes to standard error.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    state = {}
    for line in sys.stdin:
        try:
            answer = reply(sys.argv[1], state, json.loads(line))
        except Skip as reason:
            answer = {"skipped": str(reason)}
        except Exception as error:  # whatever a library throws is a reply
            answer = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(answer), file=replies, flush=True)


if __name__ == "__main__":
    main()
