"""C4.5 as Weka's J48: `C45` is the scikit-learn estimator."""

from fairbench_cli.classifiers.c45.estimator import C45

__all__ = ["C45"]
