"""The pictures of the gallery: every figure by name, drawn of two small runs, and the pages themselves."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fairbench_cli as fb
from fairbench_cli.document.charts import Drawing
from fairbench_cli.experiment.config import outputs
from fairbench_cli.papers.parts import FIGURES
from fairbench_cli.report.show.figures.canvas import figure_bytes, house_style

TUNED = {"tune": {"for": ["accuracy", "impact-ratio"], "over": {"level": [0, 0.5, 1]}}}
ORACLE = {"strategy": "decrease-favoured", "remove": [0, 0.5, 1]}
RUN: dict[str, Any] = {
    "name": "gallery",
    "repeats": 5,
    "datasets": [{"adult": {"attribute": ["sex", "race"], "missing_arc": "leave"}}, "dutch"],
    "sample": {"from": "shipped", "beta": [0, 0.5, 1], "size": 2000},
    "test": "network",
    "interventions": [
        "none",
        "massaging",
        "reweighing",
        "preferential-sampling",
        {"repair": TUNED},
        {"oracle": ORACLE},
    ],
    "classifiers": ["logistic-regression"],
    "sweep": "acceptance-rate",
    "tables": ["overview"],
}
CODED = RUN | {
    "datasets": ["adult"],
    "interventions": ["none", "massaging"],
    "representation": ["numerical", "numerical-binary"],
}


def written(folder: Path) -> str:
    """Write pictures and pages into a folder of the site and return the Markdown that shows them."""
    folder.mkdir(parents=True, exist_ok=True)
    people = fb.load_network("dutch").tilt(0.5).sample(6000, seed=1).to_pandas()
    audit = fb.audit(
        people, score="occupation", favourable=["2_1"], attributes=["sex", "age"], ref={"sex": "male"}
    )
    (folder / "audit.html").write_text(audit.to_html(), encoding="utf-8")
    parts = ["## Pages", _page("The page of a run", f"{folder.name}/run.html")]
    parts += [_page("The page of an audit", f"{folder.name}/audit.html"), "## Every figure by name"]
    with TemporaryDirectory() as kept:
        run, coded = (fb.run(one, folder=Path(kept) / str(i)) for i, one in enumerate((RUN, CODED)))
        shutil.copy(Path(kept) / "0" / "report.html", folder / "run.html")
        for name in outputs.FIGURES:
            entry = FIGURES[name]
            drawn = coded if name == "representations" else run
            with house_style():
                figures = entry.load()(drawn.found)
                shown = [one for key, one in figures.items() if "race" not in key]
                figure = shown[len(shown) // 2]
                if isinstance(figure, Drawing):
                    figure.save(folder / f"{name}.svg")
                else:
                    (folder / f"{name}.svg").write_bytes(figure_bytes(figure, "svg"))
            image = f'<img alt="the figure {name}" src="{folder.name}/{name}.svg" loading="lazy">'
            parts.append(f"### {name}\n\n{entry.summary}\n\n{image}")
    return "\n\n".join(parts) + "\n"


def _page(title: str, path: str) -> str:
    frame = f'<iframe title="{title}" src="{path}" loading="lazy" style="width:100%;height:36rem"></iframe>'
    return f'### {title}\n\n<a href="{path}">{title}</a>, one file that works offline:\n\n{frame}'
