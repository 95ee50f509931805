"""The mechanisms of bias by name: a new one is a file and a line here; tests and schema follow."""

from fairbench_cli.base.registry import Registry

MECHANISMS = Registry(
    "mechanism",
    "fairbench_cli.network.mechanisms",
    {
        "label": "label:LabelBias",
        "selection": "selection:SelectionBias",
        "measurement": "measurement:MeasurementError",
        "history": "history:HistoricalBias",
        "omission": "omission:OmittedColumn",
        "group": "group:GroupNoise",
        "representation": "representation:GroupShare",
    },
)
