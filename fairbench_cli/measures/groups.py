"""Groups as the joint levels of all protected attributes: any attribute or intersection is a sum of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Counts

CROSS = " × "  # between the attributes, and the levels, of an intersection


@dataclass(frozen=True)
class ProtectedAttribute:
    """A protected attribute: its levels, and which of them are deprived and which favoured.

    `deprived_called` and `favoured_called` are what people call the groups, such as women and men; empty
    where only their levels are known.
    """

    name: str
    levels: tuple[str, ...]
    deprived: tuple[str, ...]
    favoured: tuple[str, ...]
    deprived_called: str = ""
    favoured_called: str = ""


@dataclass(frozen=True)
class JointAttribute:
    """A name for an intersection: the joint levels of the attributes that it is made `of`.

    Its fields are in the keys of cells: renamed, they would start every run of such a data set anew.
    """

    name: str
    of: tuple[str, ...]


@dataclass(frozen=True)
class ProtectedAttributes:
    """The protected attributes of a data set, in the order of its card.

    Rows are counted by the levels of `attributes`; each of `joint` is another name for some of these.

    Examples
    --------
    >>> sex = ProtectedAttribute("sex", ("f", "m"), ("f",), ("m",))
    >>> race = ProtectedAttribute("race", ("b", "o", "w"), ("b", "o"), ("w",))
    >>> both = ProtectedAttributes((sex, race))
    >>> both.groups[:4]
    ('f × b', 'f × o', 'f × w', 'm × b')
    >>> counts = Counts(both.groups, np.arange(24.0).reshape(6, 2, 2))
    >>> both.levels(counts, ("race",)).group_total.tolist(), both.pair(counts, ("race",)).group_total.tolist()
    ([60.0, 92.0, 124.0], [152.0, 124.0])
    >>> both.pair(counts, ("sex", "race")).group_total.tolist()
    [190.0, 86.0]
    >>> named = ProtectedAttributes((sex, race), (JointAttribute("sex-race", ("sex", "race")),))
    >>> named.pair(counts, ("sex-race",)).group_total.tolist()
    [190.0, 86.0]
    """

    attributes: tuple[ProtectedAttribute, ...]
    joint: tuple[JointAttribute, ...] = ()

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names of the attributes and of the joint ones."""
        return self.names + tuple(joint.name for joint in self.joint)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes that rows are counted by."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the joint levels, the last attribute changing fastest."""
        levels_by_attribute = [attribute.levels for attribute in self.attributes]
        return tuple(CROSS.join(levels) for levels in product(*levels_by_attribute))

    @property
    def reference(self) -> tuple[str, ...]:
        """Names of the joint levels that every attribute favours."""
        favoured_by_attribute = [attribute.favoured for attribute in self.attributes]
        return tuple(CROSS.join(levels) for levels in product(*favoured_by_attribute))

    def codes(self, columns: Sequence[ArrayLike]) -> NDArray[np.intp]:
        """Return the joint level of each row, given its level code of every attribute, in their order."""
        sizes = tuple(len(attribute.levels) for attribute in self.attributes)
        return np.ravel_multi_index(tuple(np.asarray(column, dtype=np.intp) for column in columns), sizes)

    def split(self, groups: ArrayLike) -> dict[str, NDArray[np.intp]]:
        """Return the level codes of every attribute, by name, given joint levels: the inverse of `codes`."""
        sizes = tuple(len(attribute.levels) for attribute in self.attributes)
        level_codes = np.unravel_index(np.asarray(groups, dtype=np.intp), sizes)
        return dict(zip(self.names, level_codes, strict=True))

    def levels(self, counts: Counts, names: Sequence[str]) -> Counts:
        """Return the counts of the joint levels of some attributes, summed over all others.

        The reference is favoured by every one of these attributes (Friedler et al. 2019).

        Parameters
        ----------
        counts : Counts
            Of the joint levels of all attributes, in the order of `groups`.
        names : sequence of str
            Names of attributes, also joint ones.

        Raises
        ------
        KeyError
            When there is no such attribute.
        """
        attributes_of_joint = {joint.name: joint.of for joint in self.joint}
        attributes: dict[str, None] = {}  # each once, in the order of the names
        for name in names:
            attributes |= dict.fromkeys(attributes_of_joint.get(name, (name,)))
        indices = [self._index(attribute) for attribute in attributes]
        sizes = [len(attribute.levels) for attribute in self.attributes]
        leading = counts.n.ndim - 3
        n = counts.n.reshape(*counts.n.shape[:-3], *sizes, 2, 2)  # an axis for each attribute
        n = n.sum(tuple(leading + i for i in range(len(sizes)) if i not in indices))
        # What is left is in the order of the attributes; change it to the order of the names.
        order = sorted(indices)
        n = np.moveaxis(
            n, [leading + order.index(i) for i in indices], range(leading, leading + len(indices))
        )
        selected = ProtectedAttributes(tuple(self.attributes[i] for i in indices))
        groups = selected.groups
        return Counts(groups, n.reshape(*counts.n.shape[:-3], len(groups), 2, 2), selected.reference)

    def pair(self, counts: Counts, names: Sequence[str]) -> Counts:
        """Return the counts of the deprived and the favoured group of an attribute or an intersection.

        Parameters and errors are those of `levels`.
        """
        return self.levels(counts, names).pair

    def _index(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(name) from None
