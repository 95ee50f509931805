"""The mechanisms of bias by name: a new one is a class and a line here; tests and schema follow."""

from fairbench_cli.base.registry import Registry

MECHANISMS = Registry(
    "mechanism",
    "fairbench_cli.network.mechanisms",
    {
        "label": "biases:LabelBias",
        "selection": "biases:SelectionBias",
        "measurement": "biases:MeasurementError",
        "history": "biases:HistoricalBias",
        "omission": "biases:OmittedColumn",
        "group": "biases:GroupNoise",
        "representation": "biases:GroupShare",
    },
)
