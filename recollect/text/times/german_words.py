"""German words for months, days, numbers and holidays, and those that tell past from future."""

from __future__ import annotations

from recollect.text.times.grammar import alternatives

MONTHS = {
    name: at
    for at, name in enumerate(
        "januar februar märz april mai juni juli august september oktober november dezember".split(), 1
    )
}
MONTHS |= {"jänner": 1, "feber": 2, "maerz": 3}
SHORT_MONTHS = {name[:3]: at for name, at in MONTHS.items() if name not in ("märz", "mai", "maerz", "jänner", "feber")}
SHORT_MONTHS |= {"mrz": 3, "sept": 9}
WEEKDAYS = {name: at for at, name in enumerate("montag dienstag mittwoch donnerstag freitag samstag sonntag".split())}
WEEKDAYS |= {"sonnabend": 5}
SHORT_WEEKDAYS = {name: at for at, name in enumerate("mo di mi do fr sa so".split())}
SEASONS = {"frühling": 0, "frühjahr": 0, "fruehling": 0, "fruehjahr": 0, "sommer": 1, "herbst": 2, "winter": 3}
SEASON_PARTS = {"früh": "early", "spät": "late", "hoch": "mid"}
UNIT_NAMES = {
    "tag": "day", "tage": "day", "tagen": "day", "woche": "week", "wochen": "week", "monat": "month", "monate": "month",
    "monaten": "month", "monats": "month", "jahr": "year", "jahre": "year", "jahren": "year", "jahres": "year",
    "quartal": "quarter", "quartale": "quarter", "quartalen": "quarter", "quartals": "quarter", "wochenende": "weekend",
    "wochenendes": "weekend", "wochenenden": "weekend", "jahrzehnt": "decade", "jahrzehnten": "decade",
    "stunde": "hour", "stunden": "hour", "minute": "minute", "minuten": "minute",
}  # fmt: skip

ONES = "ein zwei drei vier fünf sechs sieben acht neun".split()
TEENS = "zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn".split()
TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
NUMBERS = {name: at for at, name in enumerate(ONES + TEENS, 1)}
NUMBERS |= {name: 10 * at for at, name in enumerate(TENS, 2)}
NUMBERS |= {f"{one}und{tens}": 10 * at + unit for at, tens in enumerate(TENS, 2) for unit, one in enumerate(ONES, 1)}
# Without their endings: erst(en), zweit(er), einundzwanzigst(e).
ORDINAL_STEMS = {f"{name}{'t' if at < 20 else 'st'}": at for name, at in NUMBERS.items() if at <= 31}
ORDINAL_STEMS |= {"erst": 1, "dritt": 3, "siebt": 7, "acht": 8}
NUMBERS |= {f"ein{ending}": 1 for ending in ("e", "er", "em", "en", "es")} | {"nem": 1, "ner": 1, "zwo": 2}
NUMBERS |= {"ein paar": 3, "paar": 3, "einige": 3, "einigen": 3, "wenigen": 3, "mehreren": 4, "fuenf": 5, "zwoelf": 12}
NUMBER = rf"\d{{1,4}}|{alternatives(NUMBERS)}"
ORDINAL = rf"(?:{alternatives(ORDINAL_STEMS)})e[nrsm]?"
DECADES = {f"{tens}er{ending}": 1900 + 10 * at for at, tens in enumerate(TENS, 2) for ending in ("", "n")}
AND_A_HALF = {"andert": 1, "einein": 1, "zweiein": 2, "dreiein": 3}
DAY_PART = r"(?:früh|morgen|vormittag|mittag|nachmittag|abend|nacht)s?"
RELATIVE_DAYS = {
    "vorvorgestern": -3, "vorgestern": -2, "gestern": -1, "heute": 0, "heut": 0, "übermorgen": 2, "uebermorgen": 2,
    "letzte nacht": -1, "vergangene nacht": -1, "heute nacht": 0,
}  # fmt: skip
PARTS = {"anfang": "early", "beginn": "early", "mitte": "mid", "ende": "late", "schluss": "late"}
EDGES = {"jahres": "year", "monats": "month", "wochen": "week", "quartals": "quarter"}
RELATIONS = {
    "seit": "since", "ab": "starting", "vor": "before", "nach": "after", "bis": "until", "bis zu": "until",
    "bis zum": "until", "bis zur": "until", "spätestens": "by", "bis einschließlich": "until",
    "bis spätestens": "by", "bis vor": "before", "von": "from", "vom": "from", "zwischen": "between",
}  # fmt: skip
HOLIDAY_NAMES = {
    "weihnachten": "christmas", "weihnachtstage": "christmas", "weihnachtszeit": "christmas", "osterzeit": "easter",
    "weihnachtstagen": "christmas",
    "weihnachtsfeiertage": "christmas", "weihnachtsfeiertagen": "christmas", "heiligabend": "christmas eve",
    "heiliger abend": "christmas eve", "heiligen abend": "christmas eve", "heilig abend": "christmas eve",
    "weihnachtsabend": "christmas eve", "erster weihnachtstag": "christmas day",
    "ersten weihnachtstag": "christmas day", "ersten weihnachtsfeiertag": "christmas day",
    "1. weihnachtsfeiertag": "christmas day", "1. weihnachtstag": "christmas day",
    "zweiten weihnachtstag": "boxing day", "zweiten weihnachtsfeiertag": "boxing day",
    "2. weihnachtsfeiertag": "boxing day", "2. weihnachtstag": "boxing day", "stephanstag": "boxing day",
    "silvester": "new year's eve", "silvesterabend": "new year's eve", "sylvester": "new year's eve",
    "neujahr": "new year's day", "neujahrstag": "new year's day", "jahreswechsel": "turn of the year",
    "zwischen den jahren": "between the years", "dreikönig": "epiphany", "dreikönigstag": "epiphany",
    "heilige drei könige": "epiphany", "heiligen drei könige": "epiphany", "heiligen drei königen": "epiphany",
    "valentinstag": "valentine", "weltfrauentag": "women's day", "frauentag": "women's day",
    "tag der arbeit": "labour day", "maifeiertag": "labour day", "tag der deutschen einheit": "german unity",
    "reformationstag": "reformation", "halloween": "halloween", "allerheiligen": "all saints",
    "allerseelen": "all souls", "martinstag": "remembrance", "sankt martin": "remembrance", "st. martin": "remembrance",
    "nikolaustag": "nicholas", "nikolausabend": "nicholas", "ostern": "easter", "ostertage": "easter",
    "ostertagen": "easter", "osterwochenende": "easter", "osterfeiertage": "easter", "osterfeiertagen": "easter",
    "karfreitag": "good friday", "gründonnerstag": "maundy thursday", "karsamstag": "holy saturday",
    "palmsonntag": "palm sunday", "ostersonntag": "easter sunday", "ostermontag": "easter monday",
    "christi himmelfahrt": "ascension", "himmelfahrt": "ascension", "vatertag": "ascension",
    "mariä himmelfahrt": "assumption", "pfingsten": "pentecost", "pfingstwochenende": "pentecost",
    "pfingstsonntag": "whit sunday", "pfingstmontag": "whit monday", "fronleichnam": "corpus christi",
    "karneval": "carnival", "fasching": "carnival", "fastnacht": "carnival", "weiberfastnacht": "carnival thursday",
    "rosenmontag": "rose monday", "faschingsdienstag": "shrove tuesday", "fastnachtsdienstag": "shrove tuesday",
    "aschermittwoch": "ash wednesday", "muttertag": "mother's day",
    "schwarzer freitag": "black friday",
}  # fmt: skip
HOLIDAY_NAMES |= {
    f"{number}{ending} {word}": f"advent {at}"
    for at, number in enumerate(("erste", "zweite", "dritte", "vierte"), 1)
    for ending in ("n", "r")
    for word in ("advent", "adventssonntag")
}
HOLIDAY_NAMES |= {f"{at}. {word}": f"advent {at}" for at in (1, 2, 3, 4) for word in ("advent", "adventssonntag")}
# Words of their names that are rarely said of anything else.
HOLIDAY_STEMS = [name for name in HOLIDAY_NAMES if " " not in name] + (
    "advent weihnachtstag heilig jahren könige arbeit einheit martin himmelfahrt freitag".split()
)
# Words after which a bare year is a year: “habe ich 2025 gemacht”.
BEFORE_YEAR = frozenset(
    "ich du er sie es wir ihr man mir mich dir dich uns euch habe hab hast hat haben habt war waren wäre bin bist ist "
    "sind seid wurde wurden wird werden hatte hatten gab gibt kam kamen ging gingen nicht noch schon so auch denn "
    "eigentlich alles los genau oder und dann erst wohl machte passierte geschah".split()
)
# Nouns after which it is one in a question: what happens in a year, or is counted by years. Also ends of compounds.
EVENTS = (
    "urlaub", "urlaube", "ferien", "reise", "reisen", "ausflug", "ausflüge", "geburtstag", "hochzeit", "umzug", "feier",
    "treffen", "konzert", "konzerte", "umsatz", "steuer", "steuererklärung", "kosten", "ausgaben", "einnahmen",
    "gehalt", "wahl", "weltmeisterschaft", "olympia", "jahr", "rückblick", "bilanz", "plan", "pläne", "ziele",
    "vorsätze",
)  # fmt: skip
# Beside its subject a word in -te is a verb: “ich kochte”.
REGULAR_PAST = (
    r"(?!heute|bitte|möchte|könnte|sollte|müsste|dürfte|würde|letzte|erste|zweite|dritte|nächste|beste|gute|alte|rote"
    r"|\w*(?:arbeite|warte|miete|biete|heirate|teste|starte|leite|reite|halte|rate|rette|wette|koste|leiste|miste)\b)"
    r"[a-zäöüß]{2,}te(?:n|st|t)?"
)
PAST = (
    r"\b(?:war|waren|warst|hatte|hatten|kam|kamen|ging|gingen|gab|sah|sahen|fuhr|fuhren|fand|rief|traf|trafen|aß|"
    r"schrieb|las|lief|blieb|bekam|brachte|dachte|wusste|wurde|wurden|sagte|machte|kaufte|erzählte|gewesen|"
    r"(?:flog|schwamm|trank|nahm|sprach|half|schlief|verlor|stand|saß|gewann|lud|schnitt|verbrachte|fiel|hielt|"
    r"ließ|lag|stieg|zog|rannte|brannte|starb|warf|begann|verließ|vergaß|gefiel|brach|sang|sprang|stahl|trug|wusch)(?:en|t|st)?|"
    rf"(?-i:(?:[Ii]ch|[Ww]ir|[Ee]r|[Ss]ie|[Ee]s|[Mm]an)\s+{REGULAR_PAST}|{REGULAR_PAST}\s+(?:ich|wir|er|sie|es|man))|"
    r"(?:an|auf|aus|ab|ein|mit|vor|zu|um|weg|los|nach|her|hin|be|ver|er|ent|zer)?ge[a-zäöüß]{2,}(?:t|en)|"
    r"(?:be|ver|er|ent|zer)[a-zäöüß]{3,}t)\b"
    r"(?<!gebucht)(?<!geplant)(?<!vereinbart)(?<!gegen)(?<!verschoben)(?<!eingeladen)(?<!gegeben)"
)
# “Habe am Freitag eine Prüfung” is to come, “habe am Freitag die Prüfung bestanden” has been. Nouns are no participles.
HAVE = r"\b(?:habe?|hast|haben|habt)\b"
PARTICIPLE = (
    r"\b(?-i:[a-zäöü]*ge[a-zäöüß]{2,}(?:t|en)|(?:be|ver|er|ent|emp|zer|über|unter|miss|wider|hinter)[a-zäöüß]{2,}(?:t|en)|"
    r"[a-zäöü]{2,}iert)\b"
)
# With a participle: what is still to be done, “wird geliefert”.
TO_BE_DONE = (
    r"\b(?:werde|wirst|wird|werdet|werden|muss|musst|müssen|müsst|soll|sollst|sollen|will|willst|wollen|möchten?|"
    r"lasse|lässt|lassen|kann|können|darf|dürfen)\b"
)
# Strong verbs in the past tense, which are no nouns: “biss”, “zerriss”, “schoben”.
STRONG_PAST = (
    r"\b(?-i:(?:an|auf|aus|ab|ein|mit|vor|zu|um|weg|los|nach|her|hin|be|ver|er|ent|emp|zer|über|unter|miss|ge|wider)?"
    r"(?:aß|barg|barst|bat|band|befahl|biss|blieb|blies|bog|bot|brach|briet|buk|drang|fahl|fand|fiel|fing|floh|floss|flog|"
    r"fraß|fror|fuhr|gab|ging|glich|glitt|goss|griff|grub|hielt|hieß|hing|hob|kam|klang|kniff|kroch|lag|las|lief|lieh|ließ|"
    r"litt|log|lud|maß|mied|nahm|noss|pfiff|rang|rann|rief|riet|riss|ritt|roch|sah|sang|sank|saß|sann|schah|schied|schien|"
    r"schlich|schlief|schloss|schlug|schmiss|schmolz|schnitt|schob|schor|schoss|schrak|schrie|schrieb|schuf|schwamm|"
    r"schwand|schwang|schwieg|schwoll|schwor|soff|sog|spann|sprach|sprang|stach|stahl|stand|starb|stieg|stieß|stank|strich|"
    r"stritt|tat|traf|trank|trat|trieb|trog|trug|verdarb|verlor|wandte|warb|warf|wich|wies|wob|wog|wuchs|wusch|zog|zwang)"
    r"(?:en|e?st|e?t|n)?|gelang)\b"
)
# What happens to one, and is seldom arranged: “Zahnschmerzen am Montag”; not “Tabletten gegen Kopfschmerzen”.
MISHAP = (
    r"(?<!gegen )(?<!bei )(?<!für )\b(?:krank|unwohl|\w*schmerzen|fieber|migräne|erkältung|grippe|husten|schnupfen|"
    r"durchfall|übelkeit|nasenbluten|streit|krach|zoff|(?:dauer|stark|platz|niesel)?regen|gewitter|sturm|hagel|schnee|nebel|glatteis|stromausfall|"
    r"unfall|panne|stau)\b"
)
LOOKS_BACK = (
    rf"{STRONG_PAST}|{MISHAP}|"
    rf"{HAVE}[^,;]*?{PARTICIPLE}|\b(?-i:(?!heute|bitte|(?:möch|könn|soll|müss|dürf)te)[a-zäöüß]{{3,}}te[nt]?)\b|"
    r"\bdanke\b|^\W*(?:(?:was|so|ein\w*|sehr|ganz|echt)\s+)*(?:schön|toll|wunderbar|herrlich|lecker|langweilig|furchtbar|"
    r"anstrengend|gemütlich)(?:e[nrsm]?)?\b"
)
# Agreed in the past for a time to come.
AGREED = (
    r"\b(?:versprochen|zugesagt|verabredet|eingeladen|einladung|gebeten|vorgenommen|"
    r"(?:karten?|tickets?|plätze)\s+für)\b"
)
# What is arranged before it takes place; the time may be that of either.
ARRANGED = (
    r"\b(?:gebucht|reserviert|angemeldet|vereinbart|ausgemacht|eingetragen|karten?|tickets?|reservierung|buchung)\b"
)
FUTURE = (
    r"\bnicht\s+vergessen\b|"
    r"\b(?:werde|wirst|wird|werden|kommt|kommen|komme|ist|sind|bin|muss|müssen|soll|sollen|sollte|will|wollen|möchte|"
    r"fährt|fahre|fahren|fliegt|fliege|fliegen|beginnt|startet|endet|steht|termin|plane|planen|besucht|besuche|reise|"
    r"reist|reisen|öffnet|schließt|findet|gibt|hat|zieht|erinnere|kommende[nrsm]?|gehe|geht|treffe|treffen|bringt|lasse|lässt|lassen)\b"
)
