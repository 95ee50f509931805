"""What the structure may look like: required and forbidden arcs, and the most parents a node may have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairbench_cli.errors import suggest, user_error
from fairbench_cli.network.graph import topological_order

Arc = tuple[int, int]
NamedArcs = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Constraints:
    """Arcs as (from, to) column indices; the reverse of a required arc is forbidden."""

    required: frozenset[Arc]
    forbidden: frozenset[Arc]
    max_parents: int

    def start(self, nodes: int) -> tuple[frozenset[int], ...]:
        """Return the graph of the required arcs alone, as one set of parents per node."""
        return tuple(frozenset(i for i, child in self.required if child == j) for j in range(nodes))


def constraints(
    names: Sequence[str],
    whitelist: NamedArcs = (),
    blacklist: NamedArcs = (),
    max_parents: int | None = None,
    outcome_sink: str | None = None,
) -> Constraints:
    """Check the user's wishes and turn names into indices.

    Parameters
    ----------
    names : sequence of str
        Column names.
    whitelist, blacklist : pairs of names (from, to)
        Arcs that must be, and must not be, in the network.
    max_parents : int or None
        None means no limit.
    outcome_sink : str or None
        A column that gets no children.

    Raises
    ------
    UserError
        Unknown or repeated names, an arc both required and forbidden, required arcs that form a cycle, exceed
        `max_parents` or leave the sink.

    >>> constraints(["s", "x", "y"], whitelist=[("s", "y")]).required
    frozenset({(0, 2)})
    """
    limit = len(names) if max_parents is None else max_parents
    if limit < 0:
        raise user_error(f"max_parents is {limit}", "give 0 or more, or leave it out for no limit")
    required = _indices(names, whitelist, "whitelist")
    unwanted = _indices(names, blacklist, "blacklist")
    for i, j in sorted(required & unwanted):
        raise user_error(
            f"the arc {names[i]} -> {names[j]} is both in the whitelist and in the blacklist",
            "take it out of one of them",
        )
    if outcome_sink is not None:
        sink = _index(names, outcome_sink, "outcome_sink")
        for i, j in sorted(required):
            if i == sink:
                raise user_error(
                    f"the whitelist has {names[i]} -> {names[j]}, but outcome_sink says "
                    f"that {names[i]} has no children",
                    "drop the arc from the whitelist, or leave outcome_sink out",
                )
        unwanted |= {(sink, j) for j in range(len(names)) if j != sink}
    result = Constraints(required, unwanted | {(j, i) for i, j in required}, limit)
    _check_start(names, result)
    return result


def _check_start(names: Sequence[str], wishes: Constraints) -> None:
    start = wishes.start(len(names))
    if topological_order(start) is None:
        raise user_error("the arcs of the whitelist form a cycle", "take out one arc of the cycle")
    for j, parents in enumerate(start):
        k, most = len(parents), wishes.max_parents
        if k > most:
            raise user_error(
                f"the whitelist gives {names[j]} {k} parents, but max_parents is {most}",
                f"shorten the whitelist, or set max_parents to {k} or more",
            )


def _indices(names: Sequence[str], arcs: NamedArcs, where: str) -> frozenset[Arc]:
    found = set()
    for pair in arcs:
        if isinstance(pair, str) or len(pair) != 2:
            raise user_error(f"{pair!r} is not an arc", "write an arc as [from, to]", where)
        i, j = (_index(names, name, where) for name in pair)
        if i == j:
            raise user_error(f"the arc {pair[0]} -> {pair[1]} is a loop", "take it out", where)
        found.add((i, j))
    return frozenset(found)


def _index(names: Sequence[str], name: str, where: str) -> int:
    if name not in names:
        raise user_error(f'no column is called "{name}"', suggest(name, names), where)
    return names.index(name)
