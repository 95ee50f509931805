"""What is made of something else: the config's JSON Schema, the key tables of its page, the table of costs.

``python docs/keys.py`` writes ``configs/schema.json``, by which editors complete
and check a config, and the tables of ``docs/config.md`` and ``docs/performance.md``.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from fairbench_cli.base.errors import format_value
from fairbench_cli.base.parameters import inspect_parameters
from fairbench_cli.base.registry import Registry
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.table import Representation
from fairbench_cli.experiment.config import config
from fairbench_cli.experiment.config.components import (
    ALIAS,
    LONGEST_ALIAS,
    PLUGIN,
    ComponentSpec,
    TuneOptions,
)
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.registry import DEFAULT_METRICS
from fairbench_cli.network.mechanisms.registry import MECHANISMS

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from costs import with_costs

MOST_SHOWN = 5  # values of a default


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of a config file (draft 2020-12)."""
    schema = config.ExperimentConfig.model_json_schema(by_alias=True)
    properties = schema["properties"]
    properties["interventions"] |= _components(
        INTERVENTIONS, {"include_protected": bool, "representation": Representation}, ("tune",)
    )
    properties["classifiers"] |= _components(CLASSIFIERS, {}) | {"default": ["c45"]}
    properties["metrics"]["default"] = [*DEFAULT_METRICS]
    world = {"$ref": "#/$defs/world"}
    for part in ("SampleConfig", "DatasetOptions"):
        several = {"type": "array", "items": world}
        schema["$defs"][part]["properties"]["bias"]["anyOf"] = [world, several, {"type": "null"}]
    own = {"tune": TuneOptions.model_json_schema(by_alias=True)}
    own["world"] = {"type": "array"} | _components(MECHANISMS, {})
    return schema | {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fairbench experiment",
        "$defs": schema["$defs"] | own,
        "description": "A fairbench experiment: data sets × β × interventions × classifiers × repeats.",
    }


def _components(kind: Registry, also: dict[str, Any], more: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the schema of a list of names, or ``{name: {parameter: value or list}}``.

    Each takes the parameters `also`, and one or a list of the definitions `more`.
    """
    entries: dict[str, dict[str, Any]] = {}
    for name, entry in kind.items():
        types = {**inspect_parameters(entry.load()).types, **also}
        entries[name] = {
            "additionalProperties": False,
            "properties": {key: _parameter(key, of) for key, of in types.items()},
            "title": name,
            "type": ["object", "null"],
            "description": entry.summary,
        }
        entries[name]["properties"][ALIAS] = {"type": "string", "minLength": 1, "maxLength": LONGEST_ALIAS}
        for key in more:
            one = {"$ref": f"#/$defs/{key}"}
            entries[name]["properties"][key] = {"anyOf": [one, {"type": "array", "items": one}]}
    named: dict[str, Any] = {"type": "object", "minProperties": 1, "maxProperties": 1}
    named["additionalProperties"] = False
    if not kind.group:  # nobody's own code
        return {"items": {"anyOf": [{"enum": list(kind)}, named | {"properties": entries}]}}
    theirs = {"patternProperties": {PLUGIN["pattern"]: {"type": ["object", "null"]}}}
    return {"items": {"anyOf": [{"enum": list(kind)}, PLUGIN, named | {"properties": entries} | theirs]}}


def _parameter(name: str, of: Any) -> dict[str, Any]:
    """Return the schema of a parameter of a component: one value of its type, or a list of these."""
    value = TypeAdapter(of).json_schema()
    return {
        "anyOf": [value, {"items": value, "minItems": 1, "type": "array"}],
        "title": name.title().replace("_", " "),
    }


def key_table(model: type[BaseModel], without: type[BaseModel] | None = None) -> str:
    """Return a Markdown table of the keys of a model, their defaults and meanings.

    >>> print(key_table(config.BiasConfig).splitlines()[5])
    | `require_arc` | false | Require the arc from the edited column to the outcome in the network. |
    """
    rows = ["| key | default | what |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        if without is None or name not in without.model_fields:
            default = "required" if field.is_required() else _default(field.default)
            rows.append(f"| `{field.alias or name}` | {default} | {field.description} |")
    return "\n".join(rows) + "\n"


def mechanism_table() -> str:
    """Return a Markdown table of the mechanisms of bias, their strengths, other keys and meanings.

    >>> print(*(row for row in mechanism_table().splitlines() if row.startswith("| `group` |")))
    | `group` | `noise` | `of: everybody` | Record the other group: S' = S with 1 − noise, else a level of the other group. |
    """  # noqa: E501 - the table's
    rows = ["| mechanism | strength | other keys | what |", "|---|---|---|---|"]
    for name, entry in MECHANISMS.items():
        own, takes = entry.load(), inspect_parameters(entry.load())
        usual = {key: value for key, value in takes.defaults.items() if value is not None}
        others = [f"`{key}: {usual[key]}`" if key in usual else f"`{key}`" for key in takes.types]
        strength = f"`{own.strength}`" if own.strength else "none"
        keys = ", ".join(key for key in others if key != strength)
        rows.append(f"| `{name}` | {strength} | {keys} | {entry.summary.replace('|', chr(92) + '|')} |")
    return "\n".join(rows) + "\n"


def _default(value: Any) -> str:
    if isinstance(value, BaseModel):
        return "as below"
    if isinstance(value, tuple):
        names = [one.name if isinstance(one, ComponentSpec) else one for one in value]
        if len(names) > MOST_SHOWN:
            return f"the usual {len(names)}"
        text = ", ".join(f"{one:g}" if isinstance(one, float) else one for one in names)
        return f"`[{text}]`" if names else "none"
    if value is None or value == "":
        return "none"
    return f"`{value}`" if isinstance(value, str) else format_value(value)


TABLES_OF_KEYS = {
    "config": key_table(config.ExperimentConfig),
    "sample": key_table(config.SampleConfig),
    "dataset": key_table(config.DatasetOptions, without=config.BiasConfig),
    "tune": key_table(TuneOptions),
    "limits": key_table(config.Limits),
    "tables": key_table(config.Tables),
    "mechanisms": mechanism_table(),
}


def with_key_tables(page: str) -> str:
    """Return the text of ``docs/config.md`` with new tables of keys.

    A table is between ``<!-- keys: NAME -->`` and ``<!-- end of keys -->``.
    """
    start, end = r"(<!-- keys: (\w+) -->\n)", "(<!-- end of keys -->)"
    return re.sub(f"{start}.*?{end}", lambda m: m[1] + TABLES_OF_KEYS[m[2]] + m[3], page, flags=re.DOTALL)


def write_all(root: Path) -> None:
    """Write ``configs/schema.json`` and the tables of pages of a checkout."""
    text = json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
    (root / "configs/schema.json").write_text(text, encoding="utf-8")
    for name, renewed in (("config", with_key_tables), ("performance", with_costs)):
        page = root / f"docs/{name}.md"
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(__file__).parents[1])
