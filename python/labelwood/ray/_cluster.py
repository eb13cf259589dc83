"""Handing out tasks, and what the cluster has room for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import ray

from .._errors import InputError, MachineError

_log = logging.getLogger(__name__)

#: How many pieces of work are handed out for each that the cluster can do at once.
AHEAD = 2
#: Seconds without any result after which it is worth to look at the cluster.
QUIET = 10

#: Seconds that tasks which are given up have to end.
PARTING = 1

#: The option of a task that Ray itself does not start again.
ONCE = {"max_retries": 0}

_Item = TypeVar("_Item")


def each(
    submit: Callable[[_Item], ray.ObjectRef], items: Iterable[_Item], attempts: int, window: int,
    look: Callable[[], None] = lambda: None,
) -> Iterator[tuple[_Item, Any]]:
    """The results of a task for each item as they come; lost ones are handed out again.

    A task is started ``attempts`` times at most, so Ray must not retry it on its own account:
    :data:`ONCE` is for its options. While no results come, ``look`` is called now and then, which
    may raise.
    """
    waiting = [(item, attempts) for item in items][::-1]
    running: dict[ray.ObjectRef, tuple[_Item, int]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < window:
                item, left = waiting.pop()
                running[submit(item)] = (item, left)
            done, _ = ray.wait(list(running), timeout=QUIET)
            if not done:
                look()
                continue
            [ready] = done
            item, left = running.pop(ready)
            try:
                result = ray.get(ready)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except ray.exceptions.RayError as error:
                if left <= 1:
                    raise MachineError(
                        f"a task was lost as often as attempts allows: {error}; what is finished is kept"
                    ) from error
                _log.warning("a task was lost and is started again: %s", error)
                waiting.append((item, left - 1))
            else:
                yield item, result
    finally:
        _give_up(list(running))


def _give_up(refs: list[ray.ObjectRef]) -> None:
    """Stops tasks. Ray would report an error that nobody has asked for, in the middle of other work."""
    for ref in refs:
        ray.cancel(ref)
    for ref in ray.wait(refs, num_returns=len(refs), timeout=PARTING)[0] if refs else ():
        try:
            ray.get(ref)
        except Exception as error:
            _log.debug("a task that was given up had failed: %s", error)


def slots(cpus: int, memory: int = 0) -> int:
    """How many tasks the cluster runs at once, each on one machine."""
    return sum(
        min(int(machine.get("CPU", 0)) // cpus,
            int(machine.get("memory", 0)) // memory if memory else sys.maxsize)
        for machine in _machines()
    )


def refuse_without_ray() -> None:
    if not ray.is_initialized():
        raise InputError(
            "Ray is not started: call ray.init() before, which on a machine of a cluster joins that"
        )


def refuse_less_than_one(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise InputError(f"{name} is {number}, but must be at least 1")


def refuse_more_than_a_machine_has(cpus: int, memory: int) -> None:
    """Ray would wait for such a machine for ever."""
    if not slots(cpus, memory):
        most = max((machine.get("memory", 0) for machine in _machines()), default=0)
        raise InputError(
            f"a task asks for {cpus} CPUs and {gib(memory)} of memory, but no machine has both "
            f"(at most {gib(most)}): give less as cpus or memory, or start a larger machine"
        )


def gib(size: float) -> str:
    return f"{size / 2**30:.2f} GiB"


def _machines() -> list[dict[str, float]]:
    """What the machines have that are there now; one that is still to come is not known."""
    return [machine["Resources"] for machine in ray.nodes() if machine["Alive"]]
