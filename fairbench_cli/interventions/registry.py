"""The interventions by name: a new one is a file and a line here; tests and schema follow."""

from fairbench_cli.base.registry import Registry

INTERVENTIONS = Registry(
    "intervention",
    "fairbench_cli.interventions",
    {
        "none": "baselines:NoIntervention",
        "trained-on-truth": "baselines:TrainedOnTruth",
        "massaging": "preprocessing:Massaging",
        "reweighing": "preprocessing:Reweighing",
        "uniform-sampling": "preprocessing:UniformSampling",
        "preferential-sampling": "preprocessing:PreferentialSampling",
        "repair": "repair:Repair",
        "auditor": "repair:Auditor",
        "zafar-di": "disparate_impact:ZafarDI",
        "zafar-dm": "disparate_mistreatment:ZafarDM",
        "two-naive-bayes": "two_naive_bayes:TwoNaiveBayes",
        "prejudice-remover": "prejudice_remover:PrejudiceRemover",
        "leaf-relabelling": "leaf_relabelling:LeafRelabelling",
        "fair-representations": "fair_representations:FairRepresentations",
        "exponentiated-gradient": "fairlearn:ExponentiatedGradient",
        "grid-search": "fairlearn:GridSearch",
        "threshold-optimizer": "fairlearn:ThresholdOptimizer",
        "correlation-remover": "fairlearn:CorrelationRemover",
        "reject-option": "post_processing:RejectOption",
        "equalised-odds": "post_processing:EqualisedOdds",
        "group-thresholds": "post_processing:GroupThresholds",
        "oracle": "baselines:Oracle",
        "random": "baselines:RandomGuess",
    },
    group="fairbench.interventions",
    for_reproduction=("auditor",),
    adapter="adapters",
)
