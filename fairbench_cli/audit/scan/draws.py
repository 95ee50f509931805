"""Draw rows at random where there are more than a part of an audit looks at."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fairbench_cli.audit.scan.scan import Scan


def drawn_rows(scan: "Scan", most: int) -> tuple[str, str]:
    """Return a table of all rows, or of `most` of them drawn at random, as SQL; and how many these are.

    Which rows are drawn depends on the seed alone. The second text is "1,000 of 20,000 rows, drawn at
    random", and empty where all are there. It is read in the order of the file, with one thread.
    """
    import pandas as pd

    numbered = "SELECT row_number() OVER () AS line, * FROM predictions"
    rows = scan.tally.rows
    if rows <= most:
        return f"({numbered})", ""
    drawn = np.random.default_rng(scan.config.seed).choice(rows, most, replace=False)
    scan.source.database.register("chosen", pd.DataFrame({"line": np.sort(drawn) + 1}))
    table = f"(SELECT * FROM ({numbered}) WHERE line IN (SELECT line FROM chosen))"
    return table, f"{most:,} of {rows:,} rows, drawn at random"
