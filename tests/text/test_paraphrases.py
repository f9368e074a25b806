"""Paraphrases: pairs that say the same, and pairs that do not; those with another value are never taken as the same."""

from __future__ import annotations

import pytest

from recollect.text.paraphrases import Paraphrase

SAME = [
    ("The battery lasts about two hours.", "The battery lasts roughly two hours."),
    ("Charging takes approximately 40 minutes.", "Charging takes around 40 minutes."),
    ("The battery lasts about two hours.", "The battery lasts for about 2 hours."),
    ("A smooth surface needs more force.", "Smooth surfaces require more force."),
    ("Wet glasses slip below 8 N.", "Wet glasses slip at less than 8 N."),
    ("Drive slowly when the floor is wet.", "When the floor is wet, drive slowly."),
    ("If the lid is stuck, turn it clockwise first.", "Turn it clockwise first if the lid is stuck."),
    ("The printer does not accept thick paper.", "The printer doesn't accept thick paper."),
    ("Anna prefers tea in the morning.", "In the morning Anna prefers tea."),
    ("The spare key is in the kitchen drawer.", "The spare key is kept in the kitchen drawer."),
    ("The robot must stop before the stairs.", "The robot has to stop before the stairs."),
    ("The shelf can carry 12 kg.", "The shelf can carry twelve kilograms."),
    ("It is important to rinse the filter weekly.", "Rinse the filter every week."),
    ("The corridor is 90 cm wide.", "The corridor is 90 centimetres wide."),
    ("Heavy boxes should be lifted with both arms.", "Lift heavy boxes with both arms."),
    ("The door sensor fails when it is cold.", "The door sensor fails in the cold."),
    ("The camera needs to be calibrated every 30 days.", "The camera needs calibration every 30 days."),
    ("Please note that the lift is slow.", "Note that the lift is slow."),
    ("The lift is very slow.", "The lift is really slow."),
    ("The customer wants the report by Friday.", "The customer would like the report by Friday."),
    ("Bob's office is on the third floor.", "The office of Bob is on the third floor."),
    ("The server restarts at 3 am every night.", "Every night the server restarts at 3 am."),
    ("Grip eggs gently.", "Eggs have to be gripped gently."),
    ("The arm overheats after 20 minutes of work.", "After 20 minutes of work, the arm overheats."),
    ("The dishwasher takes about ninety minutes.", "The dishwasher takes approximately 90 minutes."),
    ("Metal spoons scratch the pan.", "The pan is scratched by metal spoons."),
    ("You need at least 3 people to carry the sofa.", "You need a minimum of three people to carry the couch."),
    ("The ramp isn't safe in winter.", "In winter the ramp is not safe."),
    ("Grasp the bottle near its neck.", "Grip the bottle near its neck."),
    ("Mia's bike is in the cellar.", "Mia's bicycle is stored in the cellar."),
    ("The sensor often reports wrong values.", "The sensor frequently reports incorrect values."),
    ("Clean the lens daily.", "Clean the lens every day."),
    ("The drawer sticks, so pull hard.", "Pull hard because the drawer sticks."),
    ("It's forbidden to smoke near the tank.", "Smoking near the tank is prohibited."),
]
MISSED = {  # another construction: each is kept as a memory of its own
    "It is important to rinse the filter weekly.",
    "Heavy boxes should be lifted with both arms.",
    "The door sensor fails when it is cold.",
    "Grip eggs gently.",
    "Metal spoons scratch the pan.",
    "The drawer sticks, so pull hard.",
    "It's forbidden to smoke near the tank.",
}
DIFFERENT = [
    ("The battery lasts about two hours.", "The battery lasts about three hours."),
    ("The battery lasts about two hours.", "The battery lasts about two days."),
    ("Charging takes approximately 40 minutes.", "Charging takes approximately 40 seconds."),
    ("Wet glasses slip below 8 N.", "Wet glasses slip above 8 N."),
    ("Wet glasses slip at less than 8 N.", "Wet glasses slip at more than 8 N."),
    ("The corridor is 90 cm wide.", "The corridor is 90 mm wide."),
    ("The corridor is 90 cm wide.", "The corridor is 90 cm high."),
    ("Anna prefers tea in the morning.", "Hanna prefers tea in the morning."),
    ("Anna prefers tea in the morning.", "Anna prefers tea in the evening."),
    ("Bob's office is on the third floor.", "Bob's office is on the fourth floor."),
    ("The spare key is in the kitchen drawer.", "The spare key is in the bathroom drawer."),
    ("The printer accepts thick paper.", "The printer doesn't accept thick paper."),
    ("The camera works in the dark.", "The camera hardly works in the dark."),
    ("Charging takes at least 40 minutes.", "Charging takes at most 40 minutes."),
    ("Drive slowly when the floor is wet.", "When the floor is dry, drive slowly."),
    ("Stop before the stairs.", "Stop after the stairs."),
    ("Close the valve before you open the tap.", "Before you close the valve, open the tap."),
    ("The report is due on Friday.", "The report is due on Monday."),
    ("The report was due on Friday.", "The report will be due on Friday."),
    ("Put the red cup on the blue plate.", "Put the blue cup on the red plate."),
    ("The server restarts at 3 am every night.", "The server restarts at 3 pm every night."),
    ("The server restarts every night.", "The server restarts every week."),
    ("Robot A hands the part to robot B.", "Robot B hands the part to robot A."),
    ("The door sensor fails in the cold.", "The window sensor fails in the cold."),
    ("The customer wants the report.", "The customer wrote the report."),
    ("All doors are locked at night.", "Some doors are locked at night."),
    ("The shelf can carry 12 kg.", "The shelf can carry 1.2 kg."),
    ("The shelf can carry 12 kg.", "The shelf cannot carry 12 kg."),
    ("The arm overheats after twenty minutes.", "The arm overheats after twenty-five minutes."),
    ("Paul moved from Rome to Oslo.", "Paul moved from Oslo to Rome."),
    ("Lift boxes only with both arms.", "Lift boxes with both arms."),
    ("The tank is half full.", "The tank is full."),
    ("Only Anna may open the safe.", "Anna may open the safe."),
    ("The meeting might be on Friday.", "The meeting is on Friday."),
    ("Use the soft gripper for grapes.", "Use the soft gripper for apples."),
    ("The lift is very slow.", "The lift is not very slow."),
    ("Rinse the filter once a week.", "Rinse the filter twice a week."),
    ("My sister lives in Leeds.", "My brother lives in Leeds."),
    ("The pump ran until 5 o'clock.", "The pump ran from 5 o'clock."),
    ("Ask me before you delete files.", "Ask him before you delete files."),
    ("The dishwasher takes ninety minutes.", "The dishwasher takes nineteen minutes."),
    ("Carry it with at least 3 people.", "Carry it with more than 3 people."),
    ("Use C++ for the driver.", "Use C# for the driver."),
    ("The laser emits 5 mW.", "The laser emits 5 MW."),
    ("Martin lives in Leeds.", "Martins lives in Leeds."),
    ("The server restarted at noon.", "The server restarts at noon."),
    ("The robot need not stop.", "The robot must not stop."),
    ("Keep 5-8 cm distance.", "Keep 58 cm distance."),
    ("Open the tap. Before lunch close the valve.", "Before lunch close the valve. Open the tap."),
    ("The lift is too slow.", "The lift is very slow."),
    ("Move 5 mm.", "Move -5 mm."),
    ("The pump works between 20 and 50 bar.", "The pump works between 20 and 60 bar."),
    ("Der Schalter ist links von der Tür.", "Der Schalter ist rechts von der Tür."),
    ("门在左边。", "门在右边。"),
    ("The door is open.", "The door is open?"),
]

# German and Chinese: no rules, so nothing but the same words is the same.
DIFFERENT_ELSEWHERE = [
    ("Das Laden dauert zwei Stunden.", "Das Laden dauert drei Stunden."),
    ("Der Greifer hält 8 N.", "Der Greifer hält 9 N."),
    ("Der Griff ist 1,5 m hoch.", "Der Griff ist 15 m hoch."),
    ("Der Tisch ist 1.500 mm lang.", "Der Tisch ist 1,5 mm lang."),
    ("Die Tür ist offen.", "Die Tür ist nicht offen."),
    ("Die Tür ist offen.", "Die Tür ist kein bisschen offen."),
    ("Die Maße sind wichtig.", "Die Masse sind wichtig."),
    ("Es ist schon warm.", "Es ist schön warm."),
    ("Die Tasse steht links.", "Die Tasse steht rechts."),
    ("Kaffee mit Zucker.", "Kaffee ohne Zucker."),
    ("Vor dem Essen lüften.", "Nach dem Essen lüften."),
    ("Das Glas ist voll.", "Das Glas ist leer."),
    ("Anna hat den Schlüssel.", "Ben hat den Schlüssel."),
    ("Den Schlüssel hat Anna Ben gegeben.", "Den Schlüssel hat Ben Anna gegeben."),
    ("Der Hund beißt den Mann.", "Den Hund beißt der Mann."),
    ("Um 10 Uhr beginnt es.", "Um 11 Uhr beginnt es."),
    ("Temperatur −5 °C", "Temperatur 5 °C"),
    ("Mindestens 3 Schrauben.", "Höchstens 3 Schrauben."),
    ("Der Motor lief.", "Der Motor läuft."),
    ("Ist die Tür offen?", "Die Tür ist offen."),
    ("Er mag keine Nüsse.", "Er mag Nüsse."),
    ("Das Tor drucken.", "Das Tor drücken."),
    ("充电需要两个小时。", "充电需要三个小时。"),
    ("杯子在左边。", "杯子在右边。"),
    ("门是开着的。", "门不是开着的。"),
    ("门开了。", "门没开。"),
    ("我喜欢咖啡。", "我不喜欢咖啡。"),
    ("他比我高。", "我比他高。"),
    ("先洗手再吃饭。", "先吃饭再洗手。"),
    ("房间有十个人。", "房间有十一个人。"),
    ("速度是1.5米每秒。", "速度是15米每秒。"),
    ("小明借给小红一百元。", "小红借给小明一百元。"),
    ("会议在星期一。", "会议在星期二。"),
    ("温度是-5度。", "温度是5度。"),
    ("至少三个螺丝。", "至多三个螺丝。"),
    ("电机停了吗？", "电机停了。"),
    ("他已经走了。", "他还没走。"),
    ("两点开始。", "两点半开始。"),
    ("买东西", "买西东"),
    ("一万元", "一千元"),
    ("加热到90度", "加热到90分钟"),
]
SAME_ELSEWHERE = [
    ("Das Laden dauert zwei Stunden.", "das Laden dauert  zwei Stunden"),
    ("Der Griff ist 1,5 m hoch!", "Der Griff ist 1,5 m hoch"),
    ("充电需要两个小时。", "充电需要两个小时"),
    ("温度是-5度。", "温度是 -5 度"),
]


@pytest.mark.parametrize(("a", "b"), [pair for pair in SAME if pair[0] not in MISSED])
def test_the_same_in_other_words_is_recognised_both_ways(a: str, b: str) -> None:
    assert Paraphrase(a).sameness_reason(Paraphrase(b))
    assert Paraphrase(b).sameness_reason(Paraphrase(a))


@pytest.mark.parametrize(("a", "b"), [*DIFFERENT, *DIFFERENT_ELSEWHERE])
def test_another_figure_unit_name_place_object_or_polarity_is_never_the_same(a: str, b: str) -> None:
    assert not Paraphrase(a).sameness_reason(Paraphrase(b))
    assert not Paraphrase(b).sameness_reason(Paraphrase(a))


@pytest.mark.parametrize(("a", "b"), SAME_ELSEWHERE)
def test_in_german_and_chinese_the_same_words_are_the_same(a: str, b: str) -> None:
    assert Paraphrase(a).sameness_reason(Paraphrase(b)) == "the same words"


def test_of_these_pairs_four_in_five_are_recognised() -> None:
    found = [pair for pair in SAME if Paraphrase(pair[0]).sameness_reason(Paraphrase(pair[1]))]
    assert (len(found), len(SAME)) == (27, 34)


def test_the_reason_names_the_words_that_differ() -> None:
    about, roughly = Paraphrase("It lasts about two hours."), Paraphrase("It lasts roughly two hours.")
    assert about.sameness_reason(roughly) == "the same words, but for 'about' and 'roughly'"
    assert about.sameness_reason(Paraphrase("it lasts about two hours")) == "the same words"


def test_texts_of_any_length_are_compared_in_bounded_time() -> None:
    long = "when it is wet in the hall " * 10_000
    assert Paraphrase(long).sameness_reason(Paraphrase(long))
    assert not Paraphrase(long).sameness_reason(Paraphrase(long + "today"))
