"""From options, and a file of them, to a config that is checked."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from fairbench_cli.audit import presets
from fairbench_cli.audit.config import READERS, AuditConfig
from fairbench_cli.audit.contradictions import contradictions
from fairbench_cli.base.errors import Problem, UserError, user_error
from fairbench_cli.base.strict_yaml import Place, YamlDocument, read_yaml
from fairbench_cli.base.validation import in_file_order, problems_of


def read_config(given: Mapping[str, Any], path: Path | None = None, before: str = "") -> AuditConfig:
    """Check options, those given laid over those of a file.

    Parameters
    ----------
    given : mapping
        Values by key (with dashes or underscores), such as ``{"ref": {"race": "Caucasian"}, "tau": 0.8}``.
        None is left out.
    path : Path, optional
        A YAML file with the same keys.
    before : str
        What messages write before a key that was given: "--" on the command line.

    Raises
    ------
    UserError
        Listing every mistake.

    Examples
    --------
    >>> config = read_config({"tau": {"fpr": 0.9}, "top_k": [10, 20]})
    >>> config.tau, config.taus, [str(decision) for decision in config.decisions]
    (0.8, {'fpr': 0.9}, ['top 10', 'top 20'])
    """
    keys = {key.replace("_", "-"): value for key, value in given.items() if value is not None}
    spots: dict[Place, str] = {(key,): before + key for key in keys}
    document = _laid_over(keys, read_yaml(path) if path else YamlDocument({}, {}, ""), spots)
    try:
        config = AuditConfig.model_validate(document.data, by_name=False)
        wrong = contradictions(config)
        problems = [Problem(what, fix, document.where((key,))) for key, what, fix in wrong]
    except ValidationError as error:
        problems = list(problems_of(error, AuditConfig, document))
    if problems:
        raise UserError(*in_file_order(problems, document.name))
    return config


def _laid_over(given: Mapping[str, Any], document: YamlDocument, spots: dict[Place, str]) -> YamlDocument:
    if not isinstance(document.data, dict):
        what = "a config is a mapping of keys to values"
        raise user_error(what, "write `tau: 0.8`", document.where(()))
    data = dict(document.data)
    if "ref" in given and "ref-method" not in given:
        data.pop("ref-method", None)
    if given.get("ref-method", "given") != "given" and "ref" not in given:
        data.pop("ref", None)
    for key, value in given.items():
        data[key] = _merged(data[key], value, READERS[key]) if key in data and key in READERS else value
    if data.get("ref"):
        data.setdefault("ref-method", "given")
    data = presets.laid_under(data)
    return YamlDocument(data, {**document.spots, **spots}, document.name)


def _merged(under: Any, over: Any, read: Callable[[Any], Any]) -> Any:
    """Lay one mapping over another; what cannot be read is left to be refused with everything else."""
    try:
        low, high = read(under), read(over)
    except PydanticCustomError:
        return over
    return {**low, **high} if isinstance(low, dict) and isinstance(high, dict) else over
