"""What is made from the config's classes: its JSON Schema, and the key tables of its page.

``python -m fairbench_cli.experiment.config.schema`` writes ``configs/schema.json``, by which editors complete
and check a config, and the tables of ``docs/config.md``.
"""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, TypeAdapter

from fairbench_cli.base.errors import shown
from fairbench_cli.base.registry import Registry
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.card import known_cards
from fairbench_cli.data.represent import Representation
from fairbench_cli.experiment.config.components import ComponentSpec
from fairbench_cli.experiment.config.config import (
    BiasConfig,
    DatasetOptions,
    ExperimentConfig,
    SampleConfig,
)
from fairbench_cli.experiment.config.limits import Limits
from fairbench_cli.experiment.config.outputs import FIGURES, TABLES
from fairbench_cli.experiment.config.tune import TuneOptions
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.registry import METRICS

MOST_SHOWN = 5  # values of a default
PLUGIN = {"type": "string", "pattern": ":", "description": "./mine.py:Thing or package.module:Thing"}


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of a config file (draft 2020-12)."""
    sample = SampleConfig.model_json_schema(by_alias=True)
    sample["properties"]["beta"] |= {"items": {"type": "number", "minimum": 0, "maximum": 1}}
    _allow_one(sample, "beta")
    exact = {
        "datasets": _datasets(),
        "sample": sample,
        "interventions": _components(
            INTERVENTIONS,
            {
                "include_protected": {"type": "boolean"},
                "representation": {"enum": list(get_args(Representation))},
                "tune": {"$ref": "#/$defs/tune"},
            },
        ),
        "classifiers": _components(CLASSIFIERS, {}) | {"default": ["c45"]},
        "metrics": {"items": {"anyOf": [{"enum": list(METRICS)}, PLUGIN]}},
        "tables": {"items": {"enum": list(TABLES)}},
        "figures": {"items": {"enum": list(FIGURES)}},
    }
    schema = ExperimentConfig.model_json_schema(by_alias=True)
    _allow_one(schema, "representation")
    del schema["$defs"]  # of what `exact` says better
    for key, value in exact.items():
        schema["properties"][key].pop("$ref", None)
        schema["properties"][key] |= value
    return schema | {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fairbench experiment",
        "$defs": {"tune": _tune()},
        "description": "A fairbench experiment: data sets × β × interventions × classifiers × repeats.",
    }


def _datasets() -> dict[str, Any]:
    own = DatasetOptions.model_json_schema(by_alias=True)
    _allow_one(own, "attribute")
    options = {"anyOf": [own, {"type": "null"}]}
    one = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": options}
    return {"items": {"anyOf": [{"type": "string", "examples": known_cards()}, one]}}


def _tune() -> dict[str, Any]:
    """Return the schema of what an intervention's entry says under `tune`."""
    schema = TuneOptions.model_json_schema(by_alias=True)
    for key in ("for", "on", "fraction"):
        _allow_one(schema, key)
    schema["properties"]["for"]["anyOf"][0] = {"anyOf": [{"enum": list(METRICS)}, PLUGIN]}
    return schema


def _allow_one(schema: dict[str, Any], key: str) -> None:
    """Let a property that is a list be one of its items too."""
    found = schema["properties"][key]
    shared = {name: found.pop(name) for name in ("default", "description", "title") if name in found}
    if "minLength" in found:  # pydantic does not see that it is a list
        found["minItems"] = found.pop("minLength")
    schema["properties"][key] = {"anyOf": [found["items"], found], **shared}


def _components(registry: Registry, extra: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list of names, or ``{name: {parameter: value or list}}``."""
    entries = {}
    for name, entry in registry.items():
        thing = entry.load()
        types = get_type_hints(thing, include_extras=True)
        own = {
            field.name: TypeAdapter(types[field.name]).json_schema() for field in fields(thing) if field.init
        }
        either = {
            key: {"anyOf": [one, {"type": "array", "items": one}]} for key, one in (own | extra).items()
        }
        described = {"type": ["object", "null"], "additionalProperties": False, "properties": either}
        entries[name] = described | {"description": str(thing.__doc__).splitlines()[0]}
    one = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": False}
    theirs = {"patternProperties": {PLUGIN["pattern"]: {"type": ["object", "null"]}}}
    return {"items": {"anyOf": [{"enum": list(registry)}, PLUGIN, one | {"properties": entries} | theirs]}}


def key_table(model: type[BaseModel], without: type[BaseModel] | None = None) -> str:
    """Return a Markdown table of the keys of a model, their defaults and meanings.

    >>> print(key_table(BiasConfig).splitlines()[3])
    | `require_arc` | false | Require the arc from the edited column to the outcome in the network. |
    """
    rows = ["| key | default | what |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        if without is None or name not in without.model_fields:
            default = "required" if field.is_required() else _default(field.default)
            rows.append(f"| `{field.alias or name}` | {default} | {field.description} |")
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
    return f"`{value}`" if isinstance(value, str) else shown(value)


TABLES_OF_KEYS = {
    "config": key_table(ExperimentConfig),
    "sample": key_table(SampleConfig),
    "dataset": key_table(DatasetOptions, without=BiasConfig),
    "tune": key_table(TuneOptions),
    "limits": key_table(Limits),
}


def with_key_tables(page: str) -> str:
    """Return the text of ``docs/config.md`` with new tables of keys.

    A table is between ``<!-- keys: NAME -->`` and ``<!-- end of keys -->``.
    """
    start, end = r"(<!-- keys: (\w+) -->\n)", "(<!-- end of keys -->)"
    return re.sub(f"{start}.*?{end}", lambda m: m[1] + TABLES_OF_KEYS[m[2]] + m[3], page, flags=re.DOTALL)


def write_all(root: Path) -> None:
    """Write ``configs/schema.json`` and the tables of ``docs/config.md`` of a checkout."""
    text = json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
    (root / "configs/schema.json").write_text(text, encoding="utf-8")
    docs = root / "docs/config.md"
    docs.write_text(with_key_tables(docs.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(__file__).parents[3])
