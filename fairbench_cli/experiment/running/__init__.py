"""From a plan to finished repeats: what is left to do, workers, limits, and repeats again."""
