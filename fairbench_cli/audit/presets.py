"""Rules of others: what each preset sets, and which options contradict it."""

from collections.abc import Mapping
from typing import Any

from fairbench_cli.audit.judge.metrics import canonical

MISSING = "(missing)"
FOUR_FIFTHS = 0.8
SMALL = 0.02  # of the data: smaller categories may be left out, in both American rules

# Laid under what the user gives. Fewer rows than `min-group` rule out no reference: what rules one out in
# these two is its share of the data.
_HIGHEST: dict[str, Any] = {
    "ref-method": "maximum",
    "metric": ["selection-rate"],
    "min-share": SMALL,
    "min-group": 1,
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "aequitas": {"rule": "point", "metric": ["unsupervised-parity", "supervised-parity"], "min-group": 1},
    "eeoc": _HIGHEST,
    "ll144": _HIGHEST,
}
EXCLUDING = ("eeoc", "ll144")
WITHOUT_VERDICT = ("ll144",)  # nothing passes or fails

Contradiction = tuple[str, str, str]  # key, what is wrong, what to do


def laid_under(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a config with those of its preset, if it has one, laid under them.

    >>> laid_under({"preset": "ll144", "attribute": ["sex", "race"]})["intersect"]
    [['sex', 'race']]
    """
    preset = data.get("preset")
    if not isinstance(preset, str) or preset not in DEFAULTS:
        return dict(data)
    found = {**DEFAULTS[preset], **data}
    if preset in EXCLUDING:
        given = data.get("exclude", [])
        given = [given] if isinstance(given, str) else given
        if isinstance(given, list | tuple):
            found["exclude"] = list(dict.fromkeys((MISSING, *given)))
    pair = data.get("attribute")
    if preset == "ll144" and "intersect" not in data and isinstance(pair, list | tuple) and len(pair) == 2:
        found["intersect"] = [list(pair)]
    return found


def contradictions(config: Mapping[str, Any]) -> list[Contradiction]:
    """Return which values of a config contradict its preset: the key, what is wrong, what to do.

    `config` has every key of a config file, checked.
    """
    preset = config["preset"]
    if preset is None:
        return []
    found: list[Contradiction] = []
    if config["weight"] is not None:
        what = f"preset {preset} counts people, and weights make something else of them"
        found.append(("weight", what, "leave weight out, or the preset"))
    if config["min-group"] != 1:
        what = f"preset {preset} compares groups of any number of rows"
        found.append(("min-group", what, "leave min-group out, or the preset"))
    if preset == "aequitas":
        return found + _aequitas(config)
    found += _highest(config, preset)
    return found + (_ll144(config) if preset == "ll144" else _eeoc(config))


def _aequitas(config: Mapping[str, Any]) -> list[Contradiction]:
    found = []
    method, least = config["ref-method"], config["min-share"]
    if method in ("maximum", "rest"):
        what = f"Aequitas has no reference method {method}"
        found.append(("ref-method", what, "use majority or minimum, or name groups with ref"))
    if config["rule"] != "point":
        found.append(("rule", "Aequitas does not look at chance", "leave rule out, or the preset"))
    groups = (("min-share", least > 0), ("exclude", bool(config["exclude"])))
    found += [
        (key, "Aequitas compares all groups", f"leave {key} out, or the preset")
        for key, given in groups
        if given
    ]
    if config["cluster"] is not None:
        found.append(("cluster", "Aequitas takes every row for a person", "leave cluster out, or the preset"))
    return found


def _highest(config: Mapping[str, Any], preset: str) -> list[Contradiction]:
    """Return what contradicts a comparison with the group that is selected most."""
    found = []
    metrics = [name for name in config["metric"] if canonical(name) != "selection-rate"]
    if metrics:
        what = f"preset {preset} goes by the selection rate, not by {', '.join(metrics)}"
        found.append(("metric", what, "leave metric out, or the preset"))
    if config["ref"] or config["ref-method"] != "maximum":
        key = "ref" if config["ref"] else "ref-method"
        what = f"preset {preset} compares with the group that is selected most"
        found.append((key, what, f"leave {key} out, or the preset"))
    if config["decision"] == "punitive":
        what = f"preset {preset} takes being selected for what helps"
        found.append(("decision", what, "leave decision out, or the preset"))
    if config["cluster"] is not None:
        what = f"preset {preset} takes every row for a person"
        found.append(("cluster", what, "leave cluster out, or the preset"))
    return found


def _ll144(config: Mapping[str, Any]) -> list[Contradiction]:
    found = []
    names, least = config["attribute"] or (), config["min-share"]
    if len(names) != 2:
        what = "preset ll144 needs two attributes, sex and race or ethnicity"
        found.append(("attribute", what, "name both columns with --attribute"))
    elif any(set(names) != set(each) for each in config["intersect"]):
        what = f"preset ll144 crosses {' and '.join(names)}, and nothing else"
        found.append(("intersect", what, "leave intersect out, or the preset"))
    if least > SMALL:
        what = f"preset ll144 leaves out categories under {SMALL:g} of the data, not {least:g}"
        found.append(("min-share", what, f"give at most {SMALL:g}"))
    asks = (("fail", config["fail"]), ("fail-on", bool(config["fail-on"])))
    found += [
        (key, "preset ll144 has no pass mark, so nothing can fail", f"leave {key} out, or use preset eeoc")
        for key, given in asks
        if given
    ]
    limits = (("rule", config["rule"] != "evidence"), ("tau", _own_tau(config)))
    found += [
        (key, f"preset ll144 has no pass mark, so {key} has no effect", f"leave {key} out")
        for key, given in limits
        if given
    ]
    return found


def _eeoc(config: Mapping[str, Any]) -> list[Contradiction]:
    if not _own_tau(config):
        return []
    return [("tau", "preset eeoc is the rule of four fifths, so tau is 0.8", "leave tau out, or the preset")]


def _own_tau(config: Mapping[str, Any]) -> bool:
    return bool(config["tau"] != {"default": FOUR_FIFTHS})
