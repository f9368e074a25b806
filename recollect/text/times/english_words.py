"""English words for months, days, numbers and holidays, and those that tell a time from a name."""

from __future__ import annotations

from recollect.text.irregular_forms import past_forms
from recollect.text.stopwords import ENGLISH as STOP_WORDS
from recollect.text.times.grammar import alternatives

MONTHS = {
    name: at
    for at, name in enumerate(
        "january february march april may june july august september october november december".split(), 1
    )
}
SHORT_MONTHS = {name[:3]: at for name, at in MONTHS.items() if name != "may"} | {"sept": 9}
# Also names of people, or other words: a month only where the words around it say so.
AMBIGUOUS_MONTHS = {"april", "may", "june", "august", "jan", "mar", "march", "dec"}
WEEKDAYS = {name: at for at, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())}
SHORT_WEEKDAYS = {
    "mon": 0,
    "tue": 1,
    "tues": 1,
    "wed": 2,
    "thu": 3,
    "thur": 3,
    "thurs": 3,
    "fri": 4,
    "sat": 5,
    "sun": 6,
}
SEASONS = {
    "spring": 0,
    "springtime": 0,
    "summer": 1,
    "summertime": 1,
    "autumn": 2,
    "fall": 2,
    "winter": 3,
    "wintertime": 3,
}
UNIT = "day|week|fortnight|weekend|month|quarter|year|decade|hour|minute"
SHORT_UNITS = {"yr": "year", "mth": "month", "wk": "week", "hr": "hour", "min": "minute"}
LONG_UNIT = "day|week|fortnight|month|year"

ONES = "one two three four five six seven eight nine".split()
TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBERS = {name: at for at, name in enumerate(ONES + TEENS, 1)}
NUMBERS |= {name: 10 * at for at, name in enumerate(TENS, 2)}
NUMBERS |= {
    "a": 1,
    "an": 1,
    "couple of": 2,
    "couple": 2,
    "few": 3,
    "several": 4,
    "some": 3,
    "half a dozen": 6,
    "dozen": 12,
}
NUMBERS |= {f"a {name}": NUMBERS[name] for name in ("couple of", "couple", "few", "dozen")}
NUMBER = rf"\d{{1,4}}|(?:{'|'.join(TENS)})[-\s](?:{'|'.join(ONES)})|{alternatives(NUMBERS)}"
ORDINALS = {
    name: at
    for at, name in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third "
        "twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth "
        "thirty-first".split(),
        1,
    )
}
ORDINAL = rf"\d{{1,2}}(?:st|nd|rd|th)|{alternatives(ORDINALS)}"
DECADES = {name: 1900 + 10 * at for at, name in enumerate(
    "twenties thirties forties fifties sixties seventies eighties nineties".split(), 2)}  # fmt: skip
RELATIVE_DAYS = {
    "the day before yesterday": -2, "day before yesterday": -2, "the night before last": -2, "yesterday": -1,
    "last night": -1, "today": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "this night": 0,
    "tonight": 0, "earlier today": 0, "later today": 0, "tomorrow": 1, "the day after tomorrow": 2,
    "day after tomorrow": 2,
}  # fmt: skip
PARTS = {
    "early": "early", "beginning": "early", "start": "early", "first part": "early",
    "first days": "early", "mid": "mid", "middle": "mid",
    "late": "late", "end": "late", "close": "late", "latter part": "late",
    "last days": "late",
}  # fmt: skip
RELATIONS = {
    "since": "since", "ever since": "since", "starting": "starting", "starting in": "starting",
    "starting on": "starting", "starting from": "starting", "as of": "starting",
    "before": "before", "prior to": "before", "earlier than": "before",
    "after": "after", "later than": "after", "following": "after", "until": "until", "till": "until", "up to": "until",
    "up until": "until", "up till": "until", "through": "until", "by": "by", "no later than": "by",
    "not later than": "by", "from": "from", "between": "between", "in between": "between",
}  # fmt: skip
RELATIONS_AFTER = {
    "onwards": "starting", "onward": "starting", "on": "starting", "forward": "starting", "and later": "starting",
    "or later": "starting",
    "or earlier": "until", "and earlier": "until", "and before": "until", "or before": "until",
}  # fmt: skip
HOLIDAY_NAMES = {
    "christmas": "christmas", "xmas": "christmas", "christmastime": "christmas",
    "christmas time": "christmas", "easter time": "easter",
    "christmas eve": "christmas eve",
    "christmas day": "christmas day", "boxing day": "boxing day", "new year's eve": "new year's eve",
    "new years eve": "new year's eve", "nye": "new year's eve", "new year's day": "new year's day",
    "new years day": "new year's day", "new year's": "turn of the year", "new year": "turn of the year",
    "epiphany": "epiphany", "valentine's day": "valentine", "valentines day": "valentine", "valentine's": "valentine",
    "international women's day": "women's day", "women's day": "women's day", "st patrick's day": "st patrick",
    "st. patrick's day": "st patrick", "saint patrick's day": "st patrick", "april fools' day": "april fools",
    "april fool's day": "april fools", "april fools day": "april fools", "april fools": "april fools",
    "may day": "labour day", "independence day": "independence day", "juneteenth": "juneteenth",
    "halloween": "halloween", "all saints' day": "all saints", "all saints day": "all saints",
    "all souls' day": "all souls", "bonfire night": "bonfire night", "guy fawkes night": "bonfire night",
    "remembrance day": "remembrance", "veterans day": "remembrance", "st nicholas day": "nicholas",
    "easter": "easter", "easter weekend": "easter", "good friday": "good friday", "maundy thursday": "maundy thursday",
    "holy saturday": "holy saturday", "palm sunday": "palm sunday", "easter sunday": "easter sunday",
    "easter day": "easter sunday", "easter monday": "easter monday", "ascension day": "ascension",
    "pentecost": "pentecost", "whitsun": "pentecost", "whitsuntide": "pentecost", "whit sunday": "whit sunday",
    "whit monday": "whit monday", "corpus christi": "corpus christi", "shrove tuesday": "shrove tuesday",
    "pancake day": "shrove tuesday", "mardi gras": "shrove tuesday", "ash wednesday": "ash wednesday",
    "mother's day": "mother's day", "mothers day": "mother's day", "father's day": "father's day",
    "fathers day": "father's day", "memorial day": "memorial day", "labor day": "labor day", "labour day": "labour day",
    "thanksgiving": "thanksgiving", "thanksgiving day": "thanksgiving", "black friday": "black friday",
    "cyber monday": "cyber monday", "chinese new year": "spring festival", "lunar new year": "spring festival",
    "spring festival": "spring festival", "lantern festival": "lantern festival", "qingming": "qingming",
    "dragon boat festival": "dragon boat", "mid-autumn festival": "mid-autumn",
}  # fmt: skip
# Words of their names that are rarely said of anything else.
HOLIDAY_STEMS = [name for name in HOLIDAY_NAMES if " " not in name] + (
    "boxing year years valentine's valentines women's patrick's fools fool's may independence saints souls bonfire "
    "fawkes remembrance veterans nicholas friday thursday saturday sunday monday ascension corpus tuesday wednesday "
    "pancake mardi mother's mothers father's fathers memorial labor labour thanksgiving lunar festival".split()
)
# What may follow a holiday, an ordinal or an abbreviation that is one, rather than a part of a name.
FOLLOWS = STOP_WORDS - {"few", "more", "most", "other", "own", "same", "such"} | set(
    "go goes feel look turn work end start begin mean come happen cost "
    "last next morning afternoon evening night please one two three year years holiday holidays weekend already "
    "without together went since was were came got made said told exactly again instead either maybe later "
    "earlier".split()
)
# Verbs after a word that is a person rather than a month: “since April left”.
VERB_AFTER = (
    r"\s+(?:is|was|has|had|does|did|will|would|can|could|should|might|must|said|says|told|tells|came|comes|went|goes|"
    r"left|gave|made|got|took|saw|thinks?|thought|knows?|knew|likes?|wants?|loves?|asks|calls|[a-z]{3,}ed)\b"
)
IRREGULAR_PAST = (
    r"did|was|were|had|didn't|wasn't|weren't|hadn't|came|went|got|took|saw|gave|made|said|told|left|met|bought|brought|thought|knew|felt|ate|"
    r"drank|drove|flew|wrote|read|ran|sat|slept|spent|spoke|stood|swam|sold|sent|won|lost|paid|put|found|began|broke|"
    r"built|caught|chose|fell|forgot|grew|heard|hurt|kept|led|rang|rode|(?-i:rose)|sang|shut|threw|understood|woke|wore|"
    r"been|done|gone|seen|taken|given|became|bit|blew|cut|dealt|drew|dug|fed|fought|fled|froze|hid|hit|held|hung|laid|"
    r"learnt|lent|lit|sank|shook|shot|split|stole|stuck|struck|swept|swore|taught|tore|withdrew|withdrawn|written|driven|"
    r"drawn|shown|broken|chosen|eaten|stolen|torn|worn|"
    r"arose|awoke|bled|clung|crept|flung|forbade|foresaw|forgave|knelt|leant|leapt|lit|misheard|mislaid|mistook|"
    r"misunderstood|outgrew|overate|overcame|overdid|overheard|overslept|overspent|overtook|rebuilt|redid|repaid|"
    r"resold|rewrote|shone|shrank|slid|slung|snuck|sought|spat|sped|spilt|spoilt|sprang|spun|stank|strode|strove|stung|"
    r"swung|undid|upheld|wept|withheld|withstood|wove|wrung|bitten|blown|fallen|flown|forgotten|ridden|shaken|thrown|"
    rf"woken|{'|'.join(each for each in past_forms() if each != 'rose')}"
)
REGULAR_PAST = r"(?!need|feed|seed|speed|indeed|weed|breed|bleed|(?:wed|red|bed|led)\b)"
REGULAR_PAST += r"(?-i:[a-z]{2,}ed|(?<![\w,]\s)[A-Z][a-z]+ed)"  # not the Alfred of “with Alfred”
PAST = rf"\b(?:{IRREGULAR_PAST}|{REGULAR_PAST})\b"
# A few words up to a participle; not into another clause, such as “Ben, who called” or “as she said”.
TO_PARTICIPLE = (
    r"(?:\s+(?!(?:who|which|that|what|where|when|while|because|since|after|before|as|and|but|so|if|i|you|he|she|we|they)\b)"
    rf"[\w'-]+){{0,6}}?\s+(?!(?:did|was|were|had|came|went)\b)(?:{IRREGULAR_PAST}|set|{REGULAR_PAST})\b"
)
# After a time a word in -ed tells of the past only beside its subject: “I drink iced tea”.
PAST_AFTER = (
    rf"\b(?:{IRREGULAR_PAST})\b|^\W*(?:(?:i|we|you|he|she|it|they)|(?:the|my|our|his|her|their|an?)\s+\w+)\s+"
    rf"(?:\w+ly\s+|also\s+)?{REGULAR_PAST}\b"
)
# The past of these verbs is like the present: it is one after a subject (“Dad quit smoking”), at the beginning it is
# what is to be done (“let the cat out”). What follows tells “she set the table” from “tea set delivery”.
SUBJECT = (
    r"(?:^\W*(?:on\s+)?|[,:]\s+|\b(?:and|but|when|because|that)\s+)(?:\w+\s+and\s+)?"
    r"(?:(?:the|my|our|his|her|their|its|an?|this|that)\s+(?:[\w'-]+\s+){1,3}?|"
    r"(?!(?:please|and|then|also|don't|do|not|to|always|can|could|must|will|should|would|or|new|the|an?|my|our|his|her|"
    r"their|its|quit|beat|bet|let|set|cost|burst|upset|spread|lay|put|cut|hit|shut|read|split|hurt|shed)\b)[\w'-]+\s+)"
    r"(?:\w+ly\s+|(?:also|just|then|all|both|once|nearly|almost|even|never|again)\s+)?"
)
SAME_FORM = (
    rf"{SUBJECT}(?:quit\b(?!\s+date)|(?:beat|bet|let|set|cost|burst|upset|spread|put|cut|hit|hurt|shut|split|read|shed)"
    r"(?=\W*$|\s*[,;]|\s+(?:the|my|our|his|her|their|its|an?|me|us|him|it|them|you|some|all|too|out|up|off|in|into|on|"
    r"down|at|over|open|with|by|this|that)\b|\s+[\d£$€]|\s+(?-i:[A-Z]))|"
    r"lay(?=\s+(?:in|on|down|awake|at|by|there|under)\b))"
)
# What happens to one, and is seldom arranged: “migraine again on Tuesday”; not “headache tablets”.
MISHAP = (
    r"(?<!for )(?<!against )(?<!about )\b(?:sick|ill|poorly|unwell|migraines?|\w*aches?|fever|flu|nausea|hangover|"
    r"hungover|diarrho?ea|nosebleed|heartburn|insomnia|rain|storm|thunderstorms?|hail|snow|fog|blizzard|power\s+cut|blackout|"
    r"outage|puncture|quarrel|arguments?|accident|panic\s+attack|(?:an?|big|huge|bad|terrible|awful|another)\s+row|"
    r"row(?=\s+(?:with|between|over|about)\b))"
    r"(?=\W*$|\s*[,;]|\s+(?:on|all|again|and|in|at|with|the|from|over|so|about|between|because|but|after|during|until|"
    r"last|too|most)\b)"
)
LOOKS_BACK = (
    rf"{SAME_FORM}|{MISHAP}|"
    r"\b(?:wouldn't|couldn't|ha(?:s|ve)n't)\b|\bthank(?:s|\s+you)\b|^\W*(?:(?:what|such|an?|really|very|so)\s+)*(?:lovely|great|nice|wonderful|fantastic|amazing|"
    r"terrible|awful|horrible|delicious|brilliant|boring|exhausting)\b"
)
FUTURE = (
    # What is still to be done: “has to get his teeth cleaned”, “will be fixed”, “I'm getting my hair done”, “gets
    # delivered”; not “must have left”.
    r"(?:\b(?:(?:ha(?:s|ve)|needs?|wants?|going|ought|hopes?|plans?|supposed|due|(?:would|'d)\s+like)\s+to|needs?|wants?|"
    r"must|shall|will|won't|should|can|gonna)\b(?!\s+(?:\w+ly\s+)?have\s+\w+(?:ed|en|ne|ft|ght|st|me|de|id)\b)|"
    r"(?:(?:\b(?:am|is|are)|\b\w+'(?:m|re|s))\s+(?:getting|having)|(?<!did )(?<!didn't )(?<!to )\bget(?:s|ting)?)\b)"
    rf"{TO_PARTICIPLE}|"
    r"(?:\b(?:is|are|am)|'(?:m|re|s))\s+(?:\w+ly\s+|not\s+|being\s+)?(?:set|put|cut|held|sent|paid|sold|made|done|taken|"
    r"given|shown|built|torn|driven|written|drawn)\b|"
    # “I've got to pick her up”, “we've got guests”, “I have a haircut”
    r"(?:\bha(?:s|ve)|'(?:ve|s))\s+got\b\s+(?!\w+ed\b)\w+|\bgotta\b|"
    r"\bha(?:s|ve)\s+(?:an?|the|my|our|his|her|their|no)\b|"
    r"\bwants?\s+to\b|\b(?:don't|do\s+not)\s+forget\b|"
    # “Moving on the 22nd”
    r"(?:^\s*|[,:]\s+(?:and\s+|but\s+)?)(?!during|\w*thing\b|evening|morning|according|including)\w{2,}ing\b|"
    r"(?:\b(?:am|is|are)|\b\w+'(?:m|re|s))\s+(?:\w+ing\b(?:\s+\w+ed\b)?|\w+ed\b)|'ll\b|\b(?:it|that|she|he|there|what|who)'s\b|"
    r"\b(?:i'm|we're|they're|you're|"
    r"will|won't|shall|going\s+to|gonna|is|are|am|isn't|aren't|has\s+to|have\s+to|must|needs?\s+to|should|"
    r"would\s+like|want\s+to|plans?|planning|due|deadline|appointment|remind|reminder|coming|comes|starts|begins|"
    r"opens|closes|ends|flies|goes|takes?\s+place|departs|meets|meeting|expires|moves|let's|until|by|next|can|"
    r"may|might|could)\b|"
    # not “went to visit”: the verb before it says when that was
    r"(?<!\bto )\b(?:come|leaves?|arrives?|returns?|fly|travels?|sails?|retires?|graduates?|marr(?:y|ies)|"
    r"launch(?:es)?|visits?)\b"
)
# Agreed in the past for a time to come: “promised to call”, “invited me to dinner”, “tickets for the opera”.
AGREED = (
    r"\b(?:asked|agreed|promised|invited|arranged|decided|offered|volunteered|told|reminded|planned|intended|hoped|"
    r"committed|vowed|swore|pledged|requested|expected|supposed)\b(?:\s+[\w'-]+){0,3}?\s+to\b(?:\s+\w+)?|"
    r"\binvit(?:ed|ation)\b|\b(?:tickets?|seats?|reservations?|bookings?)\s+(?:for|to)\b"
)
# What is arranged before it takes place: “registered for the marathon”; the time may be that of either.
ARRANGED = (
    r"\b(?:booked|reserved|scheduled|rescheduled|registered|enrolled|signed\s+(?:\w+\s+)?up|subscribed|"
    r"(?:tickets?|seats?|reservations?|bookings?)(?:\s+[\w'-]+){0,2}?\s+(?:bought|booked|got|paid|ordered|reserved|made)|"
    r"(?:bought|booked|got|have|ordered|reserved|made)\b(?:\s+[\w'-]+){0,3}?\s+(?:tickets?|seats?|reservations?|bookings?))\b"
)
