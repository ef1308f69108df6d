"""Tasks, workers, and how tasks are distributed; `pools` and `distributed` have the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

from treceval_py.errors import RunnerError

WAITING = 2
"""Tasks that a worker holds at once: the current one and the next. More would only take memory."""

Advance: TypeAlias = Callable[[int], None]


class Worker(Protocol):
    """A worker on one device."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for users, a sentence or two each."""

    @property
    def by(self) -> dict[str, object]:
        """Description of the worker, as plain JSON: device, batch size, host, versions."""

    def work(self, content: Any, advance: Advance) -> Any:
        """Do a task, and report how much of its size is done."""


Maker: TypeAlias = Callable[[str], Worker]
"""Makes the worker of a device (``cpu``, ``cuda:0``); it is pickled if other processes do the work."""


def do(worker: Any, content: Any, advance: Advance) -> Any:
    """Do a task: what the worker prepares first, if it does."""
    prepare = getattr(worker, "prepare", None)
    return worker.work(content if prepare is None else prepare(content), advance)


class Task(NamedTuple):
    """A piece of work.

    Attributes
    ----------
    number : int
        Its number, which no other task of the same call has.
    content : object
        Input of the worker; it is pickled if other processes do the work.
    size : int
        Its number of units in the progress, such as texts.
    """

    number: int
    content: Any
    size: int


class Done(NamedTuple):
    """A task that is done.

    Attributes
    ----------
    task : Task
        The task.
    result : object
        What the worker returned.
    by : dict
        The worker's `Worker.by`.
    """

    task: Task
    result: Any
    by: dict[str, object]


class Pool(Protocol):
    """Workers that share tasks."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for users, a sentence or two each."""

    def run(self, tasks: Iterable[Task], advance: Advance) -> Iterator[Done]:
        """Do tasks; they come back in any order.

        Parameters
        ----------
        tasks : iterable of Task
            The tasks; read as they are needed.
        advance : callable
            Called with the number of units that were done since the last call.

        Yields
        ------
        Done
            Each task with its result.

        Raises
        ------
        RunnerError
            A device fails, or its process is killed.
        """

    def close(self) -> None:
        """Release the devices; nothing is left running."""


Answer: TypeAlias = "int | tuple[Any, dict[str, object], tuple[str, ...]]"
"""Progress of a task since the last report; or its result, its worker, and notes."""


class Place:
    """A worker elsewhere, as this process sees it.

    Attributes
    ----------
    tasks : dict
        The tasks that it has by the futures of their answers, the oldest first; None while its worker is made.
    """

    def __init__(self, start: Any) -> None:
        self.tasks: dict[Any, Task | None] = {start: None}

    def give(self, task: Task) -> None:
        """Send it a task."""
        raise NotImplementedError


class Places:
    """Workers elsewhere that share tasks: what is common to all pools of them.

    Attributes
    ----------
    places : dict
        The workers, by whatever names them; without any the pool is closed.
    again : list of Task
        Tasks that were lost, for others.
    notes : tuple of str
        Notes for users.
    """

    def __init__(self) -> None:
        self.places: dict[Any, Any] = {}
        self.again: list[Task] = []
        self.notes: tuple[str, ...] = ()

    def run(self, tasks: Iterable[Task], advance: Advance) -> Iterator[Done]:
        """Do tasks, each by whoever is free; see `Pool.run`. Who stops before the last one has closed the pool."""
        if not self.places:
            raise RunnerError("the pool is closed", "Make another.")
        source = iter(tasks)
        told: dict[int, int] = {}  # how much is done of each task that is not finished
        try:
            while self._feed(source, told):
                for task, answer in self.answers():
                    if isinstance(answer, int):
                        more = min(answer, task.size - told[task.number])  # it may be tried again
                        told[task.number] += more
                        if more:
                            advance(more)
                        continue
                    result, by, notes = answer
                    self.note(notes)
                    advance(task.size - told.pop(task.number))
                    self._feed(source, told)
                    yield Done(task, result, by)
        finally:
            if told:
                self.close()

    def _feed(self, source: Iterator[Task], told: dict[int, int]) -> bool:
        """Distribute tasks, one to each place before any gets a second; return whether any are unfinished."""
        self.look()
        for room in range(WAITING):
            for place in self.places.values():
                if len(place.tasks) == room and None not in place.tasks.values():
                    task = self.again.pop() if self.again else next(source, None)
                    if task is not None:
                        told.setdefault(task.number, 0)
                        place.give(task)
        return bool(told)

    def note(self, notes: Iterable[str]) -> None:
        """Collect notes of a worker, each once."""
        self.notes = tuple(dict.fromkeys((*self.notes, *notes)))

    def answers(self) -> Iterator[tuple[Task, Answer]]:
        """Wait a while for answers, and yield those to tasks."""
        coming = {ref: place for place in self.places.values() for ref in place.tasks}
        ready = self.wait(list(coming))
        yield from self.told(not ready)
        for ref in ready:
            task = coming[ref].tasks.pop(ref)
            answer = self.answer(coming[ref], ref)
            if answer is None:
                self.again += filter(None, [task])
            elif task is None:
                self.note(answer)
            else:
                yield task, answer

    def start(self) -> None:
        """Wait until a worker is made."""
        while all(None in place.tasks.values() for place in self.places.values()):
            self.look()
            list(self.answers())

    def look(self) -> None:
        """Update the places."""

    def wait(self, futures: list[Any]) -> Iterable[Any]:
        """Wait a while for answers, and return the futures of those that came."""
        raise NotImplementedError

    def told(self, idle: bool) -> Iterator[tuple[Task, int]]:
        """Yield how much more of tasks is done; ``idle`` says that nothing else has come."""
        raise NotImplementedError

    def answer(self, place: Any, future: Any) -> Any:
        """Return an answer that came; None where it was lost."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the places, whatever they are doing."""
        raise NotImplementedError
