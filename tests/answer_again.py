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
LIMIT = (
    r"(?:not even the largest possible (?P<none>narrowing|gap) could be|a measured (?P<noun>narrowing|gap) "
    r"below (?P<low>[\d.]+)(?: to (?P<high>[\d.]+))?(?: points)? could not be)"
)


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
        """The cells of the plan of which some repeat was run: of the others one line speaks."""
        cells = pd.DataFrame([{"world": ""} | cell for cell in self.plan["cells"]])
        names = [name for name in (*BLOCK, "beta", *TECHNIQUE) if name in cells]
        return cells.merge(self.results[names].drop_duplicates(), on=names)

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
        """Check headline, small tables and sections."""
        parts = re.split(r"\n\n(?=## )", self.text)
        head = parts[0].split("\n\n")
        sections = [part for part in parts[1:] if not part.startswith("## Why believe it?")]
        sections[-1:] = [sections[-1].split("\n\n* ")[0]] if sections else []
        self.note("number of sections", len(sections), len(self.blocks))
        for block, section in zip(self.blocks, sections, strict=True):
            self._section(block, section)
        self._small_tables(head[2:])
        headline, detail = re.fullmatch(r"\*\*(.*?)\*\* ?(.*)", head[1]).groups()
        short = re.sub(r" \([0-9 to]+ of \d+ repeats\)", "", headline).replace("β = ", "")
        assert len(short.split()) <= 32, headline
        self._detail(detail)
        self._headline(headline)
        return self

    def _section(self, block: dict, text: str) -> None:
        settings = self.settings(block)
        title, *paragraphs = text.split("\n\n")
        assert title.startswith(f"## {block['dataset']}"), (title, block)
        groups = title.rpartition(": ")[2].split(" against ", 1)
        sentences = [one for one in paragraphs if not one.startswith("|")]
        self.note(f"{title}: settings", len(sentences), len(settings))
        for (beta, setting), sentence in zip(settings.items(), sentences, strict=True):
            rest = sentence.removeprefix(f"β = {beta:g}: ")
            setting.check(rest, groups, f"{title}, β = {beta:g}")
        for table in (one for one in paragraphs if one.startswith("|")):
            self._table(settings, table, title)

    def _small_tables(self, paragraphs: list[str]) -> None:
        """Check the small tables, one for each block that there is room for, and how many are left out."""
        captions = [one for one in paragraphs if not one.startswith(("|", "* "))]
        tables = [one for one in paragraphs if one.startswith("|")]
        self.note("small tables", len(captions), len(tables))
        blocks = self.blocks
        if self.worlds:
            blocks = [block for block in blocks if any(one.biased for one in self.settings(block).values())]
        n_settings = sum(len(self.settings(block)) for block in self.blocks)
        more = re.search(r"And ([\d,]+) more settings?: they are below\.", "\n".join(paragraphs))
        left_out = int(more[1].replace(",", "")) if more else 0
        self.note("settings that are left out", left_out, n_settings - len(tables))
        for block, caption, table in zip(blocks, captions, tables, strict=False):
            settings = self.settings(block)
            if self.worlds:
                settings = {beta: one for beta, one in settings.items() if one.biased}
            setting = settings[_main(settings)]
            where = f"small table, {caption}"
            self.note(f"{where}: data set", caption.startswith(block["dataset"]), True)
            beta = re.search(r", β = ([\d.]+): ", caption)
            if beta:
                self.note(f"{where}: β", float(beta[1]), setting.beta)
            else:
                self.note(f"{where}: without β", {one.beta for one in self._every()}, {0.0})
            self._small_table(setting, table, where)
            rest = caption.rstrip(":").replace(block["dataset"], "", 1)
            rest = re.sub(r" \(.*?\)(?=[:,])", "", re.sub(r", β = [\d.]+", "", rest), count=1)
            if self.worlds:
                rest = setting.check_cost(rest, where)
            else:
                rest = setting.check_labels(rest, where)
            self.leftover(rest.rpartition(": ")[0], where)

    def _every(self) -> list["Setting"]:
        return [one for block in self.blocks for one in self.settings(block).values()]

    def _small_table(self, setting: "Setting", text: str, where: str) -> None:
        """Check each row of a small table: numbers from results.csv and paired.csv, words from the kinds."""
        _, _, *lines = text.strip().split("\n")
        seen = []
        for line in lines:
            technique, *numbers, result = [one.strip() for one in line.split("|")[1:-1]]
            if re.fullmatch(r"\d+ others|all \d+", technique):
                silent = [name for name in setting.names if self._small_result(setting, name) == "not shown"]
                self.note(f"{where}: others", int(re.search(r"\d+", technique)[0]), len(silent))
                seen += silent
                continue
            seen.append(technique)
            n = re.search(r" ?\((\d+) of (\d+)\)$", result)
            if n:
                result = result.removesuffix(n[0])
                self.note(f"{where}, {technique}: repeats", int(n[2]), self.repeats)
            self.note(f"{where}, {technique}: result", result, self._small_result(setting, technique))
            if self.worlds:
                known = setting.world_numbers(technique)
            else:
                known = setting.small_numbers(technique)
            for said, number in zip(numbers, known, strict=True):
                self.note(f"{where}, {technique}", said, number)
        plains = [name for name in setting.known if name.startswith("none")] if not self.worlds else []
        for name in setting.names:
            self.note(f"{where}, {name}: rows", seen.count(name), 1)
        self.note(f"{where}: without a technique", [name for name in seen if name in plains], plains)

    def _small_result(self, setting: "Setting", technique: str) -> str:
        """Return the word of a small table."""
        kind = setting.kind(technique)
        if kind == "no value":
            return setting.why_nothing(technique)
        if kind == "constant":
            verbs = zip(("refuses all", "accepts all"), setting.constant(technique), strict=True)
            return " and ".join(verb for verb, n in verbs if n)
        if technique not in setting.names:
            return setting.plain_result(technique)
        if self.worlds:
            if setting.contrast(technique) == "artefact":
                return "artefact"
            if setting.trades(technique):
                return "trade-off"
            row = setting.remedy(technique, "true")
            own = row["kind"] if row is not None and isinstance(row["kind"], str) else ""
            words = {"better": "gains", "worse": "loses", "same": "the same", "moved": "moves it"}
            return (words | {"untested": "not tested"}).get(own, own)
        return self._word(setting, technique)[0]

    def _word(self, setting: "Setting", technique: str) -> tuple[str, str]:
        """Return the word on a change and the words, by its kind; a trivial one is hardly one."""
        kind = setting.kind(technique)
        short, long = WORDS.get(kind, (kind, kind))
        if kind in ("better", "worse") and setting.trivial(technique):
            return f"hardly {short}", f"hardly {long}"
        row = setting.row(technique, self.metric)
        if kind == "not shown" and (row["population_low"] > 0 or row["population_high"] < 0):
            p = f"{math.ceil(round(100 * row['population_difference_p_holm'], 6)) / 100:.2f}".removeprefix(
                "0"
            )
            return f"{short} (p {p})", f"{long} (p {p} among {int(row['population_tests'])})"
        if kind == "moved" and row["distance_difference"] >= 0:
            long = long.replace("smaller", "larger")
        return short, long

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
            if heads[0] != "β":  # a run without
                cells.insert(0, "0")
            beta, technique, gap, change, accuracy, cost, *_, what = cells
            others = [cells[j + (heads[0] != "β")] for j in on_others]
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
            if technique in setting.names:
                known = self._word(setting, technique)[1]
                known = re.sub(r"no change shown \(p .* among \d+\)", "not shown", known)  # as short
                if setting.kind(technique) == "constant":
                    known = "constant"
                word = "constant" if "everybody" in what else re.split(r"[,(]", what)[0].strip()
                self.note(f"{where}, {technique}: kind", word, known)
                front = "not beaten on both gap and accuracy" in what
                if front:
                    self.note(f"{where}, {technique}: front", setting.narrows(technique), True)

    def _main_settings(self) -> dict[str, list["Setting"]]:
        """Return the setting of each block that is spoken of first, by data set."""
        main: dict[str, list[Setting]] = {}
        for block in self.blocks:
            settings = self.settings(block)
            main.setdefault(block["dataset"], []).append(settings[_main(settings)])
        return main

    def _limit(self, match: re.Match, settings: list["Setting"]) -> None:
        """Check below which size nothing could have been shown."""
        said = [float(end) for end in (match["low"], match["high"] or match["low"]) if end]
        for setting in settings:
            known = setting.limits(match["noun"] or match["none"])
            self.note(f"headline: {match[0]}", known is None or said in known, True)

    def _detail(self, text: str) -> None:
        """Check the rule by which a headline names techniques, their intervals, and what could not be shown."""
        main = self._main_settings()
        sets = "|".join(map(re.escape, sorted(main, key=len, reverse=True)))
        place = rf"(?:{sets})(?: \([^()]*\))?"

        def limit(match: re.Match) -> None:
            named = re.findall(rf"({sets})(?: \([^()]*\))?", match["places"])
            some = [
                one
                for name in named
                for one in main[name]
                if one.limits(match["noun"] or match["none"]) is not None
            ]
            self._limit(match, some if len(some) == len(named) else [])

        text = self.eat(
            text, rf"On (?P<places>{place}(?:, {place})*(?: and {place})?) {LIMIT} shown\.", limit
        )
        number = r"[−+]?\d+\.\d+"

        def interval(match: re.Match) -> None:
            known = [one.choice() for one in main[match["set"]]]
            self.note(f"headline: {match[0]}", any(one in (None, match["numbers"]) for one in known), True)

        text = self.eat(
            text,
            rf"(?P<set>{sets})(?: \([^()]*\))? (?P<numbers>{number} \[{number}, {number}\])[,.]",
            interval,
        )
        self.leftover(text.replace("95 %", ""), "headline")

    def _headline(self, text: str) -> None:
        """Check the sentence that answers the run: each clause of it, and that nothing is left over."""
        done = self.results[~self.results["status"].isin(["failed", "killed", "overtime", "memory"])]
        cells = [*BLOCK, "beta", *TECHNIQUE]
        n_done = done.drop_duplicates([*cells, "repeat"]).groupby(cells).size()
        ends = dict.fromkeys((n_done.min(), n_done.max()))
        there = (
            f" ({' to '.join(map(str, ends))} of {self.repeats} repeats)."
            if min(ends) < self.repeats
            else "."
        )
        self.note(
            "headline: repeats", text.endswith(there) and ("repeats)" in text) == ("repeats)" in there), True
        )
        text = f"{text.removesuffix(there)}."
        every = self._every()
        tried = [one for one in every if one.plain is not None]
        if self.worlds and self.about == "true":
            self._headline_of_worlds(text)
            return
        if self.about == "recorded":
            start = "On recorded labels, not on true ones: "
            self.note("headline: which labels", text.startswith(start), True)
            text = text.removeprefix(start)
            text = text[0].upper() + text[1:]
        narrowed = [one for one in tried if any(map(one.narrows, one.names))]

        def counted(match: re.Match) -> None:
            often = Counter(name for one in narrowed for name in one.names if one.narrows(name))
            self.note("headline: settings", (int(match[1]), int(match[2])), (len(narrowed), len(tried)))
            if match[3]:
                self.note("headline: most often", (match[3], int(match[4])), often.most_common(1)[0])

        text = self.eat(
            text,
            r"In (\d+) of (\d+) settings(?: run \(of \d+\))? on .*? a technique narrows the gap beyond chance"
            r"(?:, most often (.*?) \((\d+)\))?\.",
            counted,
        )
        text = self.eat(
            text, r"No technique is shown to narrow the gap, in any of (\d+) settings(?: run \(of \d+\))? on .*\.",
            lambda match: self.note("headline: none", (int(match[1]), 0), (len(tried), len(narrowed))),
        )  # fmt: skip
        text = self.eat(
            text, r"No model without a technique gave a value, so nothing can be said of techniques\.",
            lambda _: self.note("headline: nothing", len(tried), 0),
        )  # fmt: skip
        main = self._main_settings()
        every_main = [one for own in main.values() for one in own]
        beta = re.match(r"At β = ([\d.]+) ", text)
        if text.strip():
            known = {one.beta for one in every_main}
            above = len(known) == 1 and any(one.beta for one in every)
            self.note("headline: β", beta and float(beta[1]), known.pop() if above else None)
        text = text.removeprefix(beta[0] if beta else "")
        n_named = 0
        for clause in filter(None, text.strip().rstrip(".").split("; ")):
            n_named += self._headline_clause(clause, main)
        if text.strip():
            self.note("headline: settings that are named", n_named, len(self.blocks))

    def _headline_clause(self, clause: str, main: dict) -> int:
        """Check what a clause says of the settings that it names; return how many these are."""
        sets = "|".join(map(re.escape, sorted(main, key=len, reverse=True)))
        place = rf"(?:{sets})(?: \([^()]*\))?"
        places = rf"(?P<places>{place}(?:, {place})*(?: and {place})?)"
        match = re.fullmatch(rf"[Oo]n {places} (?P<rest>.*)", clause)
        if match and not re.search(r" (?:cuts|narrows) the gap .*from ", clause):
            named = re.findall(rf"({sets})(?: \([^()]*\))?", match["places"])
            said = re.sub(r"the gap between .*? and .*?(?= round$|$)", "the gap", match["rest"])
            said = re.sub("nothing is shown ?$", "nothing is shown to narrow the gap", said.strip())
            for name in named:
                self.note(f"headline: {said}", said in {one.nothing() for one in main[name]}, True)
            return len(named)
        match = re.fullmatch(rf"[Aa] technique narrows the gap on {places}", clause)
        if match:
            named = re.findall(rf"({sets})(?: \([^()]*\))?", match["places"])
            for name in named:
                found = any(one.narrows(other) for one in main[name] for other in one.names)
                self.note(f"headline: narrower on {name}", found, True)
            return len(named)
        names = "|".join(map(re.escape, sorted(set(self.labels.values()), key=len, reverse=True)))
        number = r"−?\d+(?:\.\d+)?"
        pattern = (
            rf"(?:(?P<who>(?i:{names}))\b ?)?(?:(?:cuts|narrows) the gap(?: between .*? and .*?)?(?= on | from ) ?)?"
            rf"(?:on (?P<set>{sets})(?: \([^()]*\))? )?from (?P<before>{number})(?: points| times)? to "
            rf"(?P<after>{number}|about (?:zero|equal))(?: points(?: the other way)?| times)?(?P<cost> and (?:costs|gains) {N} points of accuracy"
            r"| at the same accuracy| at no cost in accuracy that is shown"
            r"| \((?:accuracy )?[−+]\d+\.\d\))?(?:, |$)"
        )
        n_named = 0
        who = ""
        while clause:
            match = re.match(pattern, clause)
            if match is None:
                self.wrong.append(f"headline: not computed again: {clause!r}")
                break
            who = match["who"] or who
            settings = main[match["set"]] if match["set"] else [one for own in main.values() for one in own]
            self.note(f"headline: {match[0]}", any(one.says(who, match) for one in settings), True)
            clause = clause[match.end() :]
            n_named += 1
        return n_named

    def _headline_of_worlds(self, headline: str) -> None:
        """Check the sentence on worlds."""
        every = self._every()
        biased = [one for one in every if one.biased and one.plain is not None]
        if not biased:
            self.note("headline: no bias", "nothing can be said of" in headline, True)
            return
        took = any(one.lost_kind for one in biased)
        found = [
            one for one in biased
            if any(map(one.gains, one.names)) and (one.lost_kind == "worse" or not took)
        ]  # fmt: skip
        artefact = [one for one in biased if any(one.contrast(name) == "artefact" for name in one.names)]
        often = Counter(name for one in found for name in one.names if one.gains(name))
        what = "regain{} accuracy that the bias took" if took else "gain{} accuracy on true labels"
        if not found:
            some = rf"No technique is shown to {what.format('')}, in any of (\d+) settings?\."
            match = re.fullmatch(some, headline)
            self.note("headline: none", match and int(match[1]), len(biased))
            return
        ending = r"(; (?:in (\d+) )?the recorded trade-off is an artefact)?\."
        if len(biased) == 1:
            match = re.fullmatch(
                rf"Under (.*?) (\S+(?: \(.*?\))?(?: \+ s)?) {what.format('s')}{ending}", headline
            )
            assert match, headline
            self.note("headline: who", match[2], often.most_common(1)[0][0])
            self.note("headline: artefact", bool(match[3]), bool(artefact))
            return
        start = rf"In (\d+) of (\d+) settings a technique {what.format('s')}"
        match = re.fullmatch(rf"{start}(?:, most often (.*?) \((\d+)\))?{ending}", headline)
        assert match, headline
        self.note("headline: settings", (int(match[1]), int(match[2])), (len(found), len(biased)))
        if match[3]:
            self.note("headline: most often", (match[3], int(match[4])), often.most_common(1)[0])
        if match[5]:
            self.note("headline: artefacts", int(match[6]), len(artefact))


WORDS = {
    "better": ("narrows", "narrows the gap"),
    "worse": ("widens", "widens the gap"),
    "overshoots": ("turns round", "turns the gap round"),
    "same": ("the same", "leaves the gap the same"),
    "moved": ("moves it", "moves the gap; that it is smaller is not shown"),
    "not shown": ("not shown", "no change shown"),
    "untested": ("not tested", "not tested"),
}


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

    def check_cost(self, text: str, where: str) -> str:
        """Check what is said of the cost of the bias, and take it out."""
        answer = self.answer
        number = r"(−?\d+\.\d)"
        starts = {
            "worse": "the bias costs accuracy",
            "better": "the bias costs nothing, accuracy is higher with it",
            "same": "with the bias accuracy is the same",
            "not shown": "no cost of the bias is shown, accuracy",
            "constant": "the model without a technique decides the same for everybody in some repeat, accuracy",
        }
        untested = "what the bias costs is not tested, accuracy"
        words = "|".join([*starts.values(), untested])
        match = re.search(rf"(?:; )?((?i:{words})): {number} points(?: \({number} to {number}\))?\.?", text)
        answer.note(f"{where}: cost is said", match is not None, not math.isnan(self.lost))
        if match is None:
            return text
        row = self.remedy(self.plain_name, "true")
        known = [minus(100 * self.lost, 1)]
        if math.isnan(row["lost_low"]):
            known += [None, None]
        else:
            known += [minus(100 * row[f"lost_{end}"], 1) for end in ("low", "high")]
        answer.note(f"{where}: whether it costs", match[1].lower(), starts.get(self.lost_kind, untested))
        for said, value in zip(match.groups()[1:], known, strict=True):
            answer.note(f"{where}: cost", said, value)
        return text.replace(match[0], "")

    def world_numbers(self, label: str) -> list[str]:
        """Return the numbers of a small table of a world: both changes, and what was regained."""
        if label not in self.known:
            return ["–"] * 3
        found = []
        for labels in ("true", "recorded"):
            row = self.remedy(label, labels)
            text = "–"
            if row is not None and not math.isnan(row["change"]):
                text = self.gain(label, labels)
                if labels == "true" and not math.isnan(row["change_low"]):
                    text += f" [{minus(100 * row['change_low'], 1)}, {minus(100 * row['change_high'], 1)}]"
            found.append(text)
        regained = "–"
        if self.lost_kind == "worse" and self.gains(label):
            regained = f"{minus(100 * self.change(label, 'true'), 1)} of {minus(-100 * self.lost, 1)}"
        return [*found, regained]

    def small_numbers(self, label: str) -> list[str]:
        """Return the numbers of a small table: gap, its change, accuracy, its change."""
        answer = self.answer
        if label not in self.known:
            return ["–"] * 4
        one = self.known[label]
        points = 100 if answer.form == "points" else 1
        digits = {"points": 1, "times": 2, "number": 3}[answer.form]
        gap = minus(points * (one["value"] - answer.shift), digits)
        changes = []
        for metric, unit, places, is_fine in (
            (answer.metric, points, digits, True),
            ("accuracy", 100, 1, False),
        ):
            row = self.row(label, metric)
            if row is None or math.isnan(row["difference"]):
                changes.append("–")
                continue
            text = minus(unit * row["difference"], places, "+")
            ends = sorted(unit * row[f"population_{end}"] for end in ("low", "high"))
            if is_fine and not math.isnan(ends[0]):
                text += f" [{minus(ends[0], places)}, {minus(ends[1], places)}]"
            changes.append(text)
        accuracy = "–" if math.isnan(one["accuracy"]) else minus(100 * one["accuracy"], 1)
        return [gap, changes[0], accuracy, changes[1]]

    def trivial(self, label: str) -> bool:
        """Return whether a change is shown to be less than .01, or is less than a tenth of the gap."""
        row = self.row(label, self.answer.metric)
        ideal = 1 if self.answer.form == "times" else self.answer.shift
        gap = abs(self.known[label]["value"] - row["difference"] - ideal)
        return row["population_p_same"] < 0.05 or abs(row["difference"]) < gap / 10

    def narrows(self, label: str) -> bool:
        """Return whether a technique narrows the gap, and not hardly."""
        return self.kind(label) == "better" and not self.trivial(label)

    def says(self, label: str, match: re.Match) -> bool:
        """Return whether a clause of a headline is so of a technique: gap before and after, cost, narrower."""
        names = {name.lower(): name for name in self.names}
        if label.lower() not in names or not self.narrows(names[label.lower()]):
            return False
        label = names[label.lower()]
        if label != self.leader:
            return False
        answer, one = self.answer, self.known[label]
        plain = self.known.get(f"none{' + s' * bool(one['key'][2])}", self.plain)
        before = plain["value"]
        if one["n"] < plain["n"]:  # of the repeats that both have
            before = one["value"] - self.row(label, answer.metric)["difference"]
        numbers = [(match["before"], before)]
        if match["after"].startswith("about"):
            p = self.tested()
            if p is not None and p.get((self.beta, label), 1) < 0.05:
                return False
            ideal = 1 if answer.form == "times" else answer.shift
            if abs(one["value"] - ideal) >= abs(before - ideal) / 4:
                return False
        else:
            numbers.append((match["after"], one["value"]))
        for said, value in numbers:
            rounded = f"{abs(100 * (value - answer.shift)):.0f}" if answer.form == "points" else ""
            if said not in (rounded, answer.shown(value)):
                return False
        row, cost = self.row(label, "accuracy"), match["cost"]
        if cost is None:
            return True
        verdict, size = row["population_verdict"], f"{abs(100 * row['difference']):.1f}"
        if "(" in cost:
            signed = minus(100 * row["difference"], 1, "+")
            return verdict in ("better", "worse") and cost.strip(" ()").removeprefix("accuracy ") == signed
        if verdict in ("better", "worse"):
            return cost == f" and {'costs' if verdict == 'worse' else 'gains'} {size} points of accuracy"
        same = row["population_p_same"] < 0.05
        return cost == (" at the same accuracy" if same else " at no cost in accuracy that is shown")

    @property
    def leader(self) -> str:
        """Who leaves the smallest gap of those that narrow it."""
        ideal = 1 if self.answer.form == "times" else self.answer.shift
        able = [name for name in self.names if self.narrows(name)]
        return min(able, key=lambda name: abs(self.known[name]["value"] - ideal), default="")

    def choice(self) -> str | None:
        """Return the leader's change with its interval for the choice; None where rows are shared."""
        row = self.row(self.leader, self.answer.metric)
        if row["population_basis"] not in ("fresh test rows", "random splits"):
            return None
        count = sum(name in self.known for name in self.names)
        quantiles = stats.t.isf([0.025 / count, 0.025], row["n"] - 1)
        factor = quantiles[0] / quantiles[1]
        unit, digits = {"points": (100, 1), "times": (1, 2), "number": (1, 3)}[self.answer.form]
        mean = row["difference"]
        ends = (mean + factor * (row[f"population_{end}"] - mean) for end in ("low", "high"))
        low, high = (minus(unit * end, digits) for end in ends)
        return f"{minus(unit * mean, digits, '+')} [{low}, {high}]"

    def limits(self, noun: str) -> list[list[float]] | None:
        """Return the least sizes that could be shown, rounded down; None where test rows are shared.

        By Holm's rule the level is divided by the tests of the family that do not reject.
        """
        answer = self.answer
        if answer.source != "data" and answer.test != "network":
            return None
        ideal = 1.0 if answer.form == "times" else float(answer.shift)
        base = np.abs(self.plain["values"] - ideal)
        largest = abs(self.plain["values"].mean() - ideal)
        if noun == "gap":
            largest = {"points": 1.0}.get(answer.form, math.inf)
            p = np.array(list(self.tested().values()))
            apart = [self.plain["values"]]
        else:
            family = answer.paired[answer.paired["metric"] == answer.metric]
            family = family[(family[BLOCK] == [self.block[name] for name in BLOCK]).all(axis=1)]
            p = family["population_p_holm"].dropna().to_numpy()
            able = [name for name in self.names if self.kind(name) in ("not shown", "moved")]
            apart = [np.abs(self.known[name]["values"] - ideal) - base for name in able]
        level, sizes = 0.025 / max((p >= 0.05).sum(), 1), []
        for one in apart:
            error = one.std(ddof=1) * math.sqrt(1 / len(one) + answer.ratio)
            sizes.append(min(stats.t.isf(level, len(one) - 1) * error, largest))
        if min(sizes) == largest:
            return [[]]
        unit, digits = {"points": (100, 1), "times": (1, 2), "number": (1, 3)}[answer.form]
        near = []
        for slip in (-1e-9, 1e-9):
            near.append(
                [
                    math.floor((unit * size + slip) * 10**digits) / 10**digits
                    for size in (min(sizes), max(sizes))
                ]
            )
        return near

    def plain_result(self, label: str) -> str:
        """Return what is said of a model without a technique: whether it has a gap that is shown."""
        if self.known[label]["n"] < 2:
            return "not tested"
        p = self.tested()
        if p is None:
            found = re.search(
                rf"\| +(?:{self.beta:g} +\| )?{re.escape(label)} +\|.*\| +(.*?) +\|\n", self.answer.text
            )
            return "no gap shown" if found and "no gap shown" in found[0] else ""
        return "" if p.get((self.beta, label), 1) < 0.05 else "no gap shown"

    def why_nothing(self, label: str) -> str:
        """Return why a technique has no value, from the statuses of groups.csv."""
        rows = self._at(self.answer.groups)
        name = re.split(r" [(+]", label)[0]
        statuses = set(rows[rows["intervention"] == name]["status"]) - {"ok", "degraded"}
        if not statuses:
            return "not run yet"
        words = {"infeasible": "not possible"}
        return words.get(min(statuses), min(statuses))

    def _of_world(self, text: str, where: str) -> str:
        """Check the sentences on its world, and take them out."""
        answer = self.answer
        if self.biased:
            text = self.check_cost(text, where)

        def bayes(match: re.Match) -> None:
            known = [minus(100 * value, 1) for value in self.exact()]
            answer.note(f"{where}: Bayes", [match[i] for i in (1, 2, 3)], known)
            answer.note(f"{where}: ranking", match[4] == "kept within each group", self.kept())

        text = answer.eat(
            text,
            rf"Known without training: the rule of the record is right on {N} % of the truth, with the best thresholds "
            rf"on {N} %, the best possible on {N} %(?: \(by draws\))?; the record's ranking is (.*?)\.(?= [A-Z]|$)",
            bayes,
        )
        kinds = {"Artefact": lambda name: self.contrast(name) == "artefact", "Trade-off": self.trades}
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
                "there is no result of the model without a technique"
                if first and there
                else "there is no model without a technique to compare with"
            )
        kinds = {name: self.kind(name) for name in self.names}
        over = [name for name, kind in kinds.items() if kind == "overshoots"]
        if over:
            more = f" and {len(over) - 3} more" * (len(over) > 3)
            return f"{', '.join(over[:3])}{more} turn{'s' * (len(over) == 1)} the gap round"
        tried = {kind for kind in kinds.values() if kind != "no value"}
        if tried == {"constant"}:
            able = [name for name in self.names if name in self.known]
            some = any(sum(self.constant(name)) < self.known[name]["n"] for name in able)
            return f"every technique decides the same for everybody{' in some repeat' * some}"
        if not tried:
            return "no technique gave a value" if kinds else "no technique was run"
        if len(self.known[self.plain_name]["values"]) < 2:
            return "nothing can be tested"
        p = self.tested()
        if p is None:
            shown = "no gap" not in re.search(rf"\| +{self.beta:g} \| none .*", self.answer.text)[0]
        else:
            shown = p.get((self.beta, self.plain_name), 1) < 0.05
        if any(kind == "better" for kind in kinds.values()):
            return "techniques hardly narrow the gap"
        return "nothing is shown to narrow the gap" if shown else "no gap is shown without a technique"

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
                place = (
                    rf"\| +{self.beta:g} \| "
                    if "|    β |" in self.answer.text or "β |" in self.answer.text
                    else r"\| "
                )
                if re.search(rf"{place}{re.escape(label)} .*\| turns the gap round", self.answer.text):
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
        if row["population_difference_p_holm"] < 0.05:
            return "moved"
        return "not shown" if isinstance(verdict, str) else "untested"

    def labels(self) -> tuple[str, float]:
        """Return whose labels a gap stands beside, and their metric, mean over the repeats."""
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
        is_all = answer.test == "original" and answer.about == "true" and not source.get("test_sha256")
        if source.get("labels"):
            is_all = True
            others, favourable = zip(*source["labels"], strict=True)
            names_of = [" × ".join(one) for one in product(*(protected[name]["levels"] for name in names))]
            whole = {"repeat": 0, "group": names_of, "tn": others, "fp": 0, "fn": 0, "tp": favourable}
            groups = pd.DataFrame(whole)
        rows = "data themselves" if is_all else "test rows"
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
            return rows, float((rate["d"] / rate["f"]).mean())
        return rows, float(answer.sign * (rate["d"] - rate["f"]).mean() + answer.shift)

    # Its sentences -----------------------------------------------------------------------------------------

    def check(self, text: str, groups: list[str] | None, where: str) -> None:
        """Take the text on the setting apart."""
        answer = self.answer
        if answer.worlds:
            text = self._of_world(text, where)
        text = self._gap(text, groups, where)
        labels = sorted(self.names, key=len, reverse=True)
        names = "|".join(map(re.escape, labels)) or "(?!)"
        said = Counter()

        from_to = r"(?: \((−?[\d.]+) to (−?[\d.]+)(?: points| times)?\))?"
        any_from_to = from_to.replace("(−", "(?:−")

        def listed(match: re.Match) -> None:
            words = match[1][0].lower() + match[1][1:]
            bare = re.split(r", not beaten| \(\d+ of| in \d+ of", words)[0]
            if match[3] or bare == WORDS["not shown"][1]:
                labels = [label for label, *_ in re.findall(rf"({names}){from_to}(?=,|$)", match[2])]
                answer.note(f"{where}: rows that show no change", match[3], self.rows_of_none(labels))
            for label, before, after in re.findall(rf"(?:^|(?<=, ))({names}){from_to}(?=,|$)", match[2]):
                said[label] += 1
                answer.note(f"{where}, {label}: moves", bool(before), self.kind(label) == "moved")
                if before and answer.form == "points":
                    gap, change = (float(re.sub(r"[ +].*", "", text.replace("−", "-").lstrip("+")))
                                   for text in self.small_numbers(label)[:2])  # fmt: skip
                    moved = [float(text.replace("−", "-")) for text in (before, after)]
                    answer.note(f"{where}, {label}: after", moved[1], gap)
                    is_change = abs(moved[1] - moved[0] - change) < 0.16
                    answer.note(f"{where}, {label}: moved by", is_change, True)
                kind = self.kind(label)
                if kind == "constant":
                    of = {"refuses": 0, "accepts": 0}
                    for verb, n, _ in re.findall(r"(refuses|accepts) everybody \((\d+) of (\d+)", words):
                        of[verb] = int(n)
                    answer.note(f"{where}, {label}: for all", tuple(of.values()), self.constant(label))
                elif kind == "no value":
                    answer.note(f"{where}, {label}: why nothing", bare, self.why_nothing(label))
                else:
                    answer.note(f"{where}, {label}", bare, answer._word(self, label)[1])
                    n = re.search(r"\((\d+) of (\d+) repeats\)", words)
                    if n or self.known[label]["n"] < answer.repeats:
                        known = (self.known[label]["n"], answer.repeats)
                        answer.note(f"{where}, {label}: repeats", n and (int(n[1]), int(n[2])), known)

        results = "|".join(long.replace("smaller", "(?:smaller|larger)") for _, long in WORDS.values())
        text = answer.eat(
            text,
            rf"((?i:(?:hardly )?(?:{results})|(?:refuses|accepts) everybody|not possible|failed|undefined \(0/0\)|not run yet)"
            rf"(?:[^:]*?)): ((?:{names}){any_from_to}(?:, (?:{names}){any_from_to})*)"
            rf"(?: \(that a change is less than (?:1 point|0\.01) is shown from about ([^)]*)\))?\.(?= [A-Z]|$)",
            listed,
        )
        every = "|".join(map(re.escape, sorted(self.known, key=len, reverse=True))) or "(?!)"
        text = answer.eat(
            text, rf"But next to ({every}) ([^.]*(?:\.\d[^.]*)*)", lambda match: self._below(match, where)
        )
        text = re.sub(r"less than (?:1 point|0\.01)", "", text)
        text = re.sub(r"(?:refuses|accepts) everybody \(\d+ of \d+ repeats\)", "", text)
        if self.plain is None:
            text = re.sub(r"gave no value \(.*?\)", "", text)
        answer.leftover(text, where)
        if self.plain is not None:
            for name in self.names:
                answer.note(f"{where}, {name}: said how often", said[name], 1)

    def rows_of_none(self, labels: list[str]) -> str | None:
        """Return the rows that it takes to show no change of techniques, as a sentence has them."""
        rows = [self.row(label, self.answer.metric) for label in labels]
        rows = [row for row in rows if row["population_low"] <= 0 <= row["population_high"]]
        numbers = [row["population_same_from_rows"] for row in rows]
        numbers = [number for number in numbers if not math.isnan(number)]
        if not numbers:
            return None
        rounded = []
        for number in (min(numbers), max(numbers)):
            step = 10.0 ** max(0, math.floor(math.log10(number)) - 1)
            rounded.append(f"{math.ceil(number / step * (1 - 1e-12)) * step:,.0f}")
        kinds = {"fresh test rows": "test rows of all repeats together", "random splits": "rows"}
        kind = kinds.get(rows[0]["population_basis"], "test rows")
        return f"{' to '.join(dict.fromkeys(rounded))} {kind}"

    def check_labels(self, text: str, where: str) -> str:
        """Check the gap of the labels, and take it out."""
        answer = self.answer

        def labels(match: re.Match) -> None:
            rows, known = self.labels()
            answer.note(f"{where}: labels", match.group(1, 2), (rows, answer.shown(known)))
            way = {"less": -1, "more": 1}.get(match[3], 0)
            if answer.form == "points":
                answer.note(f"{where}: way of the labels", way, answer.side(known))

        gap = rf"{N}(?: points| times)?(?: (less|more) often)?"
        text = answer.eat(text, rf" \(in the (data themselves|test rows): {gap}\)", labels)
        if self.plain is None:
            return text
        return answer.eat(
            text,
            rf", in {N} of {N} repeats",
            lambda match: answer.note(
                f"{where}: repeats", match.groups(), (f"{self.plain['n']}", f"{answer.repeats}")
            ),
        )

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

        start = r"^([Cc]ould be chance: |[Nn]o gap, shown to be less than (?:1 point|0\.01): )?"
        if answer.form == "points" and "as often as" in text.split("(in the ")[0]:
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
                rf"{start}(.*?) are [a-z ]*?{N} (?:points (less|more) often than|times as often as) ([^.(]*?)()(?= \(in the |\.|$)",
                gap,
            )

        return self.check_labels(text, where)

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
