"""Tables of repeats whose differences are known."""

import numpy as np
import pandas as pd

TECHNIQUES = {"default": 0.0, "rw": -0.03, "lfr": 0.02, "eo": 0.0}
DATA = ("adult", "german", "compas", "bank")


def study(repeats: int = 12, seed: int = 0, data=DATA, noise: float = 0.004) -> pd.DataFrame:
    """Accuracy and a gap of each technique; a repeat of a data set moves all techniques alike."""
    rng = np.random.default_rng(seed)
    rows = []
    for i, name in enumerate(data):
        shift = rng.normal(0, 0.02, repeats)
        for technique, effect in TECHNIQUES.items():
            for classifier in ("lr", "rf"):
                gap = 0.2 - 0.02 * i + effect + shift + rng.normal(0, noise, repeats)
                accuracy = 0.8 + effect / 3 - shift + rng.normal(0, noise, repeats)
                for metric, values in (("spd", -gap), ("accuracy", accuracy)):
                    for repeat, value in enumerate(values):
                        rows.append((name, classifier, technique, repeat, metric, value))
    return pd.DataFrame(rows, columns=["data", "classifier", "technique", "repeat", "metric", "value"])
