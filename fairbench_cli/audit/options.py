"""The options of an audit, from flags, a YAML file or Python, checked together: every mistake at once."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fairbench_cli.audit.judge.metrics import COMPARED, INTERVENTIONS, ROLL_UPS, kind
from fairbench_cli.audit.spec import Columns, Decision, RefMethod, Spec, Ties
from fairbench_cli.errors import Problem, UserError, shown, suggest
from fairbench_cli.measures.registry import METRICS
from fairbench_cli.strict_yaml import Document, Place, read_yaml
from fairbench_cli.validation import in_file_order, mistake, problems_of


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _taus(value: Any) -> Any:
    """Take 0.8, {fpr: 0.9} (``default`` is all others), or a list of these."""
    if not isinstance(value, list | tuple):
        return dict(value) if isinstance(value, Mapping) else {"default": value}
    merged: dict[Any, Any] = {}
    for part in value:
        merged |= _taus(part)
    return merged


def _combinations(value: Any) -> Any:
    """Take [race, sex], "race,sex", or a list of these."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list | tuple) and value and all(isinstance(x, str) and "," not in x for x in value):
        value = [list(value)]
    if not isinstance(value, list | tuple):
        return value
    each = [part.split(",") if isinstance(part, str) else part for part in value]
    combined = tuple(tuple(map(str.strip, part)) if _texts(part) else part for part in each)
    for part in combined:
        if isinstance(part, tuple) and (len(set(part)) < 2 or len(set(part)) < len(part) or "" in part):
            raise mistake(f"{shown(list(part))} are not two or more attributes", "write race,sex")
    return combined


def _crossings(value: Any) -> Any:
    """Take education, "education,hours" (crossed), or a list of these; none twice."""
    each = _listed(value)
    if not all(isinstance(part, str) or _texts(part) for part in each):
        return each
    crossed = tuple(
        tuple(map(str.strip, part.split(",") if isinstance(part, str) else part)) for part in each
    )
    for part in crossed:
        if not part or "" in part or len(set(part)) < len(part):
            raise mistake(f"{shown(','.join(part))} does not name different columns", "write education,hours")
    return tuple(dict.fromkeys(crossed))


def _texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)


def _known(*kinds: str, also: tuple[str, ...] = ()) -> AfterValidator:
    """Check the name of a metric; what stands before a colon (an attribute) is not looked at."""

    def check(text: str) -> str:
        name = text.rpartition(":")[2]
        if name in also:
            return text
        try:
            of: str | None = kind(name)
        except KeyError:
            of = None
        if of == "rows":
            raise mistake(f"{shown(name)} needs the rows, and these are counted", "see --explain, or a run")
        if of not in kinds:
            known = [*COMPARED, *ROLL_UPS, *METRICS] if "counts" in kinds else [*COMPARED, *ROLL_UPS]
            raise mistake(f"no metric is called {shown(name)}", suggest(name, known))
        return text

    return AfterValidator(check)


Names = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]
Named = Annotated[str, _known("rate", "roll-up", "counts")]
Numbers = Annotated[tuple[float, ...], BeforeValidator(_listed)]
Tau = Annotated[float, Field(gt=0, le=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Many = Annotated[int, Field(ge=1)]


class AuditFile(BaseModel):
    """The keys of a config file; each is the option of that name."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=lambda name: name.replace("_", "-")
    )

    score: str | None = None
    label: str | None = None
    attribute: Names | None = None
    weight: str | None = None
    model_column: str | None = None
    ref: dict[str, str] = {}
    ref_method: RefMethod | None = None
    tau: Annotated[dict[Annotated[str, _known("rate", also=("default",))], Tau], BeforeValidator(_taus)] = {}
    threshold: Numbers = ()
    top_k: Annotated[tuple[Many, ...], BeforeValidator(_listed)] = ()
    top_share: Annotated[tuple[Share, ...], BeforeValidator(_listed)] = ()
    ties: Ties | None = None
    bins: dict[str, Annotated[int, Field(ge=2)]] = {}
    intersect: Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_combinations)] = ()
    min_group: int = Field(default=30, ge=1)
    metric: Annotated[tuple[Named, ...], BeforeValidator(_listed), Field(min_length=1)] | None = None
    intervention: Literal["punitive", "assistive"] | None = None
    draws: int = Field(default=1000, ge=0, le=1_000_000)
    seed: int = Field(default=0, ge=0)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    fail: bool = False
    fail_on: Annotated[tuple[Named, ...], BeforeValidator(_listed)] = ()
    explain: Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_crossings)] = ()
    neighbours: Many | None = None
    margin: Share | None = None


def read_options(
    given: Mapping[str, Any], config: Path | None = None, spots: dict[Place, str] | None = None
) -> Spec:
    """Check options, those given laid over those of a file.

    Parameters
    ----------
    given : mapping
        Values by option name, such as ``{"ref": {"race": "Caucasian"}, "tau": 0.8}``.
    config : Path, optional
        A YAML file with the same keys.
    spots : dict, optional
        How messages call the values given; default: by their names.

    Raises
    ------
    UserError
        Listing every mistake.
    """
    document = _laid_over(given, read_yaml(config) if config else Document({}, {}, ""), spots)
    try:
        found = AuditFile.model_validate(document.data)
    except ValidationError as error:
        problems = problems_of(error, AuditFile, document)
        raise UserError(*in_file_order(problems, document.name)) from None
    contradictions = _contradictions(found, document)
    if contradictions:
        raise UserError(*in_file_order(contradictions, document.name))
    return _options(found)


def _laid_over(given: Mapping[str, Any], document: Document, spots: dict[Place, str] | None) -> Document:
    if not isinstance(document.data, dict):
        raise UserError(
            Problem("a config is a mapping of keys to values", "write `tau: 0.8`", document.where(()))
        )
    data = dict(document.data)
    if "ref" in given and "ref-method" not in given:
        data.pop("ref-method", None)
    if given.get("ref-method", "given") != "given" and "ref" not in given:
        data.pop("ref", None)
    for key, value in given.items():
        under = data.get(key)
        both = key in ("ref", "bins") and isinstance(under, dict) and isinstance(value, dict)
        if key == "tau":
            value, both = _taus(value), True
            under = _taus(under) if under is not None else {}
        data[key] = {**under, **value} if both and isinstance(under, dict) else value
    own: dict[Place, str] = {(key,): key for key in given} if spots is None else spots
    return Document(data, {**document.spots, **own}, document.name)


def _contradictions(found: AuditFile, document: Document) -> list[Problem]:
    problems = []
    if found.ref and found.ref_method not in (None, "given"):
        what = f"ref-method {found.ref_method} and reference groups contradict each other"
        problems.append(Problem(what, "leave one of the two out", document.where(("ref-method",))))
    if found.intervention and any(kind(name) != "counts" for name in found.metric or ()):
        what = "metric and intervention both say what decides"
        problems.append(Problem(what, "leave one of the two out", document.where(("intervention",))))
    if found.ties and not (found.top_k or found.top_share):
        where = document.where(("ties",))
        problems.append(Problem("ties has no effect", "give top-k or top-share, or leave it out", where))
    for key, value in (("neighbours", found.neighbours), ("margin", found.margin)):
        if value is not None and not found.explain:
            what = f"{key} has no effect"
            problems.append(Problem(what, "give explain, or leave it out", document.where((key,))))
    return problems


def _options(found: AuditFile) -> Spec:
    ties: Ties = found.ties or "include"
    decisions = (
        *(Decision("threshold", value) for value in found.threshold),
        *(Decision("top-k", value, ties) for value in found.top_k),
        *(Decision("top-share", value, ties) for value in found.top_share),
    )
    taus = dict(found.tau)
    spec = Spec(
        Columns(found.score, found.label, found.attribute, found.weight, found.model_column),
        decisions,
        found.intersect,
        found.bins,
        found.ref,
        found.ref_method or ("given" if found.ref else "majority"),
        taus.pop("default", Spec.tau),
        taus,
        found.min_group,
        found.draws,
        found.seed,
        found.confidence,
    )
    deciding = tuple(name for name in found.metric or () if kind(name) != "counts") or None
    return replace(
        spec,
        measures=INTERVENTIONS[found.intervention] if found.intervention else deciding,
        requested=tuple(dict.fromkeys(name for name in found.metric or () if kind(name) == "counts")),
        fail=found.fail or bool(found.fail_on),
        fail_on=tuple((name, metric) for name, _, metric in (text.rpartition(":") for text in found.fail_on)),
        explained_by=found.explain,
        neighbours=found.neighbours or Spec.neighbours,
        margin=found.margin or Spec.margin,
    )
