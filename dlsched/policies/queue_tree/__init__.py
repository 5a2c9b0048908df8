"""Quotas of queues in a tree, as in Kueue and KAI.

The cores are pure: they know a tree of quotas, running jobs and waiting jobs, and no clock, nodes or engine.

- ``tree``: nodes, quotas, what is used, available and borrowed; ``Tree.of`` builds it from a scenario's ``[queues]``.
- ``jobs``: waiting jobs with their pods, running jobs with what they hold, the rules of a queue.
- ``flavors``: which flavor each part of a job gets; ``victims`` and ``fair``: which jobs must stop for it.
- ``cycle``: one pass over the first job of every queue; ``rooms``: which jobs wait or are parked, and in which order.
- ``usage``: past use of sub-queues. ``kai``: the same tree under KAI's rules.
- ``instance``: ``solve queues``.

Life of a tree in a simulator::

    tree, rooms = Tree.of(scenario.queues), Rooms(tree)
    rooms.add(job)                                     # a job arrives
    heads = rooms.heads()                              # the first waiting job of each queue
    result = run_cycle(tree, heads, rules, has_room)   # the tree is as before: nothing is carried out
    for job, assignment in result.admitted:
        tree.start(Running.of(job, assignment, now_s))
    for told in result.told:
        tree.running[told.victim].leaving = True       # keeps its quota until tree.end(...)
    rooms.take_back(result)                            # the others wait again or are parked
    ...
    tree.end(job_id); rooms.freed(queue)               # a job has left: parked jobs of its tree wait again

Amounts are whole numbers in the smallest unit, so that no comparison hangs on rounding.
"""
