"""What comes from outside of one kind: policies, readers or speed models, by key."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from dlsched.domain.errors import InputError
from dlsched.plugins.loading import Found, load_entry_point, load_reference, points_of, references


class Entry(Protocol):
    """What the three kinds have in common; ``fingerprint`` changes with the version and the sources."""

    @property
    def key(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...


T = TypeVar("T", bound=Entry)


@dataclass(frozen=True, slots=True)
class Problem:
    """A plug-in that cannot be used: what it is and why."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Needed:
    """An entry from outside that an order to another process rests on.

    ``reference``: how it was named; "" where its package is installed. ``carried``: an object of the asking process,
    pickled; b"" if it cannot be.
    """

    group: str
    key: str
    origin: str
    fingerprint: str
    reference: str = ""
    carried: bytes | None = None


class Catalogue(Generic[T]):
    """Entries from outside of one kind, loaded when first asked for.

    Parameters
    ----------
    group
        Group of entry points, as in ``dlsched.policies``.
    noun
        What an entry is called: "policy".
    kind
        Type of an entry.
    own
        Returns the keys of our own entries, which no other may take.
    fault
        Says what is wrong with an entry, "" if nothing is.
    adapt
        Makes an entry of other things that may be given, with its key; None if it cannot.
    distinct
        Returns an entry under a name that is not yet taken, given the others from outside.
    """

    def __init__(
        self,
        group: str,
        noun: str,
        kind: type[T],
        own: Callable[[], Collection[str]],
        fault: Callable[[T], str],
        adapt: Callable[[Any], T | None] = lambda thing: None,
        distinct: Callable[[T, Collection[T]], T] = lambda entry, others: entry,
    ) -> None:
        self.group, self.noun = group, noun
        self._kind, self._own, self._fault, self._adapt, self._distinct = kind, own, fault, adapt, distinct
        self._lock = threading.RLock()
        self._expected: dict[str, Needed] = {}
        self.forget()
        CATALOGUES.append(self)

    def forget(self) -> None:
        """Forget what was loaded: the next question looks again. For tests."""
        with self._lock:
            self._entries: dict[str, T] = {}
            self._where: dict[str, Found] = {}
            self._objects: dict[str, Any] = {}
            self._problems: list[Problem] = []
            self._used: dict[str, Needed] = {}
            self._expected = {}
            self._is_loaded = False

    def all(self) -> Mapping[str, T]:
        """Return every entry by key; what cannot be used is in :meth:`problems`."""
        with self._lock:
            if not self._is_loaded:
                self._is_loaded = True
                for found in self._installed():
                    self._take(found)
            return dict(self._entries)

    def problems(self) -> tuple[Problem, ...]:
        """Return which plug-ins cannot be used, and why."""
        self.all()
        return tuple(self._problems)

    def find(self, key: str) -> T | None:
        """Return the entry of a key, or of a reference that was loaded before; None without one.

        Never imports a module that is not installed as a plug-in or named in the server's configuration: keys come from
        links and files too.

        Raises
        ------
        InputError
            In a worker, if it has another version than the process that asks, or none.
        """
        with self._lock:
            expected = self._expected.get(key)
            if expected is not None:
                self._get_ready(expected)
            by_reference = {one.reference: name for name, one in self._where.items() if one.reference}
            known = self._entries if key in self._entries or key in by_reference else self.all()
            entry = known.get(by_reference.get(key, key))
            if expected is not None:
                self._check(expected, entry)
            if entry is not None and entry.key not in self._used:
                self._used[entry.key] = self._needed(entry)
            return entry

    def load(self, reference: str) -> T:
        """Return the entry that ``module:NAME`` names, and know it by its key from now on in this process.

        For what a user types on the command line, or gives in Python; never for a link, a file or an upload.

        Raises
        ------
        InputError
            It cannot be loaded, is no entry of this kind, holds several, or its key is taken.
        """
        with self._lock:
            taken = self._take(load_reference(reference), strict=True)
        if len(taken) != 1:
            keys = ", ".join(one.key for one in taken) or "none of its own"
            raise InputError(f"plug-in {reference}", f"must name one {self.noun}, got {keys}", "Name one of them")
        return taken[0]

    def add(self, entry: T, thing: Any) -> T:
        """Know an entry of this Python process by its key, in place of an earlier one; ``thing``: what it was made of.

        Raises
        ------
        InputError
            If its key is one of ours or of an installed plug-in.
        """
        with self._lock:
            self.all()
            self._refuse(entry)
            entry = self._distinct(entry, self._entries.values())
            self._entries[entry.key], self._objects[entry.key] = entry, thing
            self._used.pop(entry.key, None)
            return entry

    def fingerprints(self) -> set[str]:
        """Return the fingerprints of all entries."""
        return {entry.fingerprint for entry in self.all().values()}

    def used(self) -> tuple[Needed, ...]:
        """Return what was found here by key so far: what an order to another process may rest on."""
        return tuple(self._used.values())

    def expect(self, wanted: Iterable[Needed]) -> None:
        """Take these as what an asking process means by their keys; checked when one is asked for."""
        with self._lock:
            self._expected = {one.key: one for one in wanted if one.group == self.group}

    def _installed(self) -> Iterable[Found]:
        """Yield what is installed or configured; what cannot be loaded becomes a problem."""
        for point in points_of(self.group):
            try:
                yield load_entry_point(point)
            except InputError as error:
                self._problems.append(Problem(error.what, error.why))
        for reference in references():
            try:
                yield load_reference(reference)
            except InputError as error:
                self._problems.append(Problem(error.what, error.why))

    def _take(self, found: Found, *, strict: bool = False) -> list[T]:
        """Add what was found to the entries; ``strict``: raise what else becomes a problem."""
        taken: list[T] = []
        try:
            for entry in self._entries_of(found, strict):
                signed: T = replace(entry, origin=found.origin.words, fingerprint=found.origin.fingerprint)  # type: ignore[type-var]
                self._refuse(signed)
                self._entries[signed.key] = signed = self._distinct(signed, self._entries.values())
                self._where.setdefault(signed.key, found)
                taken.append(signed)
        except InputError as error:
            if strict:
                raise
            self._problems.append(Problem(f"{found.where} ({found.origin.words})", str(error).removesuffix(".")))
        return taken

    def _entries_of(self, found: Found, strict: bool) -> list[T]:
        things = found.thing if isinstance(found.thing, (tuple, list)) else [found.thing]
        entries: list[T] = []
        for thing in things:
            entry = thing if isinstance(thing, self._kind) else self._adapt(thing)
            if entry is not None:
                entries.append(entry)
            elif not (found.reference and not strict and type(thing).__module__.startswith("dlsched.")):
                # A reference of the configuration may be a reader or a speed model: for another catalogue.
                why = f"must be a {self._kind.__name__} or a tuple of them, got {type(thing).__name__}"
                raise InputError(f"{self.noun} from {found.where}", why, "Name another object of the module")
        return entries

    def _refuse(self, entry: T) -> None:
        """Raise InputError for a fault of an entry, or a key of ours or of a module; a newer object may take it."""
        if found := self._fault(entry):
            what = f"{self.noun} {entry.key!r:.80} from {entry.origin}"
            raise InputError(what, found, "Correct it in the plug-in")
        other = self._entries.get(entry.key)
        if entry.key in self._own():
            rival = "dlsched itself"
        elif other is None or other.fingerprint == entry.fingerprint or entry.key not in self._where:
            return
        else:
            rival = other.origin
        why = f"both {rival} and {entry.origin} have this key"
        raise InputError(f"{self.noun} {entry.key!r}", why, "Rename one of them, or uninstall one package")

    def _needed(self, entry: T) -> Needed:
        """Return what another process must know to have an entry too."""
        about = (self.group, entry.key, entry.origin, entry.fingerprint)
        if entry.key in self._where:
            return Needed(*about, self._where[entry.key].reference)
        try:
            return Needed(*about, carried=pickle.dumps(self._objects[entry.key], protocol=5))
        except Exception:  # a lambda, an open file: whatever it holds
            return Needed(*about, carried=b"")

    def _get_ready(self, expected: Needed) -> None:
        """Load what the asking process named or sent, where it is not here."""
        known = self._entries.get(expected.key)
        if expected.reference and known is None:
            self._take(load_reference(expected.reference), strict=True)
        elif expected.carried and (known is None or known.fingerprint != expected.fingerprint):
            thing = self._adapt(pickle.loads(expected.carried))
            assert thing is not None  # it was one where it was asked for
            entry: T = replace(thing, origin=expected.origin, fingerprint=expected.fingerprint)  # type: ignore[type-var]
            self.add(entry, None)

    def _check(self, expected: Needed, entry: T | None) -> None:
        what = f"{self.noun} {expected.key}"
        if entry is None and expected.carried is not None:
            do = "Put it into a module and name it as in mymodule:SPEC, or compute without workers"
            raise InputError(what, "is an object that cannot be sent to a worker", do)
        if entry is None:
            do = "Install the same package for the worker and restart it"
            raise InputError(what, f"comes from {expected.origin}, which this worker does not have", do)
        if entry.fingerprint != expected.fingerprint:
            same = " with other sources" if entry.origin == expected.origin else ""
            why = f"is from {expected.origin} where it was asked for, and from {entry.origin}{same} in this worker"
            raise InputError(what, why, "Install the same version in both places and restart both")


CATALOGUES: list[Catalogue[Any]] = []


def with_plugins(
    work: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]:
    """Return a call as another process is to make it: told first which plug-ins this process means by their keys."""
    wanted = needed()
    return (_carry_out, (wanted, work, args, kwargs), {}) if wanted else (work, args, kwargs)


def _carry_out(
    wanted: tuple[Needed, ...], work: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    expect(wanted)
    return work(*args, **kwargs)


def needed() -> tuple[Needed, ...]:
    """Return what was used of plug-ins in this process: it travels with every order to another one."""
    return tuple(one for catalogue in CATALOGUES for one in catalogue.used())


def expect(wanted: Iterable[Needed]) -> None:
    """Take these plug-ins as what the asking process means; see :meth:`Catalogue.expect`."""
    asked = tuple(wanted)
    for catalogue in CATALOGUES:
        catalogue.expect(asked)
