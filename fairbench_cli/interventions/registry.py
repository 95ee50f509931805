"""The interventions by name: a new one is a file and a line here; tests and schema follow."""

from fairbench_cli.classifiers.registry import Entry, Kind

_HERE = "fairbench_cli.interventions"

INTERVENTIONS: dict[str, Entry] = {
    "none": Entry(f"{_HERE}.baselines:NoIntervention"),
    "massaging": Entry(f"{_HERE}.massaging:Massaging"),
    "reweighing": Entry(f"{_HERE}.reweighing:Reweighing"),
    "uniform-sampling": Entry(f"{_HERE}.sampling:UniformSampling"),
    "preferential-sampling": Entry(f"{_HERE}.sampling:PreferentialSampling"),
    "repair": Entry(f"{_HERE}.repair:Repair"),
    "auditor": Entry(f"{_HERE}.auditor:Auditor"),
    "zafar-di": Entry(f"{_HERE}.zafar_di:ZafarDI"),
    "zafar-dm": Entry(f"{_HERE}.zafar_dm:ZafarDM"),
    "two-naive-bayes": Entry(f"{_HERE}.two_naive_bayes:TwoNaiveBayes"),
    "prejudice-remover": Entry(f"{_HERE}.prejudice_remover:PrejudiceRemover"),
    "leaf-relabelling": Entry(f"{_HERE}.leaf_relabelling:LeafRelabelling"),
    "fair-representations": Entry(f"{_HERE}.fair_representations:FairRepresentations"),
    "exponentiated-gradient": Entry(f"{_HERE}.fairlearn:ExponentiatedGradient"),
    "grid-search": Entry(f"{_HERE}.fairlearn:GridSearch"),
    "threshold-optimizer": Entry(f"{_HERE}.fairlearn:ThresholdOptimizer"),
    "correlation-remover": Entry(f"{_HERE}.fairlearn:CorrelationRemover"),
    "reject-option": Entry(f"{_HERE}.reject_option:RejectOption"),
    "equalised-odds": Entry(f"{_HERE}.equalised_odds:EqualisedOdds"),
    "group-thresholds": Entry(f"{_HERE}.group_thresholds:GroupThresholds"),
    "oracle": Entry(f"{_HERE}.baselines:Oracle"),
    "random": Entry(f"{_HERE}.baselines:RandomGuess"),
}

INTERVENTION = Kind("intervention", INTERVENTIONS, "fairbench.interventions", f"{_HERE}.plugin")
