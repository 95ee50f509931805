"""Recognise what a column holds by its name and its cells: identifiers, dates, scores, protected groups."""

import re
from collections.abc import Iterable
from typing import Literal
from unicodedata import combining, normalize

from fairbench_cli.base.spelling_variants import OTHERS, TOTALS

_IDENTIFIER = re.compile(
    r"(?:^|[\W_])(?i:ids?|uuid|guid|key|hash|ssn|e-?mail)$|[a-z]I[dD]$|^(?i:id|uuid|guid)[\W_]|"
    r"^(?i:row[\W_]?n(?:ames?|umbers?)|unnamed: 0)$",  # as R and pandas write them
    re.ASCII,
)

_ROW_NUMBER = re.compile(
    r"(nr|number|nummer|numero)$|(^|[\W_])(no|num|ref|reference|index|idx|serial|account|konto)$",
    re.IGNORECASE,
)

_PERSON = (
    r"(persons?|people|users?|students?|pupils?|patients?|customers?|clients?|applicants?|candidates?|employees?|"
    r"workers?|members?|respondents?|subjects?|participants?|borrowers?|defendants?|claimants?|donors?|drivers?|"
    r"tenants?|teachers?|staff|kunden?|patienten|sch(ue|ü)ler|mitarbeiter|matrikel|clientes?|pacientes?|alumnos?)"
)
_PEOPLE = re.compile(
    rf"(.* )?{_PERSON} ?(id|ids|nr|no|num|number|nummer|numero|key|code|uuid|hash)|(id|nr|code) {_PERSON}|"
    r"id|pid|uid|ssn|e ?mail|nino"
)

_COUNTS = frozenset(("freq", "frequency", "count", "counts", "n", "people", "persons", "headcount"))
_COUNTS |= {"anzahl", "häufigkeit", "effectif", "nombre", "aantal", "cantidad"}

_WORD_OF_WEIGHT = r"(?:weights?|wghts?|wgts?|wts?)"
_WHOSE_WEIGHT = (
    r"(?:samp(?:l[a-z]*)?|row|case|survey|svy|final|fin|person|pers?|instance|design|analysis|house?hold|hh|"
    r"pop(?:ulation)?|obs(?:ervations?)?|freq(?:uency)?|prob(?:ability)?|base|post[a-z]*|strat[a-z]*|ind(?:iv[a-z]*)?|"
    r"expansion|replicate|rep|norm(?:ali[sz]ed)?|trim(?:med)?|smp|raked?|calib[a-z]*)"
)
_SURVEY_WEIGHT = re.compile(  # as surveys write it: the ACS, CPS, GSS, ESS, NHANES, BRFSS and others
    rf"_*(?:{_WHOSE_WEIGHT}[\W_]*{_WORD_OF_WEIGHT}|{_WORD_OF_WEIGHT}[\W_]*{_WHOSE_WEIGHT}|w(?:gh?)?ts?|"
    r"[pdhafi]weights?|[ph]w(?:gh?|eigh)?t|(?:a_?)?fnl_?w(?:eigh|g)t|finl_?wt|[hpw]{2}(?:fin|ss)wgt|p?wgtp?|an?weight|pspw(?:ei)?ght|marsupwt|"
    r"(?:asec|earn|ll?cp)wt|wt(?:finl|supp|ss\w*)|wt(?:mec|int|saf)\d*yr|wtdrd?1?(?:\dd)?|"
    r"pondera(?:cion|tion)?|p?hrf|hochrechnungsfaktor|gewichtung(?:sfaktor)?|fex(?:_?c)?|weegfactor|"
    r"fac(?:tor)?[\W_]*(?:de[\W_]*)?exp(?:ansion)?)\d*",
    re.IGNORECASE | re.ASCII,
)
_WEIGHT = re.compile(r"(?:^|[\W_])w(?:eigh|g)ts?\d*$", re.IGNORECASE | re.ASCII)

# What a word of a column's name begins with, or is ($), accents left out.
_AGE = r"age(s|d|group|cat\w*|grp|band|range|class|bin)?$|alter$|altersgruppe|leeftijd|edad$|idade$"
_PROTECTED = re.compile(
    rf"{_AGE}|sex(e|o|ual\w*)?$|sesso$|gender|gener[eo]$|geschlecht|geslacht|(fe)?male$|wom[ae]n$|"
    r"races?$|racial|raza$|raca$|razza$|skin|colou?r$|ethn|etni|minorit|caste$|tribe$|indigen|hispanic|latin[oax]$|"
    r"black$|asian$|caucasian$|"
    r"birth|dob$|geburt|naissance|nacimiento|nascimento|nascita|geboorte|"
    r"nation|nacion|nazion|citizen|staatsang|ciudadan|immigra|migra|foreign|auslander|nativ|herkunft|afkomst|"
    r"relig|creed$|faith$|godsdienst|disab|handicap|behinder|discap|"
    r"marital|married|marriage|civil$|familienstand|pregnan|veteran|lgbt|"
    r"性别|性別|年龄|年齢|民族|种族|国籍|宗教|婚姻"
)

# What a word of a column's name is that says what was decided of a person, accents left out.
_DECISION = re.compile(
    r"(decisions?|decided|outcomes?|results?|accepted|approved|approval|admitted|admission|hired|hiring|granted|"
    r"selected|offered|shortlisted|invited|entscheid(ung)?|ergebnis|decisione|resultado|resultat|esito)$"
)

# What a word of a column's name begins with, or is ($), that is the outcome of a table.
_LABEL = re.compile(
    r"label|target|class|outcome|approv|accept|grant|hired|default|y$|income|result|decision|response|recid|admit"
)
_TRUTH = frozenset("actual true truth observed label labels target ytrue repaid".split())  # noqa: SIM905
_FAVOURABLE = "yes true 1 good approved accepted granted hired pass positive y + t".split()  # noqa: SIM905

# What a word is that says that something good was decided of a person or is so, accents left out.
_GOOD = re.compile(
    r"(accept(ed)?|approv(ed?|al)|admit(ted)?|admission|hired?|granted?|offer(s|ed)?|pass(ed)?|good|success(ful)?|"
    r"shortlisted|invited|promot(ed|ion)|eingestellt|angenommen|(ge|be)willigt|genehmigt|zugelassen|bestanden|"
    r"aangenomen|goedgekeurd|toegelaten|toegekend|geslaagd|embauchee?|acceptee?|approuvee?|admise?|accordee?|"
    r"(acept|aprob|contrat|aprov)ad[oa]|(admit|conced)id[oa]|aceit[oa]|(accett|approv)at[oa]|ammess[oa]|"
    r"assunt[oa]|concess[oa]|przyjet[aey]|zatrudnion[aey]|zaakceptowan[aey])$"
)
_NOTHING_GOOD = frozenset("hospital icu ward inpatient clinic away".split())  # noqa: SIM905
"""Words beside which to be admitted, or to have passed, is nothing good."""

YES = frozenset("yes y ja j oui si sí sim tak true".split())  # noqa: SIM905
NO = frozenset("no n nee nein non não nao nie false".split())  # noqa: SIM905
"""What yes and no are in the languages of Western Europe and Poland, in small letters."""
_DENIED = frozenset("no non not without never free un nicht kein keine sans pas sin geen sem nie nao".split())  # noqa: SIM905

_REPEAT = frozenset(
    "model models classifier algorithm estimator method technique seed fold run split repeat repetition rep "  # noqa: SIM905
    "iteration iter epoch replicate replication trial bootstrap resample draw imputation modell lauf "
    "llm version variant config checkpoint learner predictor modele modelo durchlauf semilla".split()
)

# What a word of a column's or a value's name begins with, or is ($), where it says that somebody was refused
# something or is taken for a bad risk, accents left out.
_REFUSAL = re.compile(
    r"den(y|ied|ial)$|reject|refus|declin(ed?|es)$|terminated$|dismiss|fired$|evict|expel|expul|revok|"
    r"detain|jail|imprison|default(s|ed)?$|delinquen|bankrupt|fraud|recid|(re)?arrest|crim(e|inal)|violen|"
    r"offen[cs]e|convict|churn|abgelehnt|ablehnung|absage$|entlassen|gekundigt|kundigung|betrug|ruckfall|"
    r"afgewezen|afwijzing|geweigerd|ontslagen|wanbetal|rejet|licencie(e|ment)?$|impaye|"
    r"deneg|rechaz|despedid|moros[oa]$|impago|recusad|rejeitad|nega[dt][oa]$|demitid|inadimpl|"
    r"avslag|avvis|nekad|afslag|afvist|rifiut|respint|licenziat|insolven|odrzuc|odmow|.*(拒|违约|落选|不採用)"
)
_TOGETHER = re.compile(r"(charged?|laid|written)off$|noshow$")  # the same of several words, written as one
# The same of other bad things, of which to be told may also help.
_HARM = re.compile(
    r"disease|sick$|illness|death|died$|dead$|mortal|readmi|fail|dropout$|bad$|risky$|ausfall$|.*不合格"
)

# What a word of a column's name is where it holds amounts, of money, time or the like, accents left out.
_AMOUNT = re.compile(
    r"(wages?|salar(y|ies|io)|pay|paid|payments?|incomes?|earnings?|earned|prices?|costs?|premiums?|amounts?|fees?|"
    r"rents?|loans?|balances?|revenues?|bonus(es)?|hours?|days?|minutes?|tax(es)?|debts?|dollars?|euros?|usd|eur|gbp|"
    r"budgets?|claims?|charges?|limit|credit|pincp|gehalt|lohn|einkommen|salaire|revenu|sueldo|ingresos?|stipendio)$"
)

# What a word is where it holds what people are paid; of hourly, weekly or base pay "pay".
_PAY = re.compile(
    r"(wages?|salar(y|ies|io)|pay|paid|incomes?|earnings?|earned|compensation|remuneration|pincp|gehalt|lohn|"
    r"einkommen|salaire|revenu|sueldo|ingresos?|stipendio)$"
)

_KIND_OF_PAY = ("base", "total", "gross", "net")
LIKELY_PAY = 2  # the rank of such a word alone
_TIME_WORKED = re.compile(r"(hours?|days?|minutes?|stunden)$")
# What a word is where a column says in which category of workers people are; grades are mostly numbers.
_WORKERS = re.compile(
    r"(category|categories|jobs?|occupations?|professions?|positions?|roles?|titles?|departments?|dept|ranks?|"
    r"kategorie|beruf|abteilung)$"
)

# What a word is, beside pay, of which who has more is better off; and who is worse off.
_BETTER_HIGHER = re.compile(r"(bonus(es)?|grades?)$")
_BETTER_LOWER = re.compile(
    r"(wait(s|ed|ing)?|delays?|delayed|prices?|fines?|fees?|premiums?|sentences?|risks?|debts?|wartezeit|wartetage|"
    r"verspatung|preis|bu(ss|ß)geld|gebuhr(en)?|pramie|risiko|schulden|attente|retard|prix|amende|risque|dette|"
    r"espera|retraso|precio|multa|riesgo|deuda|attesa|prezzo|rischio|debito)$"
)

# What a word of a column's name is where its whole numbers are codes; levels in an order; how many there are.
_CODE = re.compile(
    r"(codes?|coded|actions?|status|types?|category|categories|reasons?|kind|aktion|typ|kategorie|codigo|codice|"
    r"categoria|categorie|estado|stato|statut|tipo|accion|motivo)$"
)
_LEVEL = re.compile(
    r"(ratings?|rated|grades?|deciles?|quintiles?|quartiles?|stars?|levels?|ranks?|ranking|likert|tier|band|stage|"
    r"severity|satisfaction|marks?|noten?|stufe|nivel|niveau|voto|cijfer)$"
)
_NUMBER_OF = re.compile(
    r"(children|kids|dependents|n|num|number|count|counts|visits|priors|times|persons|members|years|months|anzahl|"
    r"kinder|hijos|enfants)$"
)

_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[aApP][mM]|[+-]\d{2}(:?\d{2})?|UTC)?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = "|".join(
    (
        r"\d{4}([-/.])\d{1,2}[-/.]\d{1,2}",
        r"\d{4}-(0[1-9]|1[0-2])",
        r"\d{1,2}([-/.])\d{1,2}[-/.](\d{2}|\d{4})",
        rf"\d{{1,2}}[ -]{_MONTH}[ -](\d{{2}}|\d{{4}})",
        rf"{_MONTH} \d{{1,2}},? \d{{4}}",
    )
)
_DATE = re.compile(rf"(?i)(({_DAY})([T ]\s*{_TIME})?|{_TIME})")

_DATE_NAME = re.compile(
    r"dates?$|dob$|born$|birth|bday|geb(urt|oor|dat|$)|naiss|nacimiento|nascimento|nascita|dat(um|e)$|fecha$|day$"
)
DAY_NUMBER = r"[1-5]\d{4}([.]\d*)?|60000"
"""Excel's number of a day of the years 1927 to 2064, for SQL too."""
_DAY_NUMBER = re.compile(rf"{DAY_NUMBER}|(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])")

_WORDS = "scores?|prob|probs|proba|probability|preds?|predictions?|predicted|yhat|y_hat|logits?|decile"
_SCORE = re.compile(rf"(?:^|[\W_])(?:{_WORDS})\d*(?=$|[\W_])", re.IGNORECASE)
_CAMEL = re.compile(r"[a-z](?:Score|Probability|Prob|Prediction|Predicted|Decile)s?(?=$|[A-Z\W_])")


def split_words(name: str) -> list[str]:
    """Return the words of a name in small letters: "dateOfBirth_2" is date, of and birth."""
    return re.findall(r"[^\W\d_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())


def _plain_words(name: str) -> list[str]:
    """Return the words of a name in small letters, accents left out."""
    return split_words("".join(letter for letter in normalize("NFKD", name) if not combining(letter)))


def named_like_identifiers(name: str) -> bool:
    """Return whether a column is called like one that only names the row.

    >>> [named_like_identifiers(name) for name in ("USER_ID", "personId", "id_student", "e-mail", "rownames")]
    [True, True, True, True, True]
    >>> [named_like_identifiers(name) for name in ("paid", "covid", "idle", "keyboard", "monkey")]
    [False, False, False, False, False]
    """
    return _IDENTIFIER.search(name) is not None


def named_like_people(name: str) -> bool:
    """Return whether a column is called like one that names people, each by a value of their own.

    >>> [named_like_people(name) for name in ("person_id", "PatientID", "Kundennr", "pid", "id_student")]
    [True, True, True, True, True]
    >>> [named_like_people(name) for name in ("row_id", "school_id", "person", "customer_type", "users")]
    [False, False, False, False, False]
    """
    return _PEOPLE.fullmatch(" ".join(split_words(name))) is not None


def named_like_row_numbers(name: str) -> bool:
    """Return whether a column in which every row has another number is called like one that only names them.

    >>> [named_like_row_numbers(name) for name in ("case_id", "Kundennr", "Account No", "phone number")]
    [True, True, True, True]
    >>> [named_like_row_numbers(name) for name in ("income", "piano", "reno", "lux")]
    [False, False, False, False]
    """
    return named_like_identifiers(name) or _ROW_NUMBER.search(name) is not None


def named_like_weights(name: str) -> bool:
    """Return whether a column is called like one of weights of rows.

    >>> [named_like_weights(name) for name in ("weight", "Sample_Weight", "fnlwgt", "wt", "PERWT")]
    [True, True, True, True, True]
    >>> [named_like_weights(name) for name in ("weighted", "weight_class", "birthweight", "lwt", "w")]
    [False, False, False, False, False]
    """
    return _WEIGHT.search(name) is not None or named_like_survey_weights(name)


def named_like_survey_weights(name: str) -> bool:
    """Return whether weights of rows are called so and nothing that people weigh.

    >>> names = ("PWGTP", "hhwt", "weight_final", "sampling weight", "_LLCPWT", "WTMEC2YR", "FINLWT21", "wt")
    >>> all(named_like_survey_weights(name) for name in names)
    True
    >>> names = ("weight", "birth_weight", "body weight", "weight_kg", "bwt", "newton", "factor")
    >>> any(named_like_survey_weights(name) for name in names)
    False
    """
    return _SURVEY_WEIGHT.fullmatch(name) is not None


def named_like_protected(name: str) -> bool:
    """Return whether a column is called like a protected attribute, in some languages.

    >>> names = ("sex", "RaceGroup", "age_cat", "native-country", "Âge", "Género", "Herkunft", "group")
    >>> [named_like_protected(name) for name in names]
    [True, True, True, True, True, True, True, True]
    >>> [named_like_protected(name) for name in ("education", "page", "agency", "donation", "tracing")]
    [False, False, False, False, False]
    """
    tokens = _plain_words(name)
    return any(_PROTECTED.match(word) for word in tokens) or tokens in (["group"], ["groups"])


def named_like_ages(name: str) -> bool:
    """Return whether a column is called like ages, in some languages.

    >>> [named_like_ages(name) for name in ("Alter", "age_at_hire", "agency", "alternative")]
    [True, True, False, False]
    """
    return any(re.match(_AGE, word) for word in _plain_words(name))


def named_like_harm(text: str) -> bool:
    """Return whether a column, or a value, is called like something bad.

    >>> texts = ("two_year_recid", "default payment next month", "HeartDisease", "is_fraud", "bad")
    >>> [named_like_harm(text) for text in texts]
    [True, True, True, True, True]
    >>> texts = ("no default", "Non-default", "disease-free", "credit_risk", "badge", "sickle", "1")
    >>> any(named_like_harm(text) for text in texts)
    False
    """
    tokens = _plain_words(text)
    return named_like_refusals(text) or (_DENIED.isdisjoint(tokens) and any(map(_HARM.match, tokens)))


def named_like_refusals(text: str) -> bool:
    """Return whether a column, or a value, is called like a refusal, or what makes somebody a bad risk.

    >>> texts = ("loan_denied", "Rejected", "wasTerminated", "Abgelehnt", "refusé", "denegada", "default")
    >>> [named_like_refusals(text) for text in texts]
    [True, True, True, True, True, True, True]
    >>> [named_like_refusals(text) for text in ("not denied", "disease", "determined", "declining")]
    [False, False, False, False]
    >>> [named_like_refusals(text) for text in ("not_hired", "charged_off", "no_show", "hired", "show_off")]
    [True, True, True, False, False]
    """
    tokens = _plain_words(text)
    if _TOGETHER.search("".join(tokens)):
        return True
    if _DENIED.isdisjoint(tokens):
        return any(map(_REFUSAL.match, tokens))
    return any(map(_GOOD.match, tokens)) and _NOTHING_GOOD.isdisjoint(tokens)


def named_like_gains(text: str) -> bool:
    """Return whether a column, or a value, says that somebody got something good, and nothing else.

    >>> [named_like_gains(text) for text in ("hired", "loan_approved", "Zugelassen", "admitida", "offers")]
    [True, True, True, True, True]
    >>> texts = ("selected", "not hired", "hospital admission", "approval denied", "decision", "yes")
    >>> any(named_like_gains(text) for text in texts)
    False
    """
    tokens = set(_plain_words(text))
    return any(map(_GOOD.match, tokens)) and not (tokens & (_DENIED | _NOTHING_GOOD) or named_like_harm(text))


def named_like_decisions(name: str) -> bool:
    """Return whether a column is called like one of scores, or of what was decided of people.

    >>> [named_like_decisions(name) for name in ("Final Decision", "hired", "Exam_Result", "y_pred")]
    [True, True, True, True]
    >>> [named_like_decisions(name) for name in ("Years", "Ethnic Group", "hire date", "admissible")]
    [False, False, False, False]
    """
    return any(map(_DECISION.match, _plain_words(name))) or named_like_scores(name)


def named_like_pay(name: str) -> bool:
    """Return whether a column is called like one of what people are paid.

    >>> [named_like_pay(name) for name in ("base_pay", "Salary", "weekly_hours", "bonus", "payer", "total")]
    [True, True, False, False, False, False]
    """
    return any(map(_PAY.match, _plain_words(name)))


def rank_pay(name: str) -> int:
    """Return how likely a column of amounts is what people are paid: 0 base pay, 1 pay, then others.

    >>> [rank_pay(name) for name in ("base_pay", "annual salary", "total", "bonus", "weekly_hours")]
    [0, 1, 2, 3, 4]
    """
    words = _plain_words(name)
    if named_like_pay(name):
        return int("base" not in words)
    if set(words) <= set(_KIND_OF_PAY):
        return LIKELY_PAY
    return 3 + any(map(_TIME_WORKED.match, words))


def may_be_amounts(name: str) -> bool:
    """Return whether a column may hold amounts by its name, "total" and the like among them."""
    return named_like_amounts(name) or rank_pay(name) <= LIKELY_PAY


def named_like_workers(name: str) -> bool:
    """Return whether a column is called like categories of workers.

    >>> [named_like_workers(name) for name in ("category", "Job Title", "jobless", "race")]
    [True, True, False, False]
    """
    return any(map(_WORKERS.match, _plain_words(name)))


def named_like_amounts(name: str) -> bool:
    """Return whether a column is called like one of amounts: of money, hours, days.

    >>> names = ("wages", "Annual_Salary", "hours.per.week", "LIMIT_BAL", "PINCP")
    >>> [named_like_amounts(name) for name in names]
    [True, True, True, True, True]
    >>> [named_like_amounts(name) for name in ("grade", "score", "payer", "Monday", "lsat")]
    [False, False, False, False, False]
    """
    return any(map(_AMOUNT.match, _plain_words(name)))


def tell_better_side(name: str) -> Literal["higher", "lower"] | None:
    """Return which numbers of a column are better for people, where its name says so plainly.

    >>> [tell_better_side(name) for name in ("annual_pay", "wait_days", "riskScore", "Bußgeld")]
    ['higher', 'lower', 'lower', 'lower']
    >>> [tell_better_side(name) for name in ("score", "hours", "pay_delay", "payer")]
    [None, None, None, None]
    """
    tokens = _plain_words(name)
    is_good = any(_PAY.match(word) or _BETTER_HIGHER.match(word) for word in tokens)
    if is_good == any(map(_BETTER_LOWER.match, tokens)):
        return None
    return "higher" if is_good else "lower"


def tell_whole_numbers(name: str) -> str:
    """Return the kind of few whole numbers by the column's name: "codes", "levels", "amounts" or "".

    >>> [tell_whole_numbers(name) for name in ("action_taken", "decile_score", "n_children", "outcome")]
    ['codes', 'levels', 'amounts', '']
    """
    tokens = _plain_words(name)
    if any(map(_CODE.match, tokens)):
        return "codes"
    if any(map(_LEVEL.match, tokens)) or named_like_scores(name):
        return "levels"
    if any(map(_NUMBER_OF.match, tokens)) or named_like_amounts(name):
        return "amounts"
    return ""


def find_good_value(values: Iterable[str], name: str = "") -> str | None:
    """Return the one value that says that something good was decided; None where none or several do.

    The first of several spellings stands for all. In a column whose `name` is that of something bad, no is
    good.

    >>> find_good_value(["Rejected", "accepted", "Accepted "]), find_good_value(["Low", "High"])
    ('accepted', None)
    >>> find_good_value(["yes", "no"]), find_good_value(["yes", "no"], "denied")
    ('yes', 'no')
    """
    good: dict[str, str] = {}
    agreement = NO if named_like_harm(name) else YES | {"select", "selected"}
    for value in values:
        lower_text = " ".join(_plain_words(value))
        if _GOOD.match(lower_text) or lower_text in agreement:
            good.setdefault(lower_text, value)
    if len(good) == 1:
        return next(iter(good.values()))
    return None


def guess_good_value(values: Iterable[str], name: str) -> str | None:
    """Return the value of a column that is likely good, by what words say; not by the size of a number.

    >>> guess_good_value(["0", "positive"], "x"), guess_good_value(["-1", "1"], "x")
    ('positive', '1')
    >>> guess_good_value(["1", "2"], "x"), guess_good_value(["positive", "negative"], "fraud")
    (None, None)
    """
    texts = list(values)
    good = find_good_value(texts, name)
    if good is not None or named_like_harm(name):
        return good
    guess = guess_favourable(texts)
    if guess == "1" and all(text.lstrip("-").isdigit() for text in texts) and set(texts) != {"-1", "1"}:
        return None
    return guess


def named_like_labels(name: str) -> bool:
    """Return whether a column is called like the outcome of a table.

    >>> [named_like_labels(name) for name in ("two_year_recid", "income", "target", "sex")]
    [True, True, True, False]
    """
    return any(map(_LABEL.match, split_words(name)))


def named_like_truths(name: str) -> bool:
    """Return whether a column is called like one of what came true, whatever was decided.

    >>> [named_like_truths(name) for name in ("actual", "y_true", "observed outcome", "label", "truck")]
    [True, True, True, True, False]
    """
    return not _TRUTH.isdisjoint(split_words(name))


def guess_favourable(values: Iterable[str]) -> str | None:
    """Return the value that is probably the favourable one, if any looks like it.

    >>> guess_favourable(["no", "Yes"]), guess_favourable(["a", "b"])
    ('Yes', None)
    """
    lower = {value.lower(): value for value in values}
    return next((lower[good] for good in _FAVOURABLE if good in lower), None)


def is_date(text: str) -> bool:
    """Return whether a text is a date, a time, or both.

    >>> [is_date(text) for text in ("2024-01-05", "05/01/2024", "2024-01-05T10:00:00Z", "5 Jan 2024", "9:30")]
    [True, True, True, True, True]
    >>> [is_date(text) for text in ("25-45", "1990-1995", "2020", "1.5", "May")]
    [False, False, False, False, False]
    """
    return _DATE.fullmatch(text) is not None


def are_dates(name: str, values: Iterable[str]) -> bool:
    """Return whether values are dates; in a column that is called so numbers of days are, and 20240105.

    >>> are_dates("dob", ["27234", "36526.5"]), are_dates("dob", ["19740724"]), are_dates("pay", ["27234"])
    (True, True, False)
    """
    cells = list(values)
    named_so = any(map(_DATE_NAME.match, split_words(name)))
    return bool(cells) and (all(map(is_date, cells)) or (named_so and all(map(_DAY_NUMBER.fullmatch, cells))))


def named_like_scores(name: str) -> bool:
    """Return whether a column is called like one of scores.

    >>> [named_like_scores(name) for name in ("score_b", "decile_score", "y_pred", "riskScore", "pred2")]
    [True, True, True, True, True]
    >>> [named_like_scores(name) for name in ("probation", "scoreboard", "predominant_race", "age")]
    [False, False, False, False]
    """
    return _SCORE.search(name) is not None or _CAMEL.search(name) is not None


def named_like_counts(name: str, *, in_full: bool = False) -> bool:
    """Return whether a column is called as if it said how many people a row stands for, or is `in_full`.

    >>> [named_like_counts(name) for name in ("Count", "n", "Anzahl", "Number of people", "country", "sex")]
    [True, True, True, True, False, False]
    >>> [named_like_counts(name, in_full=True) for name in ("Anzahl", "priors_count")]
    [True, False]
    """
    return name.casefold() in _COUNTS if in_full else not _COUNTS.isdisjoint(split_words(name))


def named_like_totals(text: str, *, in_full: bool = False) -> bool:
    """Return whether a group is called like all others together, or is `in_full`.

    >>> [named_like_totals(text) for text in ("Total", "Grand Total", "all races", "Insgesamt", "Both sexes")]
    [True, True, True, True, True]
    >>> [named_like_totals(text) for text in ("Other", "totally", "Alloa", "female", "All other races")]
    [False, False, False, False, False]
    >>> [named_like_totals(text, in_full=True) for text in ("grand total", "All others", "0")]
    [True, False, False]
    """
    words = split_words(text)
    if in_full:
        return bool(words) and TOTALS.issuperset(words)
    return not TOTALS.isdisjoint(words) and OTHERS.isdisjoint(words)


def named_like_repeats(name: str) -> bool:
    """Return whether a column is called as if it told several results on the same people apart.

    >>> [named_like_repeats(name) for name in ("model", "Random_Seed", "cvFold", "run", "year", "runner")]
    [True, True, True, True, False, False]
    """
    return not _REPEAT.isdisjoint(split_words(name))
