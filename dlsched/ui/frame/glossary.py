"""Words of the field as this tool uses them: plain word, the papers' word, what it means here."""

from __future__ import annotations

from typing import NamedTuple


class Term(NamedTuple):
    """One line of the glossary."""

    word: str
    also: str
    meaning: str


TERMS = (
    Term("Admission", "", "Letting a job in at all: one that is not let in is rejected, or asks again later."),
    Term(
        "Assumption",
        "",
        "Something the answer takes for granted, such as a made-up due time; listed in the bar on top.",
    ),
    Term(
        "Asynchronous",
        "async",
        "Workers do not wait for each other: each sends its gradient and gets parameters as it goes; else synchronous.",
    ),
    Term(
        "Average month, nearly every month",
        "",
        "Two claims about a size: the mean over draws meets every target with its whole interval, or a stated share of "
        "the draws meets all of them at once. A draw stands for a month.",
    ),
    Term(
        "Backfill", "", "Short jobs fill holes in the schedule as long as the first job in line is not delayed by them."
    ),
    Term("Baseline", "", "The run that others are compared with; marked B."),
    Term("Best fit", "", "Placement on the node with the fewest free GPUs that still fit the job."),
    Term("Bound", "", "A value that no policy can beat."),
    Term("Bug job", "", "A job that dies soon after its start."),
    Term(
        "Calibration",
        "",
        "Replaying a recorded trace and comparing waits with the recorded ones, to see how far to trust a what-if.",
    ),
    Term(
        "Carried over",
        "",
        "Not admitted in this interval, but worth the wait: the job asks again at the next; else it is rejected.",
    ),
    Term("Chunk", "JSQ-Chunk", "One of the equal parts a cluster is cut into; each serves its own queue."),
    Term("Checkpoint", "", "Saved progress; what was done after the last one is lost when a node fails."),
    Term(
        "Competitive ratio",
        "",
        "The best possible utility, known only in hindsight, over what was had; 1 is the best there can be.",
    ),
    Term(
        "Cross-validated",
        "MAPE",
        "Judged on rows that the model had not seen; the error is the mean of |predicted - measured| / measured.",
    ),
    Term(
        "Draw",
        "seed",
        "One roll of everything random. All policies see the same draw, so differences are not luck of the draw.",
    ),
    Term("Due time", "deadline", "When a job should be done; finishing later costs its weight per hour late."),
    Term(
        "Early termination",
        "gamma",
        "Jobs far along count as longer, so that new ones come first and show early whether they are worth finishing.",
    ),
    Term("Efficiency", "", "Speed-up over the number of nodes: 100% when twice the nodes are twice as fast."),
    Term(
        "Extrapolated",
        "",
        "Predicted beyond what was measured: another GPU type, more GPUs or another batch size; may be far off.",
    ),
    Term("Gang placement", "", "All workers of a job start together or not at all."),
    Term("Gap", "", "Distance between what an answer is worth and the bound; 0 = proven to be the best."),
    Term(
        "GPUs held",
        "allocation ratio",
        "Share of the GPU time that was given to jobs; says nothing about how busy the chips are.",
    ),
    Term(
        "Headroom",
        "",
        "How many times as fast the same jobs may arrive before a size no longer surely meets its targets.",
    ),
    Term("Head-of-line blocking", "", "The first job in the queue does not fit, and all behind it wait with it."),
    Term(
        "Growing queue",
        "unstable",
        "Jobs come faster than they are done, for good: means then say only how long was simulated.",
    ),
    Term(
        "HELL point",
        "HELL",
        "The width with the best product of speed and efficiency; more nodes cost more than they bring.",
    ),
    Term(
        "Knapsack",
        "MKP",
        "Which jobs to admit so that they are worth most together and their limits fit what is free of every resource.",
    ),
    Term("Knee", "KNEE, alpha", "The last width whose nodes each still cut the time by a given share, alpha, say 1%."),
    Term(
        "Knee of cost against service",
        "",
        "Where paying more begins to bring much less, of the choices that were tried; no recommendation by itself.",
    ),
    Term("Knows", "", "What a policy must be told of a job before it runs; run times are rarely known exactly."),
    Term(
        "Linear relaxation",
        "LP",
        "The same question with jobs admitted in parts: quickly solved, never worth less, and it has shadow prices.",
    ),
    Term("Load", "utilisation asked for", "GPU time that jobs ask for, over GPU time that is there while jobs arrive."),
    Term(
        "Lower bound on cost",
        "",
        "What the jobs cost at least under any policy: GPU time at the lowest price, plus lateness nobody avoids.",
    ),
    Term("Makespan", "", "First submission to last completion; set by the longest jobs."),
    Term("Market", "", "A policy: each job picks what is cheapest at a price of GPUs that clears the demand."),
    Term(
        "Mini-batch", "step, batch", "The examples from which a worker computes one gradient, and one update is made."
    ),
    Term(
        "Mixing", "", "A job runs on a faster, dearer configuration first and on a cheaper one later, to end when due."
    ),
    Term("Node", "machine, server", "One machine with its GPUs, CPUs and memory."),
    Term(
        "Not distinguishable", "", "The interval of the difference covers zero: these draws do not show who is better."
    ),
    Term(
        "Objective",
        "",
        "What a plan is worth; for ModelArts the sum over jobs and steps of the share of a job's remaining work that "
        "is done by then.",
    ),
    Term("Pack", "", "Placement on as few nodes as possible, the fullest first."),
    Term(
        "Paired draws",
        "common random numbers",
        "Options are compared draw by draw, which makes the interval of the difference narrower.",
    ),
    Term(
        "Parameter server",
        "",
        "Holds the parameters of a training job: gathers gradients from its workers and sends new parameters back.",
    ),
    Term("Partition", "virtual cluster", "A part of the cluster that only its own jobs may use."),
    Term("Path relinking", "", "A search that walks between good schedules and keeps the best on the way."),
    Term("Payoff", "", "What a job is worth at its end, less the price of the machines it books."),
    Term("Policy", "scheduler", "The rule that decides which job runs where and when."),
    Term("Pool placement", "", "Only the total of free GPUs counts; a job may be split over nodes at will."),
    Term("Preemption", "", "Stopping a job for another one; its progress is kept."),
    Term("Pressure", "", "How close a job is to being late, on its fastest configuration."),
    Term("Profiling row", "", "One measured training run: network, GPU type, GPUs, batch size and how long it took."),
    Term(
        "Reproduction",
        "",
        "A figure or table of a paper computed anew: same, partly (some parts of the claim are seen) or different, and "
        "why. Quick: small sizes; full: those of the study as far as they are printed.",
    ),
    Term(
        "Rigid, moldable, malleable",
        "",
        "The width is fixed; chosen at the start; may change while the job runs (elastic).",
    ),
    Term(
        "Regret",
        "minimax regret",
        "What a choice loses to the best one of a situation. Safe choice: its largest loss of all situations is least.",
    ),
    Term("Rolling horizon", "look-ahead", "Plan some steps, carry out the first, then plan anew."),
    Term(
        "Shadow price",
        "lambda, dual",
        "What one more unit of a resource would be worth at the moment; 0 when there is enough.",
    ),
    Term("Slot", "free node", "Room for one rented machine, whose type the policy chooses, changes and gives back."),
    Term("Slowdown", "stretch", "Time in system over the run time at the requested width."),
    Term("Speed-up", "", "How much faster a job is than with one worker."),
    Term("Spread", "", "Placement on as many nodes as possible, the emptiest first."),
    Term(
        "Steady state",
        "",
        "What a cluster settles to after its start where the queue does not grow: longer simulation does not move it.",
    ),
    Term("Tardiness", "", "Time past the due time; zero for jobs that are early."),
    Term("Time in system", "JCT, response time", "Submission to completion."),
    Term(
        "Uplink, downlink time",
        "",
        "How long one gradient takes to the server, and parameters back, while nobody else sends or receives.",
    ),
    Term(
        "Used of reserved",
        "",
        "Share of what was kept for jobs, up to their users' limits, that their workers and servers held.",
    ),
    Term("Useful share", "goodput", "Share of the held GPU time that moved work forward."),
    Term("Unsure", "", "The draws do not tell whether a target is met; never counted as met. More draws may tell."),
    Term("User's limit", "v", "The most that all workers and servers of a job may hold together of each resource."),
    Term("Utility", "", "What finishing a job at a given time is worth; without a unit."),
    Term("VM type", "machine type, flavour", "The kind of a node: GPU type, GPUs, CPUs, memory and price."),
    Term("Wait", "queueing delay", "Submission to the first start."),
    Term("Weight", "omega", "What an hour of lateness of a job costs, in dollars; for planning, not money paid."),
    Term("Width", "number of workers", "How many workers a job has at a moment."),
    Term("Work", "", "What a job has to do; for a trace its run time in seconds at the width it asked for."),
    Term("Worker", "task, replica", "The part of a job that holds a GPU (or a share of one)."),
)
