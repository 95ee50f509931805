"""What other programs and papers call the things that a config, a card or a command names."""

from collections.abc import Collection

_TABLE = """
seed: random_state random_seed rng np_seed set_seed
repeats: n_repeats n_runs num_runs runs repetitions reps replicates replications n_splits folds n_folds cv
    trials seeds n_seeds num_seeds n_iter resamples
datasets: data cards inputs
files: data data_file path csv filename
interventions: methods mitigations mitigators techniques preprocessing preprocessors postprocessing
    postprocessors inprocessing debiasing debiasers bias_mitigation fairness_methods algorithms
classifiers: models estimators base_estimator learners clf predictors algorithms
metrics: measures scoring fairness_metrics criteria evaluation_metrics
attributes attribute protected: sensitive_attributes sensitive_features sensitive sensitive_columns
    sens_attr protected protected_attributes protected_features groups group_by
data: real real_data real_rows original csv
network: bayesian_network bayes_net bn
predictions: save_predictions keep_predictions return_predictions
train_fraction: train_size training_size train_share train_ratio training_fraction
jobs: n_jobs workers n_workers num_workers threads n_threads cores processes parallel cpus
label: target target_column target_name y y_true ground_truth truth actual true_label label_column gold
    outcome class class_attribute class_column response dependent
score: y_pred y_prob y_score pred prediction proba probability probabilities yhat
favourable favourable-label: positive pos_label positive_label positive_class favorable_label
    favourable_label favorable_value desired
deprived: unprivileged unprivileged_groups disadvantaged underprivileged minority unfavoured
favoured: privileged privileged_groups advantaged majority
ref: reference reference_group privileged privileged_group baseline_group
weight: sample_weight
threshold: cutoff
output: out outfile output_file save save_to
format: output_format fmt
data-dir: data_folder data_path
separator: sep delimiter delim
missing: na na_values na_strings nan nan_values missing_values null_values
columns: features fields variables schema dtypes
kind: type dtype
levels: categories values
recode: map mapping replace rename
counts: weights frequency freq sample_weight
keep: filter subset where
if_missing: impute fillna imputation
nominal: categorical category text string str factor object bool boolean binary
integer: int int64 whole
real: float float64 double number numeric continuous
drop: ignore skip exclude remove id identifier
bins: binning discretize discretise cut
edges: breaks breakpoints cut_points cuts
quantiles: qcut n_quantiles
c45: j48 weka c5.0
tree: cart dt decision_tree DecisionTreeClassifier rpart
logistic-regression: logreg lr logit logistic glm
random-forest: rf forest RandomForestClassifier ranger
naive-bayes: nb gnb bayes GaussianNB CategoricalNB
hist-gradient-boosting: gbm gbdt gbt gb boosting gradient_boosting hgb HistGradientBoostingClassifier
    GradientBoostingClassifier
svm: svc rbf_svm support_vector_machine
xgboost:XGBClassifier: xgboost xgb XGBClassifier
lightgbm:LGBMClassifier: lightgbm lgbm lgb LGBMClassifier
catboost:CatBoostClassifier: catboost CatBoostClassifier
sklearn.neighbors:KNeighborsClassifier: knn kneighbors k_nearest_neighbors nearest_neighbors
    KNeighborsClassifier
sklearn.neural_network:MLPClassifier: mlp neural_network neural_net nn ann MLPClassifier
sklearn.ensemble:AdaBoostClassifier: adaboost ada AdaBoostClassifier
sklearn.ensemble:ExtraTreesClassifier: extra_trees ExtraTreesClassifier
sklearn.discriminant_analysis:LinearDiscriminantAnalysis: lda LinearDiscriminantAnalysis
none: baseline plain no_mitigation unmitigated no_intervention original
massaging: relabelling relabeling massage kamiran kamiran_calders
reweighing: reweighting reweigh rw
repair: disparate_impact_remover di_remover dir feldman
uniform-sampling: us resampling
preferential-sampling: ps
fair-representations: lfr learning_fair_representations zemel
prejudice-remover: pr kamishima
exponentiated-gradient: eg expgrad exponentiated_gradient_reduction agarwal reductions
grid-search: gs grid_search_reduction
equalised-odds: eq_odds eq_odds_postprocessing equalized_odds_postprocessing hardt
reject-option: roc reject_option_classification reject_option_classifier
zafar-di: zafar
zafar-dm: zafar
demographic-parity-difference: dp dpd demographic_parity parity
statistical-parity-difference: spd sp statistical_parity mean_difference risk_difference
disparate-impact: di dir disparate_impact_ratio
impact-ratio: adverse_impact_ratio air four_fifths four_fifths_rule 80_percent_rule
equal-opportunity-difference: eod eopp eop equal_opportunity
equalised-odds-difference: eod eqodds eodds equalized_odds equalised_odds
average-odds-difference: aod avg_odds average_odds
accuracy: acc accuracy_score
balanced-accuracy: bacc bal_acc balanced_accuracy_score
f1: f1_score f_score f_measure
auc: roc_auc auroc roc_auc_score
ppv: precision_score
tpr: recall_score sensitivity_score
mcc: matthews matthews_corrcoef
min_leaf: min_samples_leaf min_child_samples min_num_obj
confidence: confidence_factor cf
trees: n_estimators num_trees ntree
iterations: n_estimators max_iter n_iter num_trees
max_leaves: max_leaf_nodes num_leaves
pruning: ccp_alpha cp
eta: fairness_penalty lambda
level: repair_level
prototypes: k n_prototypes
eps: epsilon difference_bound
bound: difference_bound
german: german_credit credit_g statlog
law-school: lsac law
compas: propublica
adult: census census_income adult_census
bank: bank_marketing
acs-income: folktables folk
"""


def _normalise(word: str) -> str:
    return "".join(letter for letter in word.casefold() if letter.isalnum()).removesuffix("s")


def _read_table() -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for line in _TABLE.replace("\n    ", " ").strip().splitlines():
        called, _, words = line.rpartition(": ")
        for name in called.split():
            for word in [name, *words.split()]:
                names.setdefault(_normalise(word), []).append(name)
    return names


_NAMES = _read_table()


def find_synonyms(word: str, choices: Collection[str]) -> list[str]:
    """Return the known names that others call by a word; among classifiers that may be other packages' code.

    >>> find_synonyms("Random_State", ["seed", "name"]), find_synonyms("nmae", ["name"])
    (['seed'], [])
    >>> find_synonyms("knn", ["random-forest"])
    ['sklearn.neighbors:KNeighborsClassifier']
    """
    names = _NAMES.get(_normalise(word), [])
    return [name for name in names if name in choices or (":" in name and "random-forest" in choices)]
