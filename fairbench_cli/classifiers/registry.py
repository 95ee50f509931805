"""The classifiers by name: a new one is its dataclass and a line here; tests and schema follow."""

from fairbench_cli.base.registry import Registry

CLASSIFIERS = Registry(
    "classifier",
    "fairbench_cli.classifiers",
    {
        "c45": "builders:C45Settings",
        "tree": "builders:Tree",
        "logistic-regression": "builders:LogisticRegression",
        "naive-bayes": "builders:NaiveBayes",
        "random-forest": "builders:RandomForest",
        "hist-gradient-boosting": "builders:HistGradientBoosting",
        "svm": "builders:Svm",
    },
    group="fairbench.classifiers",
    adapter="foreign",
)
