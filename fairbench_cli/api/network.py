"""Bayesian networks from Python: learn one or take a shipped one, ask it, add bias, draw rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from fairbench_cli.api.frames import to_table
from fairbench_cli.api.objects import plain_value
from fairbench_cli.base.errors import ArgumentError, Flag, Problem, UserError, suggest, user_error
from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress
from fairbench_cli.data.card import Card, find_card, read_card
from fairbench_cli.data.load import Dataset, load, table_from_csv
from fairbench_cli.data.locate import file_sha256, find_files
from fairbench_cli.data.roles import resolve_roles
from fairbench_cli.data.table import Roles, Table, add_columns
from fairbench_cli.document.charts import Drawing
from fairbench_cli.experiment.config.components import ComponentSpec
from fairbench_cli.experiment.config.worlds import read_world
from fairbench_cli.network.bias import RELATIVES, BetaEdit, Groups, edited_tables, shift
from fairbench_cli.network.draw import sample
from fairbench_cli.network.family_counts import ScoreName
from fairbench_cli.network.files import Meta, find_network_card, open_network, save
from fairbench_cli.network.mechanisms.registry import MECHANISMS
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.query import Engine, compute_posterior
from fairbench_cli.network.structure import LearnerName, LearnSettings, describe_source, learn_structure
from fairbench_cli.network.world import YES, World, draw_people, make_world

Values = str | Sequence[str]
ROLES = ("label", "favourable", "attribute", "deprived")


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """A Bayesian network that rows are drawn from, and who is deprived in them.

    Parameters
    ----------
    net : BayesNet
        Columns, arcs and tables.
    meta : Meta
        How it was learned, its scores, and the data that it comes from.
    card : Card or None
        Says which column is the outcome and who is deprived; without one nothing can be tilted.
    biased : World or None
        What mechanisms of bias have made of a network: `net` then has nodes for what is recorded and, as
        ``NAME.true``, for what is true.
    mechanisms : tuple of ComponentSpec
        These mechanisms.
    """

    net: BayesNet
    meta: Meta
    card: Card | None = None
    biased: World | None = None
    mechanisms: tuple[ComponentSpec, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.net.names

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """Arcs as (from, to)."""
        return self.net.arcs

    @property
    def score(self) -> float:
        """The score that was climbed, of the structure that was learned."""
        return self.meta.score

    @property
    def bic(self) -> float:
        """The BIC of the structure that was learned."""
        return self.meta.bic

    def cpt(self, column: str) -> pd.DataFrame:
        """Return P(column | parents): a row for each configuration of the parents, a column for each level.

        Raises
        ------
        UserError
            When there is no such column.
        """
        if column not in self.net.names:
            raise user_error(f'the network has no column "{column}"', suggest(column, self.net.names))
        levels = self.net.levels_of(column)
        parents = self.net.parents_of(column)
        rows = self.net.cpt(column).reshape(-1, len(levels))
        frame = pd.DataFrame(rows, columns=pd.Index(levels, name=column))
        if parents:
            levels_of_parents = [self.net.levels_of(parent) for parent in parents]
            frame.index = pd.MultiIndex.from_product(levels_of_parents, names=parents)
        return frame

    def query(
        self, of: Values, given: Mapping[str, str] | None = None, *, engine: Engine = "exact"
    ) -> "pd.Series[float]":
        """Return P(of | given) by the levels of `of`; all other columns are summed over.

        Its ``attrs["evidence"]`` is P(given). Of a world that leaves people out, it is about the people in
        the record, ``included=yes``, unless `of` or `given` names a node of inclusion.

        Parameters
        ----------
        of : str or sequence of str
            A column, or several for their joint distribution.
        given : mapping of str to str, optional
            The level of each column that is known.
        engine : {"exact", "pomegranate"}
            pomegranate's loopy belief propagation is approximate, and answers for one column.

        Raises
        ------
        UserError
            For an unknown column or level, or levels that cannot occur together in the network; with
            pomegranate for several columns, or when it is not installed.
        ArgumentError
            For an unknown engine.
        """
        _refuse_unknown("engine", engine, get_args(Engine))
        if isinstance(of, str):
            query_nodes = [of]
        else:
            query_nodes = list(of)
        evidence = given or {}
        try:
            query_answer = compute_posterior(
                self.net, query_nodes, {**self.inclusion(query_nodes, evidence), **evidence}, engine
            )
        except UserError as error:
            raise UserError(*error.problems, surface="python") from None
        index: pd.Index[Any] = pd.MultiIndex.from_product(
            [self.net.levels_of(name) for name in query_nodes], names=query_nodes
        )
        if len(query_nodes) == 1:
            index = index.get_level_values(0)
        answer = pd.Series(query_answer.table.ravel(), index=index, name="probability")
        answer.attrs["evidence"] = query_answer.evidence
        return answer

    def inclusion(self, of: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
        """Return the evidence that `query` assumes of who is in the record: none where inclusion is named."""
        nodes = () if self.biased is None else self.biased.included
        if not set(nodes).isdisjoint([*of, *given]):
            return {}
        return dict.fromkeys(nodes, YES)

    def to_pomegranate(self) -> Any:
        """Return the network as pomegranate's `BayesianNetwork`: columns in order, values the level codes."""
        from fairbench_cli.network.pomegranate import to_pomegranate

        return to_pomegranate(self.net)

    def tilt(
        self,
        beta: float,
        attribute: str | Sequence[str] | Mapping[str, float] | None = None,
        *,
        both: bool = False,
        edit: BetaEdit = "outcome",
    ) -> "Network":
        """Return the network with bias β: P(favourable) of the deprived is multiplied by 1 − β.

        That is eq. (4) of cardoso2019. Along an arc from the outcome to the group, `edit` records a share β
        of the favourable deprived as not deprived. Where the card says so (`bias`), a proxy of the attribute
        is edited, such as adult's relationship for sex. By a joint attribute, all but those whom every part
        favours are deprived. Several attributes act in turn: who is deprived by two is left (1 − β)².

        Parameters
        ----------
        beta : float
            From 0, which changes nothing, to 1.
        attribute : str, sequence of str, or mapping of str to float; optional
            The protected attribute, or several, perhaps each with its share of β; by default the card's.
        both : bool
            Whether the favoured gain too: their P(unfavourable) is multiplied by 1 − β; or of the
            unfavourable P(favoured) is.
        edit : {"outcome", "group", "as-learned"}
            The outcome's table, the group's, or the one that an arc between the two leads to.

        Raises
        ------
        UserError
            For a β outside [0, 1], an unknown attribute, or where there is no such arc.
        ArgumentError
            When no deprived group is given, or for an unknown `edit`.
        """
        if isinstance(beta, bool) or not isinstance(beta, int | float) or not 0 <= beta <= 1:
            raise ArgumentError(Problem(f"beta is {beta!r}", "give a number from 0 to 1"))
        _refuse_unknown("edit", edit, get_args(BetaEdit))
        if self.biased is not None:
            problem = "this is a world, which has its bias already"
            raise ArgumentError(Problem(problem, "tilt its network first"))
        names = [attribute] if attribute is None or isinstance(attribute, str) else attribute
        named_shares = names.items() if isinstance(names, Mapping) else [(name, 1.0) for name in names]
        net = self.net
        tilts = list(self.meta.source.get("tilts", ()))
        for name, share in named_shares:
            roles = self.roles(name)
            groups = self._edited(roles.attribute)
            for column in groups:
                if edited_tables(net.names, net.parents, roles.label, [column], edit):
                    continue
                missing = f"{column} is no {RELATIVES[edit][0]} of the outcome {roles.label}"
                problem = f"{missing}, so β has nothing to edit"
                arc = f'require_arcs=[("{column}", "{roles.label}")]'
                do = "learn a network with the arc: "
                flag = Flag("require-arc", f"{column}>{roles.label}", arc)
                if edited_tables(net.names, net.parents, roles.label, [column], "as-learned"):
                    do = "edit the table that its arc leads to: "
                    flag = Flag("edit", "as-learned")
                raise UserError(Problem(problem, (do, flag)), surface="python")
            net = shift(net, roles.label, roles.favourable, groups, beta * share, both, edit)
            tilts.append({"beta": beta * share, "attribute": roles.attribute, "both": both})
            if edit != "outcome":
                tilts[-1]["edit"] = edit
        source = {**self.meta.source, "tilts": tilts}
        return replace(self, net=net, meta=replace(self.meta, source=source, stand_in=None))

    def world(self, bias: Any, attribute: str | None = None) -> "Network":
        """Return the world that mechanisms of bias, one after another, make of the network.

        It is a network too, with nodes for what is recorded, ``NAME``, next to the truth, ``NAME.true``,
        where the two may differ, and for who is in the record, ``included``. `sample` draws the record.

        Parameters
        ----------
        bias : list of mechanisms
            As a config has them, each with its strength: ``[{"label": {"flip": 0.5}}]``.
        attribute : str, optional
            The protected attribute, by which people are deprived or favoured; by default the card's first.

        Raises
        ------
        UserError
            For mechanisms that are wrong, do not fit the network or change nothing, and for a record without
            one of the groups.
        ArgumentError
            When no deprived group is given, or the network is a world already.
        """
        if self.biased is not None:
            problem = "this is a world already"
            fix = "name all mechanisms in one list"
            raise ArgumentError(Problem(problem, fix))
        roles = self.roles(attribute)
        groups = self._card.groups(roles.attribute, self._levels)
        try:
            specs = read_world(plain_value(bias))
            built = [spec.build(MECHANISMS) for spec in specs]
            world = make_world(self.net, roles.label, roles.favourable, groups, built)
        except UserError as error:
            raise UserError(*error.problems, surface="python") from None
        return replace(self, net=world.network, biased=world, mechanisms=specs)

    def _edited(self, attribute: str) -> Groups:
        """Return the groups of an attribute that β acts on, by column."""
        if self.biased is not None:
            return {}
        return self._card.bias_groups(attribute, self._levels)

    @property
    def _levels(self) -> dict[str, tuple[str, ...]]:
        return {column.name: column.levels for column in self.net.columns}

    def sample(self, n: int, seed: int = 0, *, truth: bool = False) -> Table:
        """Return `n` rows; the same seed gives the same rows; under another β only what it edits moves.

        Of a world they are rows of the record: of the people in it, without columns that are not recorded.

        Parameters
        ----------
        truth : bool
            Whether a world's rows also have what is true, as ``NAME.true``, of each column whose record may
            differ or that is not recorded.

        Raises
        ------
        ArgumentError
            When `n` or `seed` is no whole number from 0, or `truth` is asked of a network without bias.
        """
        if truth and self.biased is None:
            problem = "truth is asked of a network without bias, whose rows are the truth"
            raise ArgumentError(Problem(problem, ("leave out ", Flag("truth", python="truth=True"))))
        for name, value in (("n", n), ("seed", seed)):
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
                raise ArgumentError(Problem(f"{name} is {value!r}", "give a whole number from 0"))
        if self.biased is None:
            return sample(self.net, int(n), int(seed))
        rows = draw_people(self.biased, int(n), int(seed))
        if not truth:
            return rows.recorded
        differing = set(self.biased.altered) | set(self.biased.omitted)
        recorded_columns = [column for column in rows.true.columns if column.name in differing]
        true = [
            (replace(column, name=f"{column.name}.true"), rows.true[column.name])
            for column in recorded_columns
        ]
        if true:
            return add_columns(rows.recorded, true)
        return rows.recorded

    def dataset(self, n: int, seed: int = 0) -> Dataset:
        """Return the rows of `sample` as a data set, which knows the outcome and who is deprived.

        Raises
        ------
        ArgumentError
            As `sample`, and when no deprived group is given.
        """
        return Dataset(self._card, self.sample(n, seed), {})

    def roles(self, attribute: str | None = None) -> Roles:
        """Return label and groups of a protected attribute, by default the card's first.

        Raises
        ------
        UserError
            When there is no such attribute, or the card does not fit the network.
        ArgumentError
            When no deprived group is given.
        """
        name = self._card.attribute(attribute)
        return resolve_roles(self._card, name, self.net.columns, self.net.levels_of, "network")

    @property
    def _card(self) -> Card:
        if self.card is None:
            problem = "the network does not say which column is the outcome and who is deprived"
            keywords = ", ".join(f"{key}=" for key in ROLES)
            fix = f"say it to learn(): {keywords}; or load_network(path, card=…)"
            raise ArgumentError(Problem(problem, fix))
        return self.card

    def save(self, path: str | Path) -> None:
        """Write it to a file that `load_network` and ``fairbench network`` read.

        Raises
        ------
        UserError
            When the file cannot be written.
        ArgumentError
            Of a world, whose file would not say what is recorded.
        """
        if self.biased is not None:
            problem = "a file holds a network, and this is a world"
            fix = "save the network itself; call `world` on it when it is loaded"
            raise ArgumentError(Problem(problem, fix))
        save(self.net, path, self.meta)

    def figure(self, attribute: str | None = None) -> Drawing:
        """Return a picture as SVG; outcome, protected attribute and what β edits are marked if known.

        It shows itself in a notebook; ``.save("net.svg")`` writes it, ``.svg`` is its text.

        Raises
        ------
        UserError
            When there is no such attribute, or the card does not fit the network.
        ArgumentError
            When an attribute is named and no deprived group is given.
        """
        from fairbench_cli.report.show.networks import Marks, draw_network

        marks = Marks(None, None)
        if self.card is not None or attribute is not None:
            roles = self.roles(attribute)
            marks = Marks(roles.label, roles.attribute, tuple(self._edited(roles.attribute)))
        return Drawing(draw_network(self.net, marks, self._name))

    @property
    def _name(self) -> str:
        return str(self.meta.source.get("dataset", "?"))

    @property
    def _facts(self) -> str:
        tilts = ""
        for tilt in self.meta.source.get("tilts", ()):
            tilts += f"; β = {tilt['beta']:g} by {tilt['attribute']}"
            if "edit" in tilt:
                tilts += f" (edit: {tilt['edit']})"
        scored = f"{self.meta.learner}, {self.meta.score_name} {self.meta.score:.1f}"
        biases = "".join(f"; {spec.build(MECHANISMS).words}" for spec in self.mechanisms)
        nodes = "nodes"
        if self.biased is None:
            nodes = "columns"
        return f"{len(self.net.columns)} {nodes}, {len(self.net.arcs)} arcs, {scored}{tilts}{biases}"

    def __repr__(self) -> str:
        return f"<Network of {self._name}: {self._facts}>"

    def _repr_html_(self) -> str:
        rows = {
            name: (len(levels), ", ".join(self.net.parents_of(name))) for name, levels in self._levels.items()
        }
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=["levels", "parents"])
        return f"<p>Network of {self._name}: {self._facts}</p>{frame.to_html(border=0)}"


def load_network(name: str | Path, *, card: str | Path | None = None) -> Network:
    """Return a network: the one that ships with a data set, or that of a file.

    Parameters
    ----------
    name : str or Path
        Of a shipped data set, such as "adult", or the path of a file.
    card : str or Path, optional
        Says who is deprived; by default what the file says, or the card of its data set if that is shipped.

    Raises
    ------
    UserError
        When there is no such network or card.
    """
    net, meta = open_network(str(name))
    roles = meta.source.get("roles")
    if card is None and isinstance(roles, dict):
        return _with_roles(net, meta, roles)
    if card is not None:
        return Network(net, meta, read_card(find_card(str(card))))
    return Network(net, meta, find_network_card(meta))


def learn(
    data: Any,
    *,
    data_dir: str | Path | None = None,
    learner: LearnerName = "hill-climbing",
    score: ScoreName = "bic",
    max_parents: int | None = None,
    require_arcs: Iterable[str | tuple[str, str]] = (),
    forbid_arcs: Iterable[str | tuple[str, str]] = (),
    outcome_sink: str | None = None,
    iss: float = 1.0,
    label: str | None = None,
    favourable: str | None = None,
    attribute: str | None = None,
    deprived: Values | None = None,
    favoured: Values | None = None,
    name: str = "frame",
    tell: ProgressCallback = ignore_progress,
) -> Network:
    """Return the network that is learned from data: structure and tables, as ``fairbench network learn``.

    Parameters
    ----------
    data : Dataset, Table, or pandas, Polars or Arrow table; or str or Path
        Of a frame every value is a level: cut numbers into bins first. A name is that of a data set, or the
        path of its card or of a bare CSV file.
    data_dir : str or Path, optional
        Where the files of a data set are, if `data` is its name.
    learner : {"hill-climbing", "tabu", "chow-liu", "exact"}
        The search; the last two are pomegranate's: a tree, and the best of all networks of few columns.
    score : {"bic", "aic", "bde", "k2"}
        What it maximises; `iss` is the imaginary sample size of "bde".
    max_parents : int, optional
        Most parents that a column may have.
    require_arcs, forbid_arcs : pairs of names (from, to), or texts "from>to"
        Arcs that the network must have, or must not.
    outcome_sink : str, optional
        A column without children.
    label, favourable, attribute, deprived, favoured : str or sequence of str
        Of a frame: the outcome and its favourable value, a protected attribute, its deprived values and (by
        default all others) its favoured ones. A `Dataset` has them on its card.
    name : str
        Of a frame, for messages and files.
    tell : callable
        Called with what is being done, a text, and what says how far it is, None here.

    Raises
    ------
    UserError
        When rows, settings and arcs do not fit together.
    ArgumentError
        When some of the roles are given, and not all of them; or any of a `Dataset`.
    """
    from fairbench_cli.network.family_counts import fit_network

    roles_by_key = {"label": label, "favourable": favourable, "attribute": attribute, "deprived": deprived}
    roles = {key: value for key, value in {**roles_by_key, "favoured": favoured}.items() if value is not None}
    missing = [key for key in ROLES if key not in roles]
    if roles and missing:
        problem = f"{next(iter(roles))}= is given, and {missing[0]}= is not"
        raise ArgumentError(
            Problem(problem, f"give {', '.join(f'{key}=' for key in ROLES)}, or none of them")
        )
    _refuse_unknown("learner", learner, get_args(LearnerName))
    _refuse_unknown("score", score, get_args(ScoreName))
    card, table, name, sha256 = _rows(data, name, data_dir)
    if card is not None and roles:
        problem = f"{next(iter(roles))}= is on the card of a data set"
        raise ArgumentError(Problem(problem, "leave it out, or change the card"))
    arcs, without = (tuple(map(_arc, arcs_of_kind)) for arcs_of_kind in (require_arcs, forbid_arcs))
    settings = LearnSettings(learner, score, max_parents, arcs, without, outcome_sink, iss=iss)
    tell(f"looking for the structure of {len(table.columns)} columns, {len(table):,} rows", None)
    structure = learn_structure(table, settings, tell)
    net = fit_network(table, structure.parents)
    facts = describe_source(name, sha256, len(table), settings)
    meta = Meta(learner, score, structure.score, structure.bic, facts)
    if roles:
        return _with_roles(net, meta, roles)
    return Network(net, meta, card)


def _rows(
    data: Any, name: str, data_dir: str | Path | None
) -> tuple[Card | None, Table, str, dict[str, str]]:
    """Return the card of some data if there is one, their rows, their name, and the sha256 of their files."""
    if isinstance(data, str | Path) and str(data).lower().endswith(".csv"):
        path = Path(data)
        return None, table_from_csv(path), path.name, {path.name: file_sha256(path)}
    if isinstance(data, str | Path):
        located, files = find_files(str(data), None if data_dir is None else Path(data_dir))
        data = load(located.for_network(), files)
    if isinstance(data, Dataset):
        cut = data.card.for_network()
        if cut is not data.card and data.files is not None:
            data = load(cut, data.files)
        return data.card, data.table, data.card.name, dict(data.sha256)
    table = data if isinstance(data, Table) else to_table(data)
    return None, table, name, {}


def _arc(arc: str | tuple[str, str]) -> tuple[str, str]:
    """Return an arc; in text -> and → mean the same as >."""
    if not isinstance(arc, str):
        start, end = arc
        return str(start), str(end)
    start, arrow, end = arc.replace("→", ">").replace("->", ">").partition(">")
    if not (start.strip() and arrow and end.strip()):
        raise user_error(f"cannot read the arc {arc!r}", "write FROM>TO, in quotes")
    return start.strip(), end.strip()


def _with_roles(net: BayesNet, meta: Meta, stated_roles: dict[str, Any]) -> Network:
    """Return a network with label and groups as they are given, checked; its file keeps them."""
    label, favourable, attribute = (str(stated_roles[key]) for key in ("label", "favourable", "attribute"))
    levels = net.levels_of(attribute) if attribute in net.names else ()
    deprived = _one_or_more(stated_roles["deprived"])
    other_levels = [level for level in levels if level not in deprived]
    if "favoured" in stated_roles:
        favoured = _one_or_more(stated_roles["favoured"])
    else:
        favoured = other_levels
    name = str(meta.source["dataset"])
    card = Card.model_validate(
        {
            "name": name,
            "files": [{"name": name}],
            "label": {"column": label, "favourable": favourable},
            "protected": {attribute: {"deprived": deprived, "favoured": favoured}},
        }
    )
    roles = Roles(label, favourable, attribute, tuple(deprived), tuple(favoured))
    source = {**meta.source, "roles": {**vars(roles), "deprived": deprived, "favoured": favoured}}
    network = Network(net, replace(meta, source=source), card)
    network.roles()  # checked
    return network


def _refuse_unknown(key: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ArgumentError(Problem(f"{key} is {value!r}", suggest(str(value), choices)))


def _one_or_more(values: Any) -> list[str]:
    has_several = isinstance(values, Iterable) and not isinstance(values, str)
    if has_several:
        return [str(value) for value in values]
    return [str(values)]
