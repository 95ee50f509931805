"""The JSON Schema of a config, made from the code, so that editors complete and check it.

``python -m fairbench_cli.experiment.schema`` prints it; ``configs/schema.json`` is its output.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.card import known_cards
from fairbench_cli.experiment.choices import Entry
from fairbench_cli.experiment.keys import DatasetOptions, ExperimentFile
from fairbench_cli.experiment.outputs import FIGURES, TABLES
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.registry import MEASURES, ROW_MEASURES


def config_schema() -> dict[str, Any]:
    """Return the schema of a config file (draft 2020-12)."""
    schema = ExperimentFile.model_json_schema(by_alias=True)
    schema |= {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fairbench experiment",
        "description": "A fairbench experiment: data sets × β × interventions × classifiers × repeats.",
    }
    keys = schema["properties"]
    keys["datasets"]["items"] = _datasets()
    keys["interventions"] |= _axis(INTERVENTIONS, {"include_protected": {"type": "boolean"}})
    keys["classifiers"] |= _axis(CLASSIFIERS, {})
    keys["metrics"]["items"] = {"enum": [*MEASURES, *ROW_MEASURES]}
    keys["tables"]["items"] = {"enum": list(TABLES)}
    keys["figures"]["items"] = {"enum": list(FIGURES)}
    beta = schema["$defs"]["SampleConfig"]["properties"]["beta"]
    number = {"type": "number", "minimum": 0, "maximum": 1}
    schema["$defs"]["SampleConfig"]["properties"]["beta"] = {
        "anyOf": [number, beta | {"items": number}],
        "default": beta["default"],
    }
    return schema


def _datasets() -> dict[str, Any]:
    options = DatasetOptions.model_json_schema()
    return {
        "anyOf": [
            {"type": "string", "examples": known_cards()},
            {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": {"anyOf": [options, {"type": "null"}]},
            },
        ]
    }


def _axis(registry: Mapping[str, Entry], extra: dict[str, Any]) -> dict[str, Any]:
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
    return {
        "minItems": 1,
        "items": {"anyOf": [{"enum": list(registry)}, one | {"properties": entries}]},
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n")
