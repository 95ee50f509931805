"""The notebook of the docs runs, without a warning, and holds its outputs."""

from pathlib import Path

import nbformat
import pytest
from conftest import environment

NOTEBOOK = Path(__file__).parents[1] / "docs/tutorial.ipynb"


@pytest.mark.filterwarnings("default")  # those of the client; the notebook's own are errors
def test_the_notebook_runs(monkeypatch):
    from nbclient import NotebookClient

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    notebook = nbformat.read(NOTEBOOK, 4)
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    strict = nbformat.v4.new_code_cell("import warnings\nwarnings.simplefilter('error')")
    notebook.cells.insert(0, strict)
    client = NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(NOTEBOOK.parent)}}
    )
    client.execute()
    outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    shown = [out.data for out in outputs if "data" in out]
    assert sum("image/png" in data for data in shown) == 3
    assert sum("text/html" in data for data in shown) >= 5
