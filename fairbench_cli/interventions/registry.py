"""The interventions by name. A new one is a file and an entry here."""

from fairbench_cli.classifiers.registry import Entry

_HERE = "fairbench_cli.interventions"

INTERVENTIONS: dict[str, Entry] = {
    "none": Entry(f"{_HERE}.none:NoIntervention"),
    "massaging": Entry(f"{_HERE}.massaging:Massaging"),
    "reweighing": Entry(f"{_HERE}.reweighing:Reweighing"),
    "uniform-sampling": Entry(f"{_HERE}.uniform_sampling:UniformSampling"),
    "preferential-sampling": Entry(f"{_HERE}.preferential_sampling:PreferentialSampling"),
    "repair": Entry(f"{_HERE}.repair:Repair"),
    "auditor": Entry(f"{_HERE}.auditor:Auditor"),
    "zafar-di": Entry(f"{_HERE}.zafar_di:ZafarDI"),
    "zafar-dm": Entry(f"{_HERE}.zafar_dm:ZafarDM"),
    "oracle": Entry(f"{_HERE}.oracle:Oracle"),
    "random": Entry(f"{_HERE}.random_guess:RandomGuess"),
}
