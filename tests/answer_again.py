# ruff: noqa: E501
"""Compute the numbers and words of answer.md again from the CSVs of a results folder: a second way.

Plain pandas and no code of fairbench. Numbers are from results.csv and groups.csv; what is said to be better
or worse is from the verdicts of paired.csv, whose tests have tests of their own; whether a gap is shown is
tested here again, where repeats have test rows of their own. Every sentence is taken apart piece by piece; a
digit that is left over was not computed again, and is an error. By hand::

    python tests/answer_again.py results/quickstart
"""

import json
import math
import re
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

CELL = ["world", "representation", "beta", "intervention", "parameters", "include_protected", "classifier"]
CELL = ["dataset", "attribute", *CELL, "classifier_parameters"]
BLOCK = ["dataset", "attribute", "compared", "world", "representation", "classifier", "classifier_parameters"]
TECHNIQUE = ["intervention", "parameters", "include_protected"]
TRUTH = "trained-on-truth"
FORMS = {  # what a metric is: points or times, of which rate, and of whom against whom
    "discrimination": ("points", -1, 0),
    "statistical-parity-difference": ("points", 1, 0),
    "cv": ("points", 1, 1),
    "overestimation": ("points", -1, 0),
    "underestimation": ("points", 1, 0),
    "impact-ratio": ("times", 1, 0),
    "dibinary": ("times", 1, 0),
    "phi": ("number", 1, 0),
}
N = r"(\d+(?:\.\d+)?)"
COST = r"(?:, accuracy ([−+]?\d+\.\d)(, no change|, not shown|, not tested)?)?"
LEFT = rf"(no gap shown: )?(−?{N[1:-1]})(?: points| times)?( the other way| left)?{COST}"


def read(path: Path) -> pd.DataFrame:
    """Return a CSV exactly; of runs without worlds and of the world without bias, the world is ""."""
    exact = {} if int(pd.__version__.split(".")[0]) > 2 else {"float_precision": "round_trip"}
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype={"labels": str}, **exact)
    return frame.assign(world=frame["world"].fillna("") if "world" in frame else "")


def holm(p: np.ndarray) -> np.ndarray:
    """Return Holm's adjustment of p-values."""
    order = np.argsort(p)
    found = np.empty(len(p))
    found[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return found


class Answer:
    """A results folder, its answer, and what of it was found wrong."""

    def __init__(self, folder: Path, labels: str = "") -> None:
        self.wrong: list[str] = []
        self.numbers = 0
        results, self.paired = read(folder / "results.csv"), read(folder / "paired.csv")
        groups, self.pareto = read(folder / "groups.csv"), read(folder / "pareto.csv")
        self.short = read(folder / "baselines_distance.csv")
        moved = folder / "frontier_distance.csv"
        self.moved = read(moved) if moved.is_file() else None
        self.plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        config = self.plan["config"]
        self.about = labels or config.get("test_labels", "true")
        self.worlds = any(cell.get("world") for cell in self.plan["cells"])
        self.results, self.groups = results, groups
        if self.worlds:
            self.results, self.groups = (one[one["labels"] == self.about] for one in (results, groups))
            self.by_labels = dict(iter(results.groupby("labels")))
            self.remedies = read(folder / "remedies.csv")
            keys = self.remedies[[*BLOCK, "beta", *TECHNIQUE, "labels", "metric"]]
            rows = self.remedies.to_dict("records")
            self.remedy_of = dict(zip(keys.itertuples(index=False, name=None), rows, strict=True))
            own = results[(results["metric"] == "accuracy") & results["value"].notna()]
            place = [*BLOCK, "beta", *TECHNIQUE, "labels"]
            grouped = own.set_index("repeat").groupby(place)["value"]
            self.accuracies, self.contrasts = dict(iter(grouped)), {}
            exact = folder / "worlds.csv"
            self.exact = read(exact) if exact.is_file() else None
        self.repeats, self.source, self.test = config["repeats"], config["sample"]["from"], config["test"]
        self.ratio = 1 / config["sample"].get("train_fraction", 1 / 2) - 1 if self.source == "data" else 0.0
        self.metric = next((name for name in config["metrics"] if name in FORMS), "discrimination")
        self.form, self.sign, self.shift = FORMS[self.metric]
        self.text = re.sub(r"\\(.)", r"\1", (folder / "answer.md").read_text(encoding="utf-8"))
        self.labels, self.made = self._labels(), {}
        self.blocks = self._blocks()

    @property
    def cells(self) -> pd.DataFrame:
        """The cells of the plan."""
        return pd.DataFrame([{"world": ""} | cell for cell in self.plan["cells"]])

    def _blocks(self) -> list[dict]:
        found = []
        held = self.results[["dataset", "attribute", "compared"]].drop_duplicates()
        cells = self.cells
        for place in cells[["dataset", "attribute"]].drop_duplicates().itertuples(index=False, name=None):
            at = held[(held["dataset"] == place[0]) & (held["attribute"] == place[1])]
            own = cells[(cells["dataset"] == place[0]) & (cells["attribute"] == place[1])]
            rest = own[["world", "representation", "classifier", "classifier_parameters"]].drop_duplicates()
            named = (re.sub(r"\s*×\s*", " × ", name) for name in self.plan["config"].get("attributes") or [])
            asked = [name for name in named if name in [*at["compared"]]]
            for compared, others in product(
                asked or [*at["compared"]] or place[1:], rest.itertuples(index=False, name=None)
            ):
                found.append(dict(zip(BLOCK, (*place, compared, *others), strict=True)))
        return found

    def _labels(self) -> dict[tuple, str]:
        """Return what techniques are called, from pareto.csv; those without a value by their name."""
        keys = ["intervention", "parameters", "include_protected"]
        rows = self.pareto[[*keys, "technique"]].drop_duplicates().itertuples(index=False, name=None)
        found = {tuple(row[:3]): row[3] for row in rows}
        seen = {cell["include_protected"] for cell in self.plan["cells"]}
        found |= {(TRUTH, "{}", s): TRUTH + " + s" * s for s in seen}
        for name, given in (item for one in self.plan["config"]["interventions"] for item in one.items()):
            own = {key: value for key, value in given.items() if key not in ("as", "representation")}
            for key in list(found) * ("as" in given):
                if (key[0], json.loads(key[1]) | {"include_protected": key[2]}) == (name, own):
                    found[key] = given["as"]
        return found

    def note(self, what: str, said: object, known: object) -> None:
        """Count a number or word, and keep it where it is wrong."""
        self.numbers += 1
        if said != known and not (isinstance(known, Rounded) and known.near(str(said))):
            self.wrong.append(f"{what}: said {said!r}, is {known!r}")

    # What is known of a setting ----------------------------------------------------------------------------

    def settings(self, block: dict) -> dict[float, "Setting"]:
        """Return the settings of a block by β, made once."""
        if tuple(block.values()) in self.made:
            return self.made[tuple(block.values())]
        cells = self.cells
        own = [name for name in BLOCK if name != "compared"]
        at = (cells[own] == pd.Series({name: block[name] for name in own})).all(axis=1)
        found = {beta: Setting(self, block, part) for beta, part in cells[at].groupby("beta", sort=False)}
        return self.made.setdefault(tuple(block.values()), found)

    def shown(self, value: float) -> str:
        """Write a value as sentences do."""
        if self.form == "points":
            return minus(abs(100 * (value - self.shift)), 1)
        return minus(value, 2 if self.form == "times" else 3)

    def side(self, value: float) -> int:
        """Return on which side of no gap a value is, as written."""
        if self.form == "points":
            rounded = round(100 * self.sign * (value - self.shift), 1)
        else:
            rounded = round(value, 2) - 1 if self.form == "times" else round(value, 3)
        return int(np.sign(rounded))

    def eat(self, text: str, pattern: str, check) -> str:
        """Take what matches a pattern out of a text, and check it."""

        def found(match: re.Match) -> str:
            check(match)
            return " "

        return re.sub(pattern, found, text)

    def leftover(self, text: str, where: str) -> None:
        """Refuse digits that nothing has accounted for."""
        if re.search(r"\d", text):
            self.wrong.append(f"{where}: not computed again: {text.strip()!r}")

    # The parts of the answer -------------------------------------------------------------------------------

    def check(self) -> "Answer":
        """Check headline, statements and sections."""
        parts = re.split(r"\n\n(?=## )", self.text)
        head = parts[0].split("\n\n")
        sections = parts[1:]
        sections[-1:] = [sections[-1].split("\n\n* ")[0]] if sections else []
        self.note("number of sections", len(sections), len(self.blocks))
        for block, section in zip(self.blocks, sections, strict=True):
            self._section(block, section)
        statements = [one.removeprefix("* ") for one in head[2].split("\n")]
        if self.worlds:
            self._worlds(statements, head[1].strip("*"))
            return self
        if len(statements) == len(self.blocks) <= 4:
            for block, statement in zip(self.blocks, statements, strict=True):
                self._statement(block, statement)
        else:
            places = list(dict.fromkeys(tuple(block.values())[:3] for block in self.blocks))
            tried = {place for place in places if any(one.plain is not None for one in self._all(place))}
            there = [place for place in places if place in tried]
            without = {place[0] for place in places if place not in tried}
            said = {
                name for line in statements[len(there) :] for name in line.rpartition(": ")[0].split(", ")
            }
            self.note("data sets without a plain model", said, without)
            for place, statement in zip(there, statements[: len(there)], strict=True):
                self._counted(place, statement)
        self._headline(head[1].strip("*"))
        return self

    def _section(self, block: dict, text: str) -> None:
        settings = self.settings(block)
        title, *paragraphs = text.split("\n\n")
        assert title.startswith(f"## {block['dataset']}"), (title, block)
        if block["dataset"] not in title:
            self.wrong.append(f"section {title!r} is not of {block['dataset']}")
        groups = title.rpartition(": ")[2].split(" against ", 1)
        sentences = [one for one in paragraphs if not one.startswith("|")]
        self.note(f"{title}: settings", len(sentences), len(settings))
        for (beta, setting), sentence in zip(settings.items(), sentences, strict=True):
            rest = sentence.removeprefix(f"β = {beta:g}: ")
            setting.check(rest, groups, f"{title}, β = {beta:g}", whole=True)
        for table in (one for one in paragraphs if one.startswith("|")):
            self._table(settings, table, title)

    def _table(self, settings: dict[float, "Setting"], text: str, where: str) -> None:
        head, _, *lines = text.strip().split("\n")
        heads = [words.strip() for words in head.split("|")[1:-1]]
        on_others = [j for j, words in enumerate(heads) if words.startswith("on ")]
        truths = [one.cells["intervention"] == TRUTH for one in settings.values()]
        # Of models without the bias the one is told that sees as much as the plain model.
        known = sum((~truth).sum() + truth.any() for truth in truths)
        self.note(f"{where}: rows", len(lines), known)
        for line in lines:
            cells = [one.strip() for one in line.split("|")[1:-1]]
            beta, technique, gap, change, accuracy, cost, *_, what = cells
            others = [cells[j] for j in on_others]
            setting = settings[float(beta)]
            if technique not in setting.known:
                self.note(f"{where}, {technique}", gap, "–")
                continue
            if others:
                known = setting.remedy(technique, {"true": "recorded", "recorded": "true"}[self.about])
                text = "–"
                if known is not None and not math.isnan(known["change"]):
                    ends = [minus(100 * known[f"change_{end}"], 1) for end in ("low", "high")]
                    fine = "" if math.isnan(known["change_low"]) else f" [{ends[0]}, {ends[1]}]"
                    text = setting.gain(technique, known["labels"]) + fine
                self.note(f"{where}, {technique}: on other labels", others[0], text)
            one = setting.known[technique]
            points = 100 if self.form == "points" else 1  # the sign of the metric, as in results.csv
            digits = {"points": 1, "times": 2, "number": 3}[self.form]
            self.note(
                f"{where}, {technique}: gap",
                gap.split(" ")[0],
                minus(points * (one["value"] - self.shift), digits),
            )
            self.note(f"{where}, {technique}: accuracy", accuracy, minus(100 * one["accuracy"], 1))
            for text, key, unit, places, plus in (
                (change, self.metric, points, digits, "+"),
                (cost, "accuracy", 100, 1, "+"),
            ):
                row = setting.row(technique, key)
                if row is None or math.isnan(row["difference"]):
                    self.note(f"{where}, {technique}: change", text, "–")
                    continue
                ends = sorted(unit * row[f"population_{end}"] for end in ("low", "high"))
                fine = "" if math.isnan(ends[0]) else f" [{minus(ends[0], places)}, {minus(ends[1], places)}]"
                known = minus(unit * row["difference"], places, plus) + fine
                self.note(f"{where}, {technique}: change of {key}", text, known)
            if what:
                kind = setting.kind(technique)
                word = "constant" if "everybody" in what else re.split(r"[,(]", what)[0].strip()
                self.note(f"{where}, {technique}: kind", "" if word == "no gap shown" else word, kind)

    def _statement(self, block: dict, text: str) -> None:
        settings = self.settings(block)
        groups = None
        main = _main(settings)
        first, *others = re.split(r" At β = ([\d.]+): ", text)
        first = re.sub(r"^.*?: ", "", first, count=1)
        settings[main].check(first, groups, f"statement on {block['dataset']}", whole=False)
        for beta, exception in zip(others[::2], others[1::2], strict=True):
            settings[float(beta)].check(exception, groups, f"statement on {block['dataset']}, β = {beta}")

    def _all(self, place: tuple) -> list["Setting"]:
        blocks = [block for block in self.blocks if tuple(block.values())[:3] == place]
        return [one for block in blocks for one in self.settings(block).values()]

    def _counted(self, place: tuple, text: str) -> None:
        tried = [one for one in self._all(place) if one.plain is not None]
        where = f"statement on {place}"
        ends = sorted((one.plain["value"] for one in tried), key=lambda value: self.sign * value)
        least, most = sorted(ends[:: max(1, len(ends) - 1)], key=lambda value: abs(value - self.shift))
        said = re.search(r": (.*?) in (\d+) settings?(?: \(labels: (.*?)\))?\.", text)
        self.note(f"{where}: settings", int(said[2]), len(tried))
        numbers = sorted(set(re.findall(N[1:-1], said[1])))
        self.note(f"{where}: range", numbers, sorted({self.shown(least), self.shown(most)}))
        if said[3]:
            self.note(f"{where}: labels", re.findall(N[1:-1], said[3])[0], self.shown(tried[0].labels()))
        rest = text[said.end() :]
        kinds = {
            "The same decision for everybody": "constant", "Narrowed": "better", "Overshot": "overshoots",
            "Widened": "worse", "No value": "no value",
        }  # fmt: skip
        for what, kind in kinds.items():
            often = Counter(name for one in tried for name in one.names if one.kind(name) == kind)
            n = sum(any(one.kind(name) == kind for name in one.names) for one in tried)
            match = re.search(rf"{what} in (\d+): (.*?)\.(?= [A-Z]|$)", rest)
            self.note(f"{where}: {what}", int(match[1]) if match else 0, n)
            if match:
                listed = ", ".join(f"{name} ({times})" for name, times in often.most_common())
                self.note(f"{where}: {what}, by technique", match[2], listed)
                rest = rest.replace(match[0], "")
        self.leftover(rest, where)

    def _worlds(self, statements: list[str], headline: str) -> None:
        """Check the statements on worlds, and the headline."""
        every = [one for block in self.blocks for one in self.settings(block).values()]
        biased = [one for one in every if one.biased and one.plain is not None]
        known = {}
        for one in every:
            if one.plain is not None and (one.biased or not one.block["world"]):
                known.setdefault(one.block["world"], []).append(one)
        there = {world: own for world, own in known.items() if world or _free(own)}
        self.note("worlds", len(statements), len(there))
        for (world, own), text in zip(there.items(), statements, strict=True):
            self._world(world, own, text)
        if self.about == "recorded":
            start = "On recorded labels, not on true ones: "
            self.note("headline: which labels", headline.startswith(start), True)
            text = headline.removeprefix(start)
            self._headline(text[0].upper() + text[1:])
            return
        took = any(one.lost_kind for one in biased)
        found = [
            one for one in biased
            if any(map(one.gains, one.names)) and (one.lost_kind == "worse" or not took)
        ]  # fmt: skip
        artefact = [one for one in biased if any(one.contrast(name) == "artefact" for name in one.names)]
        often = Counter(name for one in found for name in one.names if one.gains(name))
        several = len({one.block["world"] for one in biased}) > 1

        def count(settings: list["Setting"]) -> int:
            return len({one.block["world"] for one in settings}) if several else len(settings)

        what = "accuracy that the bias took" if took else "accuracy on true labels"
        verb = "regain" if took else "gain"
        n = len(biased)
        some = rf"No technique is shown to {verb} {what}, in any of (\d+) settings?\."
        if not found:
            match = re.fullmatch(some, headline)
            self.note("headline: none", match and int(match[1]), n)
            return
        start = rf"In (\d+) of (\d+) worlds a technique {verb}s {what}"
        if not several:
            start = rf"Under {re.escape(biased[0].block['world'])} (.*?) {verb}s {what}()(?: in (\d+) of (\d+) settings)?"
        most = r"(?:, most often (.*?) \((\d+)(?: of (\d+) settings)?\))?"
        match = re.fullmatch(
            rf"{start}{most}(; (?:in (\d+) )?the recorded trade-off is an artefact)?\.", headline
        )
        assert match, headline
        numbers = [*match.groups()]
        if several:
            worlds = len({one.block["world"] for one in biased})
            self.note("headline: worlds", [*map(int, numbers[:2])], [count(found), worlds])
        elif numbers[2]:
            self.note("headline: settings", [*map(int, numbers[2:4])], [len(found), n])
        name, times, of = numbers[-5:-2]
        if name is not None:
            self.note("headline: most often", (name, int(times)), often.most_common(1)[0])
            self.note("headline: of settings", int(of or n), n)
        if numbers[-2] is not None:
            self.note("headline: artefacts", int(numbers[-1] or 1), count(artefact))

    def _world(self, world: str, settings: list["Setting"], text: str) -> None:
        """Check the statement on a world."""
        where, several = f"statement on {world or 'no bias'}", len(settings) > 1
        start = re.escape(world or "no bias") + (rf", {len(settings)} settings: " if several else ": ")
        match = re.match(start, text)
        self.note(f"{where}: settings", match is not None, True)
        rest = " " + text[match.end() :].replace("nothing is shown.", "")
        rest = rest[:1] + rest[1:2].upper() + rest[2:]
        costs = [-100 * one.lost for one in settings if one.lost_kind == "worse"]
        rest = self._clause(
            rest, r"The bias costs (.*?) points of accuracy(?: in (\d+))?", where, bool(costs),
            lambda found: self.note(f"{where}: cost", (found[1], int(found[2] or 1)), (_ends(costs, ""), len(costs))),
        )  # fmt: skip
        told = any(not math.isnan(one.lost) for one in settings)
        tested = any(one.lost_kind != "untested" for one in settings if not math.isnan(one.lost))
        rest = self._clause(rest, "No cost of the bias is shown", where, tested and not costs)
        rest = self._clause(rest, "What the bias costs is not tested", where, told and not tested)
        gains: dict[str, list[float]] = {}
        for one in settings:
            for name in filter(one.gains, one.names):
                gains.setdefault(name, []).append(100 * one.change(name, "true"))
        rest = self._clause(rest, "No technique is shown to gain any", where, bool(costs) and not gains)

        def gained(found: re.Match) -> None:
            ordered = sorted(gains, key=lambda name: (-len(gains[name]), -max(gains[name])))
            if several:
                known = [f"{name} {_ends(gains[name], '+')} ({len(gains[name])})" for name in ordered]
                self.note(
                    f"{where}: gained in",
                    int(found[1]),
                    sum(any(map(one.gains, one.names)) for one in settings),
                )
            else:
                known = [f"{name} {settings[0].gain_and_interval(name)}" for name in ordered]
            self.note(f"{where}: gained", found[2], ", ".join(known))

        rest = self._clause(rest, r"Gained on true labels(?: in (\d+))?: (.*?)", where, bool(gains), gained)
        exact = [(one, known) for one in settings if (known := one.exact()) is not None]

        def thresholds(found: re.Match) -> None:
            most, known = max(exact, key=lambda each: each[1][2] - each[1][0])
            gained, lacking = (minus(100 * (value - known[0]), 1) for value in known[1:])
            if not found[2]:
                self.note(f"{where}: nothing is lacking", lacking, "0.0")
            else:
                share = "all" if known[1] >= known[2] or gained == lacking else gained
                share = "none" if share == "0.0" else share
                self.note(f"{where}: thresholds", [found[1], found[2]], [share, lacking])
                at = f" where most is lacking ({most.block['dataset']}, β = {most.beta:g})"
                self.note(f"{where}: thresholds at", found[3], at if len(exact) > 1 else None)
            kept = [own for one in settings if (own := one.kept()) is not None]
            word = "kept" if all(kept) else f"kept in {sum(kept)} of {len(kept)}" if any(kept) else "not kept"
            blind = any(one.blind() for one in settings if one.kept() is False)
            self.note(f"{where}: ranking", (bool(found[4]), found[5]), (blind, word))

        rest = self._clause(
            rest,
            rf"(?:Thresholds that know the truth gain (all|none|−?\d+\.\d) of {N} points( where most is lacking \(.*?\))?|"
            r"Bayes' rule of the record lacks nothing)"
            r"(?:; (to rules that do not see the group )?the ranking within groups is (.*?))?",
            where, bool(exact), thresholds,
        )  # fmt: skip
        counted = {
            "Gap narrowed": lambda one, name: one.kind(name) == "better",
            "Lost on recorded labels and gained on true ones": lambda one, name: (
                one.contrast(name) == "artefact"
            ),
            "Gap narrowed at a loss on true labels too": lambda one, name: one.trades(name),
        }
        for what, chosen in counted.items():
            often = Counter(name for one in settings for name in one.names if chosen(one, name))

            def names(found: re.Match, often: Counter = often, chosen=chosen, what: str = what) -> None:
                n = sum(any(chosen(one, name) for name in one.names) for one in settings)
                known = [f"{name} ({n})" if several else name for name, n in often.most_common()]
                self.note(f"{where}: {what}", (int(found[1] or 1), found[2]), (n, ", ".join(known)))

            rest = self._clause(rest, rf"{what}(?: in (\d+))?: (.*?)", where, bool(often), names)
        self.leftover(rest, where)

    def _clause(self, text: str, pattern: str, where: str, known: bool, check=lambda _: None) -> str:
        """Check that a sentence is there where it should be, and take it out."""
        match = re.search(rf" {pattern}\.(?= [A-Z]|$| $)", text)
        self.note(f"{where}: {pattern.partition('(')[0]}", match is not None, known)
        if match is None:
            return text
        check(match)
        return text.replace(match[0], "", 1)

    def _headline(self, text: str) -> None:
        every = [(block, one) for block in self.blocks for one in self.settings(block).values()]
        tried = [one for _, one in every if one.plain is not None]
        narrowed = [one for one in tried if any(one.kind(name) == "better" for name in one.names)]
        constant = [
            (block, one, name) for block, one in every for name in one.names if one.kind(name) == "constant"
        ]
        assert len(text.split()) <= 30, text

        def counted(match: re.Match) -> None:
            often = Counter(name for one in narrowed for name in one.names if one.kind(name) == "better")
            self.note("headline: settings", (int(match[1]), int(match[2])), (len(narrowed), len(tried)))
            self.note("headline: most often", (match[3], int(match[4])), often.most_common(1)[0])

        text = self.eat(
            text,
            r"In (\d+) of (\d+) settings a technique narrows the gap beyond chance, "
            r"most often (.*?) \((\d+)\)\.",
            counted,
        )
        text = self.eat(
            text, r"No technique is shown to narrow the gap, in any of (\d+) settings\.",
            lambda match: self.note("headline: none", (int(match[1]), 0), (len(tried), len(narrowed))),
        )  # fmt: skip
        text = self.eat(
            text, r"In (\d+) settings? a technique decides the same for everybody(?: in some repeat)?\.",
            lambda match: self.note("headline: constants", int(match[1]), len({id(one) for _, one, _ in constant})),
        )  # fmt: skip
        text = self.eat(
            text, r"(?:At β = ([\d.]+) )?(\S+(?: \(.*?\))?(?: \+ s)?) ((?:(?: and )?(?:refuses|accepts) everybody(?: \(\d+ of \d+ repeats\))?)+) on (\S+)\.",
            lambda match: self.note("headline: constant", [(match[2], match[3], match[4])], [(name, one.to_all(name), block["dataset"]) for block, one, name in constant]),
        )  # fmt: skip
        main = {}
        for block in self.blocks:
            settings = self.settings(block)
            main.setdefault(block["dataset"], []).append(settings[_main(settings)])
        text = re.sub(r"^β = [\d.]+: ", "", text)
        text = re.sub(r"; (on [^;]*?) none is shown to", r"; none is shown \1", text)

        def narrows(match: re.Match) -> None:
            known = set()
            for one in main[match[2]]:
                better = [name for name in one.names if one.kind(name) == "better"]
                left = {None, *(one.shown(name) for name in better)}
                known |= set(product((str(len(better)), *better), (None, one.shown(one.plain_name)), left))
            self.note(f"headline on {match[2]}", (match[1], match[3], match[4]) in known, True)

        sets = "|".join(map(re.escape, main))
        names = "|".join(map(re.escape, sorted(set(self.labels.values()), key=len, reverse=True)))
        who = rf"(\d+(?= techniques)|{names})(?: techniques)?(?: narrows?(?: the gap)?)?"
        for _ in range(len(self.blocks)):  # who is named once for several data sets
            more = rf"({names})( narrows the gap)? on ({sets})( \([^()]*\))?, on "
            text = re.sub(more, r"\1\2 on \3\4, \1 on ", text)
        text = self.eat(
            text,
            rf"{who} on ({sets})\b(?: \((?:(?!{N[1:-1]} to )[^():]*)?(?:: )?(?:{N} to {N}[^()]*)?\))?",
            narrows,
        )

        def others(match: re.Match) -> None:
            said = (
                "no technique is shown to narrow the gap"
                if match[1] == "none is shown to"
                else match[1].lower()
            )
            self.note(f"headline: {said}", said in {one.nothing() for one in main[match[2]]}, True)

        for _ in range(len(self.blocks)):  # what is said once of several data sets
            text = re.sub(rf"({_NOTHING}) on ({sets})( \([^()]*\))?,? on ", r"\1 on \2\3; \1 on ", text)
        text = self.eat(text, rf"({_NOTHING}) on ({sets})\b(?: \([^()]*\))?", others)
        self.leftover(text, "headline")


_SHOWN = "no technique is shown to narrow the gap"
_NOTHING = f"(?i:{_SHOWN}|none is shown to|no gap of the plain model is shown|every technique decides the same for everybody(?: in some repeat)?"
_NOTHING += "|no technique gave a value|the plain model alone was run|nothing can be tested|no model without a technique to compare with|the plain model gave no value|[^;]*? overshoots?)"


def _free(settings: list["Setting"]) -> bool:
    """Return whether something is said of settings without bias."""
    return any(one.kind(name) == "better" for one in settings for name in one.names)


def _ends(values: list[float], plus: str) -> str:
    """Return the least and the most of some numbers, once if they are written alike."""
    return " to ".join(dict.fromkeys(minus(value, 1, plus) for value in (min(values), max(values))))


def _main(settings: dict[float, "Setting"]) -> float:
    """Return the middle β of those with a plain model."""
    able = sorted(beta for beta, one in settings.items() if one.plain is not None) or sorted(settings)
    return able[len(able) // 2]


class Setting:
    """What the CSVs say of a data set, groups compared, classifier and β."""

    def __init__(self, answer: Answer, block: dict, cells: pd.DataFrame) -> None:
        self.answer, self.block, self.cells = answer, block, cells
        self.beta = cells["beta"].iloc[0]
        self.kinds = {}
        rows = self._at(answer.results)
        self.known, self.names, self.plain = {}, [], None
        for cell in cells.to_dict("records"):
            key = (cell["intervention"], cell["parameters"], cell["include_protected"])
            own = rows[(rows[["intervention", "parameters", "include_protected"]] == list(key)).all(axis=1)]
            values = own[own["metric"] == answer.metric]["value"].replace([np.inf, -np.inf], np.nan).dropna()
            accuracy = own[own["metric"] == "accuracy"]["value"].dropna()
            label = answer.labels.get(key, cell["intervention"])
            found = {"key": key, "n": len(values), "values": values.to_numpy()}
            found |= {"value": values.mean(), "accuracy": accuracy.mean() if len(accuracy) else math.nan}
            if len(values):
                self.known[label] = found
            if key[:2] == ("none", "{}") and self.plain is None:
                self.plain = found if len(values) else None
                self.plain_name = label
            elif key[:2] != ("none", "{}") and key[0] != TRUTH:
                self.names.append(label)

    def _at(self, frame: pd.DataFrame) -> pd.DataFrame:
        names = [name for name in (*BLOCK, "beta") if name in frame.columns]
        values = {**self.block, "beta": self.beta}
        return frame[(frame[names] == [values[name] for name in names]).all(axis=1)]

    # Its world ---------------------------------------------------------------------------------------------

    @property
    def biased(self) -> bool:
        """Whether it has a world whose bias changes something."""
        return bool(self.block["world"]) and self.beta > 0

    def remedy(self, label: str, labels: str) -> dict | None:
        """Return the row of remedies.csv on the accuracy of a technique."""
        key = *self.block.values(), self.beta, *self.known[label]["key"], labels, "accuracy"
        return self.answer.remedy_of.get(key)

    def accuracy(self, key: tuple, labels: str, world: tuple[str, float] | None = None) -> pd.Series:
        """Return the accuracy of a technique by repeat, from results.csv, in this world or in another."""
        name, beta = world or (self.block["world"], self.beta)
        place = self.block | {"world": name}
        return self.answer.accuracies.get((*place.values(), beta, *key, labels), pd.Series(dtype=float))

    def change(self, label: str, labels: str) -> float:
        """Return the mean difference in accuracy to the plain model of the world."""
        key = self.known[label]["key"]
        plain = [("none", "{}", key[2]), ("none", "{}", not key[2])]
        found = [self.accuracy(one, labels) for one in plain]
        base = found[0] if len(found[0]) else found[1]
        return float((self.accuracy(key, labels) - base).dropna().mean())

    def gain(self, label: str, labels: str) -> str:
        """Write the difference in accuracy, as computed again."""
        return minus(100 * self.change(label, labels), 1, "+")

    def gain_and_interval(self, label: str) -> str:
        """Write what a technique gains on true labels, with its interval."""
        row = self.remedy(label, "true")
        return f"{self.gain(label, 'true')} ({minus(100 * row['change_low'], 1)} to {minus(100 * row['change_high'], 1)})"

    def gains(self, label: str) -> bool:
        """Return whether a technique is more accurate on true labels, by remedies.csv."""
        if not self.answer.worlds or label not in self.known:
            return False
        row = self.remedy(label, "true")
        return row is not None and row["kind"] == "better"

    def contrast(self, label: str) -> str:
        """Return what a technique does on both labels: both tests, Holm over the table of both."""
        answer, block = self.answer, tuple(self.block.values())
        if label not in self.known or "recorded" not in answer.by_labels:
            return ""
        if block not in answer.contrasts:
            answer.contrasts[block] = self._contrasts()
        return answer.contrasts[block].get((self.beta, *self.known[label]["key"]), "")

    def _contrasts(self) -> dict[tuple, str]:
        """Return the contrasts of its block, by β and technique."""
        frame = self.answer.remedies[self.answer.remedies["metric"] == "accuracy"]
        own = frame[(frame[BLOCK] == [self.block[name] for name in BLOCK]).all(axis=1)]
        own = own.dropna(subset=["far_change"])
        one, other = (
            own[own["labels"] == labels].set_index(["beta", *TECHNIQUE]) for labels in ("true", "recorded")
        )
        both = one.join(other.add_suffix("_r"), how="inner")
        p = np.maximum(both["p"], both["p_r"]).to_numpy(dtype=float).copy()
        p[~np.isnan(p)] = holm(p[~np.isnan(p)])
        found = {}
        for (at, row), each in zip(both.iterrows(), p, strict=True):
            words = {(True, True): "gain", (True, False): "artefact", (False, True): "hidden loss"}
            word = words.get((row["far_change"] < 0, row["far_change_r"] < 0), "real")
            constant = row["constant"] or row["constant_r"]
            found[at] = "constant" if constant else word if each < 0.05 else "not shown"
        return found

    def trades(self, label: str) -> bool:
        """Return whether a technique narrows the gap and is less accurate on true labels and recorded ones."""
        if self.kind(label) != "better":
            return False
        both = self.contrast(label)
        row = self.remedy(label, "true")
        return both == "real" or (not both and row is not None and row["kind"] == "worse")

    @property
    def lost(self) -> float:
        """What the bias costs: the plain model's accuracy on true labels less that of one without the bias."""
        if not self.biased or self.plain is None:
            return math.nan
        key, cells = self.plain["key"], self.answer.cells
        here = (cells[BLOCK[:2]] == [self.block[name] for name in BLOCK[:2]]).all(axis=1)
        same = (cells[BLOCK[4:]] == [self.block[name] for name in BLOCK[4:]]).all(axis=1)
        at = cells[here & same & (cells["include_protected"] == key[2])]
        truth = at[
            (at["intervention"] == TRUTH) & (at["world"] == self.block["world"]) & (at["beta"] == self.beta)
        ]
        plain = at[(at["intervention"] == "none") & (at["parameters"] == "{}") & (at["beta"] == 0)]
        plain = pd.concat([plain[plain["world"] == ""], plain])
        found = pd.concat([truth, plain])
        if not len(found):
            return math.nan
        one = found.iloc[0]
        other = self.accuracy(tuple(one[TECHNIQUE]), "true", (one["world"], one["beta"]))
        return float((self.accuracy(key, "true") - other).dropna().mean())

    @property
    def lost_kind(self) -> str:
        """What became of the plain model's accuracy by the bias, by remedies.csv."""
        row = None if self.plain is None else self.remedy(self.plain_name, "true")
        kind = "" if row is None else row["lost_kind"]
        return kind if isinstance(kind, str) else ""

    def _facts(self) -> pd.DataFrame | None:
        """Return the rows of worlds.csv on its world, to rules that see as much as the plain model."""
        frame = self.answer.exact
        if frame is None or not self.block["world"]:
            return None
        place = {name: self.block[name] for name in ("dataset", "attribute", "world")} | {"beta": self.beta}
        own = frame[(frame[[*place]] == [*place.values()]).all(axis=1)]
        named = own[["include_protected", "features"]].drop_duplicates()
        named = named.sort_values("features", key=lambda one: one != "true", kind="stable")
        seen = self.plain["key"][2] if self.plain else False
        named = named.sort_values("include_protected", key=lambda one: one != seen, kind="stable")
        return own.merge(named.iloc[:1], on=["include_protected", "features"]) if len(own) else None

    def exact(self) -> tuple[float, float, float] | None:
        """Return the true accuracy of Bayes' rule, of thresholds that know the truth, and of the truth."""
        own = self._facts()
        if own is None:
            return None
        right = own[(own["labels"] == "true") & own["quantity"].isin(["tp", "tn"]) & own["group"].notna()]
        sums = right.groupby("rule")["value"].sum()
        names = ("bayes", "oracle-thresholds", "truth")
        return tuple(float(sums[name]) for name in names) if all(name in sums for name in names) else None

    def kept(self) -> bool | None:
        """Return whether the ranking within both groups is kept."""
        own = self._facts()
        rows = [] if own is None else own[(own["quantity"] == "kept") & own["group"].notna()]["value"]
        return bool((rows == 1).all()) if len(rows) else None

    def blind(self) -> bool:
        """Return whether its facts are of rules that do not see the group."""
        return not self._facts()["include_protected"].astype(bool).any()

    def _of_world(self, text: str, where: str) -> str:
        """Check the sentences on its world, and take them out."""
        answer = self.answer

        def cost(match: re.Match) -> None:
            row, kind = self.remedy(self.plain_name, "true"), self.lost_kind
            sign, plus = {"worse": (-100, ""), "better": (100, "")}.get(kind, (100, "+"))
            ends = sorted(sign * row[f"lost_{end}"] for end in ("low", "high"))
            known = [minus(sign * self.lost, 1, plus), *(minus(end, 1, plus) for end in ends)]
            if math.isnan(row["lost_low"]):
                known[1:] = [None, None]
            answer.note(f"{where}: cost", [*match.groups()[1:]], known)
            words = {
                "worse": "The bias costs the plain model",
                "better": "The bias is no cost to the plain model, which gains",
                "same": "The bias is shown to change the plain model by less than 1 point, by",
                "not shown": "No cost of the bias is shown, it changes the plain model by",
                "constant": "The plain model decides the same for everybody in some repeat, the bias changes it by",
            }
            word = words.get(kind, "What the bias costs is not tested, it changes the plain model by")
            answer.note(f"{where}: whether it costs", match[1], word)

        number = r"([+−]?\d+\.\d)"
        fine = rf"(?: \({number} to {number}\))?"
        start = r"((?:The|No|What)[^.]*? bias[^.]*?)"
        text = answer.eat(text, rf"{start} {number} points of accuracy{fine}\.", cost)

        def gained(match: re.Match) -> None:
            names = [name for name in self.names if self.gains(name)]
            names.sort(key=lambda name: -self.change(name, "true"))
            known = ", ".join(f"{name} {self.gain_and_interval(name)}" for name in names)
            answer.note(f"{where}: gained", match[1], known)

        text = answer.eat(text, r"Gained on true labels: (.*?)\.(?= [A-Z]|$)", gained)

        def bayes(match: re.Match) -> None:
            known = [minus(100 * value, 1) for value in self.exact()]
            answer.note(f"{where}: Bayes", [match[i] for i in (1, 2, 3)], known)
            answer.note(f"{where}: ranking", match[4] == "kept within each group", self.kept())

        text = answer.eat(
            text,
            rf"Bayes' rule of the record is right on {N} % of the truth, with thresholds that know the truth "
            rf"on {N} %, the best thresholds of the truth on {N} %(?: \(by draws\))?; the ranking is (.*?)\.(?= [A-Z]|$)",
            bayes,
        )
        kinds = {
            "Lost on recorded labels and gained on true ones": lambda name: self.contrast(name) == "artefact",
            "Gap narrowed at a loss on true labels too": self.trades,
        }
        for what, chosen in kinds.items():
            known = [
                f"{name} (recorded {self.gain(name, 'recorded')}, true {self.gain(name, 'true')})"
                for name in (self.names if self.biased else []) if chosen(name)
            ]  # fmt: skip
            match = re.search(rf"{what}: (.*?)\.(?= [A-Z]|$)", text)
            answer.note(f"{where}: {what}", match and match[1], ", ".join(known) or None)
            text = text.replace(match[0], "") if match else text
        return re.sub(" +", " ", text).strip()

    def shown(self, label: str) -> str:
        """Write the value of a technique as sentences do."""
        return self.answer.shown(self.known[label]["value"])

    def nothing(self) -> str:
        """Return what a headline says where nothing is better, in lower case."""
        if self.plain is None:
            first = self.answer.plan["cells"]
            there = any(
                cell["intervention"] == "none" and cell["parameters"] == "{}"
                for cell in self.cells.to_dict("records")
            )
            return (
                "the plain model gave no value"
                if first and there
                else "no model without a technique to compare with"
            )
        kinds = {name: self.kind(name) for name in self.names}
        over = [name for name, kind in kinds.items() if kind == "overshoots"]
        if over:
            return f"{', '.join(over)} overshoot{'s' * (len(over) == 1)}"
        tried = {kind for kind in kinds.values() if kind != "no value"}
        if tried == {"constant"}:
            able = [name for name in self.names if name in self.known]
            some = any(sum(self.constant(name)) < self.known[name]["n"] for name in able)
            return f"every technique decides the same for everybody{' in some repeat' * some}"
        if not tried:
            return "no technique gave a value" if kinds else "the plain model alone was run"
        if len(self.known[self.plain_name]["values"]) < 2:
            return "nothing can be tested"
        p = self.tested()
        if p is None:
            shown = "no gap" not in re.search(rf"\| +{self.beta:g} \| none .*", self.answer.text)[0]
        else:
            shown = p.get((self.beta, self.plain_name), 1) < 0.05
        return "no technique is shown to narrow the gap" if shown else "no gap of the plain model is shown"

    def row(self, label: str, metric: str) -> dict | None:
        """Return the row of paired.csv of a technique."""
        paired = self._at(self.answer.paired[self.answer.paired["metric"] == metric])
        key = self.known[label]["key"]
        found = paired[(paired[["intervention", "parameters", "include_protected"]] == list(key)).all(axis=1)]
        return found.iloc[0].to_dict() if len(found) else None

    def counts(self, label: str) -> pd.DataFrame:
        """Return the counts of a technique by repeat, of all groups together."""
        rows = self._at(self.answer.groups)
        key = self.known[label]["key"]
        own = rows[(rows[["intervention", "parameters", "include_protected"]] == list(key)).all(axis=1)]
        return own.groupby("repeat")[["tn", "fp", "fn", "tp"]].sum(min_count=1).dropna()

    def to_all(self, label: str) -> str:
        """Return what a technique that decides the same for all does."""
        some = self.known[label]["n"]
        found = zip(("refuses", "accepts"), self.constant(label), strict=True)
        texts = [
            f"{verb} everybody" + f" ({n} of {self.answer.repeats} repeats)" * (n < some)
            for verb, n in found
            if n
        ]
        return " and ".join(texts)

    def constant(self, label: str) -> tuple[int, int]:
        """Return in how many repeats a technique refuses and accepts everybody."""
        counts = self.counts(label)
        return int((counts["fp"] + counts["tp"] == 0).sum()), int((counts["tn"] + counts["fn"] == 0).sum())

    def tested(self) -> dict[tuple, float] | None:
        """Return Holm's p of the test that each gap of the table is none; None where test rows are shared."""
        answer = self.answer
        if answer.source != "data" and answer.test != "network":
            return None
        ideal = 1.0 if answer.form == "times" else float(answer.shift)
        p = {}
        for beta, other in answer.settings(self.block).items():
            for label, one in other.known.items():
                apart, n = one["values"] - ideal, one["n"]
                if n < 2:
                    continue
                if np.ptp(apart) <= 1e-12:
                    p[beta, label] = float(abs(apart.mean()) <= 1e-12)
                    continue
                error = apart.std(ddof=1) * math.sqrt(1 / n + answer.ratio)
                p[beta, label] = 2 * stats.t.sf(abs(apart.mean() / error), n - 1)
        return dict(zip(p, holm(np.array(list(p.values()))), strict=True))

    def kind(self, label: str) -> str:
        """Return what became of a technique, found once."""
        if label not in self.kinds:
            self.kinds[label] = self._kind(label)
        return self.kinds[label]

    def _kind(self, label: str) -> str:
        if label not in self.known:
            return "no value"
        if any(self.constant(label)):
            return "constant"
        row = self.row(label, self.answer.metric)
        if row is None:
            return ""
        p = self.tested()
        sides = [
            np.sign(one["value"] - (1 if self.answer.form == "times" else self.answer.shift))
            for one in (self.known[label], self.plain)
        ]
        if sides[0] * sides[1] < 0:
            if p is None:  # of shared test rows: what the table says
                if re.search(rf"\| +{self.beta:g} \| {re.escape(label)} .*\| overshoots", self.answer.text):
                    return "overshoots"
            elif p.get((self.beta, label), 1) < 0.05 and p.get((self.beta, self.plain_name), 1) < 0.05:
                return "overshoots"
        verdict = row["population_verdict"]
        one, plain = (
            self.known[label],
            self.known.get(f"none{' + s' * bool(self.known[label]['key'][2])}", self.plain),
        )
        ideal = 1 if self.answer.form == "times" else self.answer.shift
        farther = abs(one["value"] - ideal) - abs(plain["value"] - ideal)
        if one["n"] == plain["n"] and farther * {"better": 1, "worse": -1}.get(verdict, 0) > 1e-12:
            verdict = "no difference"
        if isinstance(verdict, str) and verdict in ("better", "worse"):
            return verdict
        if row["population_p_same"] < 0.05:
            return "same"
        return "not shown" if isinstance(verdict, str) else "untested"

    def labels(self) -> float:
        """Return the metric of the labels of the test rows, mean over the repeats."""
        answer, block = self.answer, self.block
        source = next(
            one for one in answer.plan["datasets"]
            if (one["dataset"], one["attribute"]) == (block["dataset"], block["attribute"])
        )  # fmt: skip
        joint = {one["name"]: one["of"] for one in source.get("joint", [])}
        parts = [part for name in block["compared"].split(" × ") for part in joint.get(name, [name])]
        protected = {one["name"]: one for one in source["protected"]}
        names = list(protected)
        at = (answer.groups[["dataset", "attribute"]] == [block["dataset"], block["attribute"]]).all(axis=1)
        groups = answer.groups[at].dropna(subset=["tp"])
        if answer.about == "recorded":
            groups = groups[(groups["world"] == block["world"]) & (groups["beta"] == self.beta)]
        groups = groups[groups.groupby("repeat").cumcount() < groups["group"].nunique()]
        levels = groups["group"].str.split(" × ", regex=False)
        favoured = np.array(
            [
                all(level[names.index(part)] in protected[part]["favoured"] for part in parts)
                for level in levels
            ]
        )
        rate = {}
        for side, name in ((favoured, "f"), (~favoured, "d")):
            sums = groups[side].groupby("repeat")[["tn", "fp", "fn", "tp"]].sum()
            rate[name] = (sums["fn"] + sums["tp"]) / sums.sum(axis=1)
        if answer.form == "times":
            return float((rate["d"] / rate["f"]).mean())
        return float(answer.sign * (rate["d"] - rate["f"]).mean() + answer.shift)

    # Its sentences -----------------------------------------------------------------------------------------

    def check(self, text: str, groups: list[str] | None, where: str, *, whole: bool = False) -> None:
        """Take the text on the setting apart."""
        answer = self.answer
        if answer.worlds:
            text = self._of_world(text, where)
        text = self._gap(text, groups, where)
        regions = {
            "Best: ": {"better"}, "On the front: ": {"better"}, "Also narrower: ": {"better"},
            "Widened by: ": {"worse"}, "Shown to change less than (?:1 point|0.01): ": {"same"},
            "No change shown: ": {"not shown"}, "Not tested: ": {"untested"},
        }  # fmt: skip
        said = Counter()
        labels = sorted(self.known, key=len, reverse=True)
        names = "|".join(map(re.escape, labels)) or "(?!)"
        for start, kinds in regions.items():
            for match in re.finditer(rf"{start}(.*?)(?=\.(?: [A-Za-z]|$))", text):
                for label in re.findall(rf"(?:^|(?<=[, ]))({names})(?=[ ,;]|$)", match[1]):
                    said[label] += 1
                    answer.note(f"{where}, {label}", self.kind(label) in kinds, True)
        for match in re.finditer(r"(?:^|\. )((?:[^.]|\.\d)*?) narrow it; none of them", text):
            for label in re.findall(rf"({names})(?= \()", match[1]):
                said[label] += 1
                answer.note(f"{where}, {label}", self.kind(label), "better")
        for match in re.finditer(rf"({names})[^.]*? overshoots?\b", text):
            answer.note(f"{where}, {match[1]}", self.kind(match[1]), "overshoots")

        def left(match: re.Match) -> None:
            label, none, size, way, cost, word, n, of = match.groups()
            one = self.known[label]
            plain = self.known.get(f"none{' + s' * bool(one['key'][2])}", self.plain)
            turned = answer.form == "points" and answer.side(one["value"]) * answer.side(plain["value"]) < 0
            answer.note(
                f"{where}, {label}: left",
                (size, way == " the other way"),
                (answer.shown(one["value"]), turned),
            )
            p = self.tested()
            if p is not None and way != "" and self.kind(label) == "better":
                answer.note(
                    f"{where}, {label}: no gap", none is not None, p.get((self.beta, label), 1) >= 0.05
                )
            row = self.row(label, "accuracy")
            if cost is not None:
                answer.note(f"{where}, {label}: accuracy", cost, minus(100 * row["difference"], 1, "+"))
                shown = row["population_verdict"] in ("better", "worse")
                same = not shown and row["population_p_same"] < 0.05
                known = None if shown else ", no change" if same else ", not shown"
                answer.note(f"{where}, {label}: cost", word if word != ", not tested" else known, known)
            if n is not None:
                answer.note(f"{where}, {label}: repeats", (int(n), int(of)), (one["n"], answer.repeats))

        text = answer.eat(text, rf"({names}) \({LEFT}(?:, (\d+) of (\d+) repeats)?\)", left)
        text = answer.eat(text, rf"(?<=Best: )({names}), {LEFT}(?:, (\d+) of (\d+) repeats)?", left)

        def same(match: re.Match) -> None:
            label = match[1] if match[1] != "The plain model itself" else self.plain_name
            known = self.constant(label)
            of = {"refuses": 0, "accepts": 0} | {
                verb: int(n)
                for verb, n, _ in re.findall(r"(refuses|accepts) everybody \((\d+) of (\d+)", match[0])
            }
            answer.note(f"{where}, {label}: for all", tuple(of.values()), known)
            said[label] += 1

        does = r"(?:refuses|accepts) everybody \(\d+ of \d+ repeats\)"
        text = answer.eat(text, rf"({names}|The plain model itself) {does}(?: and {does})?", same)

        def nothing(match: re.Match) -> None:
            rows = self._at(answer.groups)
            lacking = [name for name in self.names if name not in self.known]
            bare = [re.split(r" [(+]", name)[0] for name in lacking]
            answer.note(f"{where}: without a value", all(name in match[1] for name in bare), True)
            if match[3]:
                tried = rows[rows["intervention"].isin(bare)]
                tried = tried[~tried["status"].isin(("ok", "degraded"))]
                times = tried.drop_duplicates([*CELL, "repeat"]).groupby(CELL).size()
                answer.note(f"{where}: repeats without a value", int(match[3]) in set(times), True)
            for name in lacking:
                said[name] += 1

        text = answer.eat(
            text,
            r"([^.:;]+(?:\([^()]*\)[^.:;]*)*): (not possible|failed|undefined \(0/0\)|not run yet)(?: in (\d+) of \d+ repeats, [^.;]*)?",
            nothing,
        )

        def value(match: re.Match) -> None:
            answer.note(f"{where}, {match[1]}: value", match[2], answer.shown(self.known[match[1]]["value"]))
            if match[3]:
                answer.note(
                    f"{where}, {match[1]}: accuracy",
                    match[3],
                    f"{100 * self.known[match[1]]['accuracy']:.1f}",
                )
            said[match[1]] += 1

        text = answer.eat(
            text,
            rf"({names}) (−?{N[1:-1]})(?: points \w+ often| times as often| points)?(?:, accuracy {N} %)?",
            value,
        )
        text = answer.eat(
            text, rf"But next to ({names}) ([^.]*(?:\.\d[^.]*)*)", lambda match: self._below(match, where)
        )
        text = re.sub(r"less than (?:1 point|0\.01)", "", text)
        for label in labels:
            text = text.replace(label, "")
        answer.leftover(text, where)
        if whole and self.plain is not None:
            for name in self.names:
                if self.kind(name) not in ("overshoots", "no value", ""):
                    answer.note(f"{where}, {name}: said how often", said[name], 1)

    def _gap(self, text: str, groups: list[str] | None, where: str) -> str:
        answer = self.answer

        def gap(match: re.Match) -> None:
            if groups is not None:
                answer.note(f"{where}: groups", (match[2].lower(), match[5]), (groups[0].lower(), groups[1]))
            known = self.plain["value"]
            size = match[3] or match[6]
            answer.note(f"{where}: gap", size, answer.shown(known))
            if answer.form == "points":
                way = {"less": -1, "more": 1}.get(match[4] or "", 0)
                answer.note(f"{where}: way", way, answer.side(known))
            p = self.tested()
            if p is not None:
                shown = p.get((self.beta, self.plain_name), 1) < 0.05
                answer.note(f"{where}: gap shown", match[1] is None, shown)

        start = r"^([Nn]o gap is shown: |[Nn]o gap, shown to be less than (?:1 point|0\.01): )?"
        if answer.form == "points" and "as often as" in text.split("(labels")[0]:
            text = answer.eat(
                text, rf"{start}(.*?) are [a-z ]*?as()() often as ([^.(]*?) \((0\.0) points apart\)", gap
            )
        elif answer.form == "number":
            text = answer.eat(
                text,
                rf"{start}of (.*?) against ([^.(]*?), {answer.metric} is (−?{N[1:-1]})",
                lambda match: answer.note(f"{where}: gap", match[4], answer.shown(self.plain["value"])),
            )
        else:
            text = answer.eat(
                text,
                rf"{start}(.*?) are [a-z ]*?{N} (?:points (less|more) often than|times as often as) ([^.(]*?)()(?= \(labels|\.|$)",
                gap,
            )

        def labels(match: re.Match) -> None:
            known = self.labels()
            answer.note(f"{where}: labels", match[1], answer.shown(known))
            if match[2] and answer.form == "points":
                way = {"less": -1, "more": 1}.get(match[2], 0)
                answer.note(f"{where}: way of the labels", way, answer.side(known))
            elif self.plain is not None and answer.form == "points":
                answer.note(
                    f"{where}: labels on the same side", answer.side(known), answer.side(self.plain["value"])
                )

        return answer.eat(
            text, rf" \(labels: {N}(?: points)?(?: (less|more|times|as) ?(?:as )?often)?\)", labels
        )

    def _below(self, match: re.Match, where: str) -> None:
        answer, label = self.answer, match[1]
        key, known = self.known[label]["key"], set()
        for frame, columns in (
            (answer.short, ("constant_difference", "difference", "share")),
            (answer.moved, ("chosen_difference",)),
        ):
            if frame is None:
                continue
            rows = self._at(frame)
            rows = rows[(rows[["intervention", "parameters", "include_protected"]] == list(key)).all(axis=1)]
            known |= {
                f"{abs(100 * row[column]):.1f}" for row in rows.to_dict("records") for column in columns
            }
        answer.note(
            f"{where}, {label}: below", [one for one in re.findall(N[1:-1], match[2]) if one not in known], []
        )


class Rounded(str):
    """A number as it is written; `near` knows where a sum in another order may round the other way."""

    exact: float
    digits: int

    def near(self, said: str) -> bool:
        """Return whether another text is a rounding of the number, but for what floats are off."""
        try:
            other = float(said.replace("−", "-"))
        except ValueError:
            return False
        return abs(other - self.exact) <= 0.5 * 10**-self.digits + 1e-9


def minus(value: float, digits: int, plus: str = "") -> str:
    """Write a number with a real minus, and no sign where it rounds to 0."""
    text = f"{abs(value):.{digits}f}"
    found = Rounded(text if not float(text) else ("−" if value < 0 else plus) + text)
    found.exact, found.digits = value, digits
    return found


if __name__ == "__main__":
    for given in sys.argv[1:]:
        found = Answer(Path(given)).check()
        line = f"{given}: {found.numbers} numbers and words computed again, {len(found.wrong)} wrong"
        sys.stdout.write("\n".join([line, *found.wrong[:40], ""]))
