"""C4.5 as Weka's J48: `C45` is the scikit-learn estimator."""

from typing import Any

__all__ = ["C45"]


def __getattr__(name: str) -> Any:
    """Return `C45`, loaded with scikit-learn when it is first used: a run needs neither."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fairbench_cli.classifiers.c45.estimator import C45

    return C45
