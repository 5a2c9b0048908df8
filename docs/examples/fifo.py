"""First come, first served, as a process of its own: jobs of one GPU per worker, on the fullest node that fits."""

import bisect
import json
import sys

capacity, free, queue, width, held = [], [], [], {}, {}


def place(gpus):
    """Return [[node, GPUs], ...]; a job larger than every node takes wholly free nodes. None: no room."""
    if gpus <= max(capacity):
        fits = [node for node, room in enumerate(free) if room >= gpus]
        return [[min(fits, key=free.__getitem__), gpus]] if fits else None
    nodes = []
    for node, room in enumerate(free):
        if gpus and room and room == capacity[node]:
            nodes.append([node, min(room, gpus)])
            gpus -= nodes[-1][1]
    return None if gpus else nodes


def decide(message):
    """Return which jobs start now, in order of submission, up to the first that does not fit."""
    for job in message["submitted"]:
        width[job["job"]] = job["workers"]
    for job in message["ended"] + message["returned"]:
        for node, gpus in held.pop(job, []):
            free[node] += gpus
    queue[:] = [job for job in queue if job not in set(message["ended"])]  # cancelled while they waited
    for job in [one["job"] for one in message["submitted"]] + message["returned"]:
        bisect.insort(queue, job)  # jobs are numbered in order of submission
    for node in message["down"] + message["up"]:
        free[node] = capacity[node] if node in message["up"] else 0
    starts = []
    while queue and (nodes := place(width[queue[0]])):
        for node, gpus in nodes:
            free[node] -= gpus
        held[queue[0]] = nodes
        starts.append({"job": queue.pop(0), "nodes": nodes})
    return {"start": starts, "reasons": [[queue[0], "no_room"]] if queue else []}


for line in sys.stdin:
    question, answer = json.loads(line), {}
    if question["type"] == "hello":
        answer = {"protocol": 1}
    elif question["type"] == "start":
        capacity[:] = [node["gpus"] for node in question["nodes"]]
        free[:] = [node["gpus"] if node["up"] else 0 for node in question["nodes"]]
    elif question["type"] == "decide":
        answer = decide(question)
    print(json.dumps(answer), flush=True)
