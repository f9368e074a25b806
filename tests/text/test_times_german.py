"""Times in German: questions and statements made on Wednesday, 20 May 2026."""

from __future__ import annotations

import pytest

from .time_kit import read, rows

QUESTIONS = """
Was war heute vor einem Jahr? | 2025-05-20
Wo war ich letztes Jahr um diese Zeit? | 2025-05-01..2025-06-01
Was tat ich um diese Zeit letzte Woche? | 2026-05-13
Was lief im Laufe der Woche? | 2026-05-18..2026-05-25
Was war in den 90ern? | 1990-01-01..2000-01-01
Was war in den Achtzigern? | 1980-01-01..1990-01-01
Was gab es vorgestern Abend? | 2026-05-18
Wer hat gestern Morgen angerufen? | 2026-05-19
Was war letzte Woche Dienstag? | 2026-05-12
Was war am Dienstag letzter Woche? | 2026-05-12
Was war vorletzte Woche? | 2026-05-04..2026-05-11
Was habe ich vor einem Jahr gemacht? | 2025-01-01..2026-01-01
Was war vor anderthalb Jahren? | 2024-11-01..2024-12-01
Was war Mitte letzten Monats? | 2026-04-11..2026-04-21
Was plante ich Anfang des Jahres? | 2026-01-01..2026-04-01
Was geschah Ende 2025? | 2025-10-01..2026-01-01
Wo war ich im Herbst 2025? | 2025-09-01..2025-12-01
Wie war der Umsatz im 3. Quartal? | 2025-07-01..2025-10-01
Was ist seit Anfang Mai neu? | 2026-05-01..
Was war zwischen dem 3. und 9. Mai? | 2026-05-03..2026-05-10
Was lief vom 3. bis 9. Mai? | 2026-05-03..2026-05-10
Was war bis vor zwei Wochen hier? | ..2026-05-11
Wer kam an Heiligabend? | 2025-12-24
Was habe ich am Nikolaustag bekommen? | 2025-12-06
Was war am Tag der Deutschen Einheit? | 2025-10-03
Wo waren wir an Pfingsten? | 2025-06-08..2025-06-10
Was war am ersten Mai? | 2026-05-01
was habe ich letzten freitag gesagt | 2026-05-15
Was war im letzten Sommer? | 2025-06-01..2025-09-01
Was haben wir am 12. besprochen? | 2026-05-12
Was habe ich vor einundzwanzig Tagen gekauft? | 2026-04-29
Was war in der zweiten Maihälfte 2025? | 2025-05-16..2025-06-01
Was war in der letzten Aprilwoche? | 2026-04-24..2026-05-01
Was war im Laufe des letzten Monats? | 2026-04-01..2026-05-01
Was geschah nach Ostern? | 2026-04-07..
Was war vor letzter Woche? | ..2026-05-11
Was steht nächste Woche an? | 2026-05-25..2026-06-01
Was ist morgen? | 2026-05-21
Was war Anfang der Woche? | 2026-05-18..2026-05-20
Was war in den letzten zwei Wochen? | 2026-05-06..2026-05-21
Was habe ich dieses Jahr gelesen? | 2026-01-01..2027-01-01
Welche Filme sah ich in diesem Monat? | 2026-05-01..2026-06-01
Was passierte am Montagabend? | 2026-05-18
Was war 2024? | 2024-01-01..2025-01-01
Was stand am 1.2. im Kalender? | 2026-02-01
Was war im ersten Halbjahr 2025? | 2025-01-01..2025-07-01
Was habe ich im März letzten Jahres gemacht? | 2025-03-01..2025-04-01
Was kam zwischen Oktober und Januar? | 2025-10-01..2026-02-01
Wer war letzte Nacht hier? | 2026-05-19
Was war ab dem 10. Mai? | 2026-05-10..
Was habe ich am vergangenen Wochenende gemacht? | 2026-05-16..2026-05-18
Was war am letzten Dienstag? | 2026-05-19
Wen habe ich am Donnerstagabend getroffen? | 2026-05-14
Was war los, als wir am 3. Mai 2025 wanderten? | 2025-05-03
Was stand in der Mail vom 3. Mai? | 2026-05-03
Was stand in der Mail vom Montag? | 2026-05-18
Was habe ich zum Valentinstag verschenkt? | 2026-02-14
Was war in der Woche nach Ostern? | 2026-04-13..2026-04-20
Was war in der Woche vor Ostern? | 2026-03-23..2026-03-30
Wie viel habe ich im vergangenen Jahr verdient? | 2025-01-01..2026-01-01
Wie viel habe ich im Vorjahr verdient? | 2025-01-01..2026-01-01
Was habe ich Anfang letzten Jahres gekauft? | 2025-01-01..2025-04-01
Was hat sich seit letztem Jahr verändert? | 2025-01-01..
Was hat sich seit gestern verändert? | 2026-05-19..
Was haben wir vom 1. April bis zum 3. Mai ausgegeben? | 2026-04-01..2026-05-04
Was haben wir von März bis Mai ausgegeben? | 2026-03-01..2026-06-01
Was haben wir zwischen 2023 und 2024 ausgegeben? | 2023-01-01..2025-01-01
Was habe ich vor zwei Jahren gemacht? | 2024-01-01..2025-01-01
Was war vor einer Woche? | 2026-05-11..2026-05-18
Was war vor ein paar Tagen? | 2026-05-17
Was war vor einem Monat? | 2026-04-01..2026-05-01
Was war vor einem halben Jahr? | 2025-11-01..2025-12-01
Was war am ersten Montag im Mai? | 2026-05-04
Was war am letzten Freitag im April? | 2026-04-24
Was war in der ersten Hälfte des Monats? | 2026-05-01..2026-05-16
Was war zu Jahresbeginn? | 2026-01-01..2026-04-01
Was war Ende letzter Woche? | 2026-05-15..2026-05-18
Was war Mitte der Woche? | 2026-05-20..2026-05-22
Was war am Ostermontag? | 2026-04-06
Was habe ich an Neujahr gemacht? | 2026-01-01
Was war zwischen den Jahren? | 2025-12-27..2025-12-31
Was haben wir bis Montag geschafft? | ..2026-05-19
Was war nach dem Wochenende? | 2026-05-18..
Was habe ich am dritten Mai gegessen? | 2026-05-03
was war im märz | 2026-03-01..2026-04-01
Was war im Winter 2024? | 2024-12-01..2025-03-01
Was war im Jahr 2023? | 2023-01-01..2024-01-01
Was ist in dieser Woche passiert? | 2026-05-18..2026-05-25
Was ist heute früh passiert? | 2026-05-20
Was ist übermorgen? | 2026-05-22
Was habe ich in den vergangenen drei Wochen gelernt? | 2026-04-29..2026-05-21
Was war am 5.12.25? | 2025-12-05
Was war am 05.12.? | 2025-12-05
Was kam vor dem 10. Mai an? | ..2026-05-10
Was war letztes Weihnachten? | 2025-12-24..2025-12-27
Was war an Ostern 2024? | 2024-03-29..2024-04-02
Was war vor Weihnachten? | ..2025-12-24
Wie war das Wetter letzten Mai? | 2025-05-01..2025-06-01
Wie war der Urlaub 2023? | 2023-01-01..2024-01-01
Stromkosten 2023 | 2023-01-01..2024-01-01
"""
NO_TIME = """
Was war am 30.2.?
Guten Morgen, wie heißt die Katze?
Wo wohnt Herr Winter?
Was mache ich montags?
Mag August Kuchen?
Wie macht man Mai Tai?
Was steht in Kapitel 2024?
Wie lange dauern drei Wochen Urlaub?
Was kostet Zimmer 3.11.?
Nehme ich jeden Morgen Vitamine?
Was war der letzte Punkt?
Wer ist der Zweite?
Wo ist Sommer, der Kater?
Ist der Mai Tai gut?
Was ist in drei Sekunden zu sehen?
Wie viele Tage hat ein Jahr?
Was kostet das Modell 2024?
Was liegt in Kiste 2024?
2024
Kostet es 2024 Euro?
Wer ist am ersten Tisch?
Ich bin 12. Wie alt ist sie?
Was ist die zweite Regel?
Am Morgen nehme ich was?
Wie heißt Frau Freitag?
Was mache ich jeden Dienstag?
Ist Version 1.2. stabil?
"""
STATEMENTS = """
Gestern habe ich das Rad repariert. | 2026-05-19
Am Samstag kam der Schornsteinfeger. | 2026-05-16
Am Samstag kommt der Schornsteinfeger. | 2026-05-23
Ich bin am Samstag nach Köln gefahren. | 2026-05-16
Meine Schwester besucht uns am Freitag. | 2026-05-22
Die Prüfung ist am Montag. | 2026-05-25
Ich habe einen Tisch für den 12. September gebucht. | 2026-09-12
Der Zahnarzttermin ist am 21. | 2026-05-21
Nächste Woche fliege ich nach Rom. | 2026-05-25..2026-06-01
Ich rufe ihn morgen an. | 2026-05-21
Guten Morgen! | none
Heute Morgen gab es Toast. | 2026-05-20
Morgen kommt Anna. | 2026-05-21
In zwei Wochen endet der Vertrag. | 2026-06-01..2026-06-08
Letzten Freitag haben wir Sushi gegessen. | 2026-05-15
Im März habe ich die Bohrmaschine gekauft. | 2026-03-01..2026-04-01
Im Sommer trinke ich Eistee. | none
Jeden Montag gehe ich schwimmen. | none
Montags gehe ich schwimmen. | none
Ich war zwei Wochen krank. | none
Seit Montag bin ich krank. | 2026-05-18..
Ich wohne seit 2019 hier. | 2019-01-01..
Wir haben uns am 12. getroffen. | 2026-05-12
Wir waren am Wochenende im Zoo. | 2026-05-16..2026-05-18
Vorgestern habe ich einen Fuchs gesehen. | 2026-05-18
Herr Winter wohnt nebenan. | none
Ich habe die Karten bestellt. Sie kommen im Juli. Das wurde mir gesagt. | 2026-07-01..2026-08-01
Bis Freitag brauche ich das Auto. | ..2026-05-23
Ab Montag arbeite ich in Bonn. | 2026-05-25..
Chor ist Dienstag und Donnerstag. | none
Am Samstag wird der Kühlschrank geliefert. | 2026-05-23
Am Samstag wurde der Kühlschrank geliefert. | 2026-05-16
Der Kamin muss am 2. Juni gekehrt werden. | 2026-06-02
Ich habe Karten für das Ballett am 2. Juni gekauft. | 2026-06-02
Wir haben am 11. Mai Karten für das Ballett gekauft. | 2026-05-11
Ich lasse mir am Samstag die Haare schneiden. | 2026-05-23
Ich habe am Freitag einen Zahnarzttermin. | 2026-05-22
Am Samstag haben wir Besuch. | 2026-05-23
Ich habe am Freitag den Schlüssel verloren. | 2026-05-15
Am Freitag habe ich die Prüfung bestanden. | 2026-05-15
Am Freitag Friseur um 15 Uhr. | 2026-05-22
Freitag Reifen geplatzt, 60 Euro. | 2026-05-15
Abendessen mit Ada am Samstag in der Trattoria. | 2026-05-23
Flohmarkt am Samstag, Bargeld mitnehmen. | 2026-05-23
Am Samstag Abendessen mit Ada gehabt. | 2026-05-16
Am Samstag kochte ich Suppe. | 2026-05-16
Am Samstag fiel der Strom aus. | 2026-05-16
Am Samstag feierte Oma ihren Achtzigsten. | 2026-05-16
Schöner Abend mit Ada am Samstag. | 2026-05-16
Am Samstag haben wir im Regen Würste bekommen. | 2026-05-16
Wir fliegen am 19. Dezember nach Rom, zurück am 27., Hotel Lava. | 2026-12-19 2026-12-27
Mein Pass läuft am 20. Juni 2027 ab, Zahnarzt am 3. | 2027-06-20 2026-06-03
Wir fliegen am 19. Dezember nach Rom und kommen am 27. zurück. | 2026-12-19 2026-12-27
Zahnschmerzen am Montag. | 2026-05-18
Der Hund biss am Montag den Briefträger. | 2026-05-18
Am Montag goss Oma die Blumen. | 2026-05-18
Am Samstag schoben wir den Wagen nach Hause. | 2026-05-16
Streit mit Tom am Samstag. | 2026-05-16
Krank am Montag. | 2026-05-18
Tabletten gegen Kopfschmerzen am Samstag holen. | 2026-05-23
Regenjacke am Samstag mitnehmen. | 2026-05-23
Band spielt am Samstag. | 2026-05-23
Die Boten am Samstag bezahlen. | 2026-05-23
Grippeimpfung am Samstag. | 2026-05-23
"""


@pytest.mark.parametrize(("question", "span"), rows(QUESTIONS))
def test_a_question_names_a_span(question: str, span: str) -> None:
    assert read(question) == span


@pytest.mark.parametrize("question", NO_TIME.strip().splitlines())
def test_words_that_only_look_like_a_time_stay_words(question: str) -> None:
    assert read(question) == "none"


@pytest.mark.parametrize(("statement", "span"), rows(STATEMENTS))
def test_a_statement_tells_when(statement: str, span: str) -> None:
    assert read(statement, told=True) == span
