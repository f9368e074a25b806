"""Times in English: questions and statements made on Wednesday, 20 May 2026."""

from __future__ import annotations

import pytest

from .time_kit import read, rows

QUESTIONS = """
what did the plumber say the day before yesterday | 2026-05-18
Did anyone ring last night? | 2026-05-19
What was I doing a fortnight ago? | 2026-05-04..2026-05-11
what happened the week before last? | 2026-05-04..2026-05-11
Where did we go the weekend before last? | 2026-05-09..2026-05-11
What did I note earlier this week? | 2026-05-18..2026-05-21
Which goals did I set at the start of the year? | 2026-01-01..2026-04-01
How much did we earn in the first half of 2025? | 2025-01-01..2025-07-01
What was revenue in H2 2025? | 2025-07-01..2026-01-01
What did I mean back in March? | 2026-03-01..2026-04-01
Who visited on the 12th? | 2026-05-12
Who visited on the 25th? | 2026-04-25
What did I eat on Christmas Eve? | 2025-12-24
Where were we on Boxing Day? | 2025-12-26
Where were we on New Year’s Day? | 2026-01-01
Whom did I write to on Valentine's Day? | 2026-02-14
What was my costume for Halloween? | 2025-10-31
what did i do last friday | 2026-05-15
what did i do in march | 2026-03-01..2026-04-01
Which books did I finish two years ago? | 2024-01-01..2025-01-01
What did we agree on Tuesday last week? | 2026-05-12
What did we agree last week on Tuesday? | 2026-05-12
What was decided in the third quarter of 2025? | 2025-07-01..2025-10-01
What happened in the last quarter? | 2026-01-01..2026-04-01
What did I plant in spring 2024? | 2024-03-01..2024-06-01
Which films did I see between Christmas and New Year's Eve? | 2025-12-24..2026-01-01
What did I spend from 1 April to 15 April? | 2026-04-01..2026-04-16
What did I spend between April 1st and 15th? | 2026-04-01..2026-04-16
Notes from 3-9 May please | 2026-05-03..2026-05-10
What did I log from Monday to Wednesday last week? | 2026-05-11..2026-05-14
Anything new since the beginning of May? | 2026-05-01..
Anything new since yesterday? | 2026-05-19..
What did I weigh before last summer? | ..2025-06-01
What was stored up to 2024? | ..2025-01-01
What did I say after the 3rd of May? | 2026-05-04..
What came in during the past two weeks? | 2026-05-06..2026-05-21
Which trips happened over the past year? | 2025-05-20..2026-05-21
What did I tell you at the end of last month? | 2026-04-21..2026-05-01
What was on the first Monday in May? | 2026-05-04
What did the boss say on the last Friday of April? | 2026-04-24
What did I eat on May the 4th? | 2026-05-04
What did I say on Mar 4? | 2026-03-04
What was written on 03.05.2026? | 2026-05-03
What did I say on 2025/11/02? | 2025-11-02
who was here on tuesday evening? | 2026-05-19
What did I do in December? | 2025-12-01..2026-01-01
Which flight did I take in the winter of 2024? | 2024-12-01..2025-03-01
What happened twenty-one days ago? | 2026-04-29
What happened half a year ago? | 2025-11-01..2025-12-01
What happened a year and a half ago? | 2024-11-01..2024-12-01
What have I planned for tomorrow? | 2026-05-21
What happened last fortnight? | 2026-05-06..2026-05-21
What did we ship in mid-2025? | 2025-05-01..2025-09-01
What was decided in week 12? | 2026-03-16..2026-03-23
What was decided in calendar week 40? | 2025-09-29..2025-10-06
Where did I live 2 yrs ago? | 2024-01-01..2025-01-01
Who rang 3 wks ago? | 2026-04-27..2026-05-04
What is on next weekend? | 2026-05-30..2026-06-01
What is on this weekend? | 2026-05-23..2026-05-25
What happened in 1850? | 1850-01-01..1851-01-01
What's on next week? | 2026-05-25..2026-06-01
What's happening this weekend? | 2026-05-23..2026-05-25
What did I say a week ago today? | 2026-05-13
Which calls came in this past month? | 2026-04-20..2026-05-21
What happened in the last days of April? | 2026-04-21..2026-05-01
What did I do at Christmas time? | 2025-12-24..2025-12-27
How did Easter go? | 2026-04-03..2026-04-07
How was Whitsun last year? | 2025-06-08..2025-06-10
What did she say in March '25? | 2025-03-01..2025-04-01
Who came by on Thanksgiving? | 2025-11-27
What was I up to in the nineties? | 1990-01-01..2000-01-01
remind me what we discussed on the evening of 3 May | 2026-05-03
What did the doctor say on Monday the 4th of May? | 2026-05-04
on mon what did the vet say | 2026-05-18
Who did I email over the weekend? | 2026-05-16..2026-05-18
Did I water the plants this past weekend? | 2026-05-16..2026-05-18
What was the weather like in Rome the summer before last? | 2024-06-01..2024-09-01
Where did I spend Christmas 2024? | 2024-12-24..2024-12-27
How much did I weigh at the end of 2025? | 2025-10-01..2026-01-01
what did we talk about a couple of days ago | 2026-05-18
What did I cook on the night of April 30th? | 2026-04-30
What was I worried about around mid-April? | 2026-04-11..2026-04-21
What was my mood in the middle of April? | 2026-04-11..2026-04-21
Show everything dated 2026-05-03T14:30 | 2026-05-03
What did I do between last Monday and Wednesday? | 2026-05-18..2026-05-21
What have we finished so far this month? | 2026-05-01..2026-05-21
What happened the day after Easter? | 2026-04-07
What happened the week after Easter? | 2026-04-13..2026-04-20
Which appointments did I have in the week of April 13? | 2026-04-13..2026-04-20
Was there any news as early as January? | 2026-01-01..2026-02-01
What did I write from 2024 to 2025? | 2024-01-01..2026-01-01
What did I pay in Q3 of last year? | 2025-07-01..2025-10-01
What did I pay in Q3 2025? | 2025-07-01..2025-10-01
How was the fourth quarter? | 2025-10-01..2026-01-01
What did I read the year before last? | 2024-01-01..2025-01-01
What did I order in Feb? | 2026-02-01..2026-03-01
Which meetings took place on Thursday, May 7? | 2026-05-07
Which meetings took place on 7th May 2025? | 2025-05-07
What happened prior to April 2026? | ..2026-04-01
What did I buy no later than 5 May? | ..2026-05-06
What did we do from March onwards? | 2026-03-01..
What did I say later than 10 May? | 2026-05-11..
Where was I six weeks ago? | 2026-04-06..2026-04-13
What happened three years ago? | 2023-01-01..2024-01-01
What did I do an hour ago? | 2026-05-20
What is planned for June? | 2025-06-01..2025-07-01
Is anything due by June? | ..2025-07-01
Which talks were postponed to May? | 2026-05-01..2026-06-01
What was planned for the third week of April? | 2026-04-15..2026-04-22
What did we decide on the last day of April? | 2026-04-30
what did i do on 12/25/2025 | 2025-12-25
What did I do on 25/12/2025? | 2025-12-25
What did Tom say yesterday morning? | 2026-05-19
What did Tom say about May yesterday? | 2026-05-19
Who called on Sunday night? | 2026-05-17
Was I ill in the autumn? | 2025-09-01..2025-12-01
Where was I last December? | 2025-12-01..2026-01-01
What did I do on my birthday last year? | 2025-01-01..2026-01-01
What was said in last week's meeting? | 2026-05-11..2026-05-18
What was said in yesterday's meeting? | 2026-05-19
What did I have for dinner on Friday? | 2026-05-15
Which invoices came in between the 5th and the 9th of May? | 2026-05-05..2026-05-10
Who did I meet from May 5th through May 9th? | 2026-05-05..2026-05-10
What happened on May 5-9, 2025? | 2025-05-05..2025-05-10
Tell me about the twenty-third of April | 2026-04-23
What did I mention on April twenty-third? | 2026-04-23
What about Easter Monday? | 2026-04-06
What did we do on Mother's Day? | 2026-05-10
What was I doing this time last year? | 2025-05-01..2025-06-01
What did I say two Fridays ago? | 2026-05-08
What was new until yesterday? | ..2026-05-20
What have I learned since the start of the year? | 2026-01-01..
What did I eat in the last week? | 2026-05-13..2026-05-21
"""
NO_TIME = """
What did I say on 31 February?
Can you march with a sore foot?
Did June call back?
What did Mark say?
Is the second shelf full?
She sat on a chair, which one?
Which 24/7 shop is nearest?
Where is the 7-Eleven?
What did I think of the 2000 model?
What's on page 12 of May's book?
Which Christmas tree did I like?
Do we have autumn leaves wallpaper?
Who wrote "7 March"?
How many days are in a month?
What do I do every Monday?
Is flat 3.12 rented?
I may fall on the ice, what helps?
What did I say at 8:30?
Who was the last guest?
How do I use the Sun library?
Who is May?
What does April like to eat?
Will August join us for dinner?
Which day suits you?
What is a good second language?
How long is a year on Mars?
Did Sunny call?
Is 1984 a good book?
What's the 90 degree angle called?
How many people fit in 2020 seats?
What's my pin, is it 2019?
What time does the shop close?
How old is the spring mattress?
What did Jan say?
Which of the two halves is bigger?
Who won 3-2?
What's the ratio 1/2?
Is room 12.5 free?
What's the weight limit of the march route?
Which week is best for sowing?
Did the wed couple move?
Where is the december box?
Do I like summer squash?
"""
STATEMENTS = """
Yesterday I repaired the bike. | 2026-05-19
The chimney sweep came on Saturday. | 2026-05-16
The chimney sweep is coming on Saturday. | 2026-05-23
My sister will visit us on Friday. | 2026-05-22
The exam is on Monday. | 2026-05-25
Anna comes 13 November. | 2026-11-13
I booked a table for 12 September. | 2026-09-12
I moved the dentist to 3 June. | 2026-06-03
The dentist appointment is on the 21st. | 2026-05-21
We met on the 12th. | 2026-05-12
I'm flying to Rome next week. | 2026-05-25..2026-06-01
I'll call him tomorrow. | 2026-05-21
The lease ends in two weeks. | 2026-06-01..2026-06-08
I built the shed in two weeks. | none
Last Friday we ate sushi. | 2026-05-15
I bought the drill in March. | 2026-03-01..2026-04-01
We go on holiday in August. | none
We will go on holiday in August. | 2026-08-01..2026-09-01
We're getting married in September. | 2026-09-01..2026-10-01
I was in Spain last summer. | 2025-06-01..2025-09-01
I moved here in 2019. | 2019-01-01..2020-01-01
I have been ill since Monday. | 2026-05-18..
I was ill for two weeks. | none
Every Monday I go swimming. | none
I usually swim on Monday. | none
I swim on Mondays. | none
The alarm rings at 8:30. | none
I work Monday to Friday. | none
This morning I had toast. | 2026-05-20
I'm free next Tuesday. | 2026-05-26
The rent is due by the end of June. | ..2026-07-01
In summer I drink iced tea. | none
Easter is my favourite holiday. | none
We spent Easter in Prague. | 2026-04-03..2026-04-07
We spent time in Prague over Easter. | 2026-04-03..2026-04-07
My birthday is on 3 July. | 2026-07-03
The warranty expires on 2027-01-15. | 2027-01-15
May told me about it. | none
I may come later. | none
We had a barbecue at the weekend. | 2026-05-16..2026-05-18
Two days ago I saw a fox. | 2026-05-18
The parcel arrives on Thursday. | 2026-05-21
The parcel arrived on Thursday. | 2026-05-14
I saw the doctor on 3 May. | 2026-05-03
I got the keys on Friday, and the piano comes tomorrow. | 2026-05-15 2026-05-21
The second floor is wet. | none
Moving on the 30th. | 2026-05-30
I was tired, seeing the vet on Friday. | 2026-05-22
It is too late this year. | 2026-01-01..2027-01-01
The choir is on Tuesday and Thursday. | none
We hiked on Saturday and Sunday. | 2026-05-16 2026-05-17
They collect paper on Monday mornings. | none
She promised the report by the end of July. | ..2026-08-01
The pool is closed from the 22nd until 4 June. | 2026-05-22..2026-06-05
The first try failed, then it worked on the second. | none
The cat has to get her claws trimmed on 2 June. | 2026-06-02
The van needs to be serviced on 2 June. | 2026-06-02
We need to have the chimney swept on Saturday. | 2026-05-23
I'm getting my nails done on 2 June. | 2026-06-02
My cast gets removed on 2 June. | 2026-06-02
On 2 June my cast gets removed. | 2026-06-02
The fridge gets delivered on Saturday. | 2026-05-23
The fridge got delivered on Saturday. | 2026-05-16
We had the chimney swept on Saturday. | 2026-05-16
He must have lost it on Saturday. | 2026-05-16
I have to thank Ola who helped me on Saturday. | 2026-05-16
They invited us to a picnic on Saturday. | 2026-05-23
We agreed to talk on Saturday. | 2026-05-23
I promised to paint it on 2 June. | 2026-06-02
He asked me to be his best man on 11 May. | 2026-05-11
I enrolled for the course on 2 June. | 2026-06-02
I enrolled for the course on 11 May. | 2026-05-11
We got tickets for the derby on 2 June. | 2026-06-02
Seats booked: ballet, 2 June. | 2026-06-02
We went to visit Ola on Saturday. | 2026-05-16
The neighbours cut the hedge on 2 June. | 2025-06-02
I am in week 12 and feel fine. | none
Dinner with Ada on Saturday at Trattoria Blu. | 2026-05-23
Flea market on Saturday, bring cash. | 2026-05-23
Saturday: dinner with Alfred. | 2026-05-23
Dinner with Ada and Alfred on Saturday. | 2026-05-23
Rose at Dr. Noor's on Saturday. | 2026-05-23
We had dinner with Ada on Saturday. | 2026-05-16
We didn't swim on Saturday. | 2026-05-16
The van wouldn't start on Saturday. | 2026-05-16
I saw Dr. Noor on Saturday. | 2026-05-16
Visited Ada on Saturday. | 2026-05-16
Dinner with Ada on Saturday was lovely. | 2026-05-16
Lovely dinner with Ada on Saturday. | 2026-05-16
Thanks for Saturday. | 2026-05-16
Fifty years on Saturday! We had forty guests. | 2026-05-16
Saturday | 2026-05-16
We fly to Rome on 19 December, back on the 27th, hotel is Lava Inn. | 2026-12-19 2026-12-27
We leave on 28 December and return on the 2nd. | 2026-12-28 2027-01-02
We fly to Rome on 19 December. Ida rings on the 27th. | 2026-12-19 2026-05-27
We will be away in August, flying on the 3rd. | 2026-08-01..2026-09-01 2026-08-03
We flew on 3 March and came back on the 12th. | 2026-03-03 2026-03-12
We fly to Rome on 19 December; back on the 27th. | 2026-12-19 2026-12-27
He was born on 4 March 1980 and visits us on the 28th. | 1980-03-04 2026-05-28
The congress is from 5 to 9 June, dinner on the 7th. | 2026-06-05..2026-06-10 2026-06-07
Yesterday Ben said that he left on the 12th. | 2026-05-19 2026-05-12
Passport expires on 20 June 2027, dentist on the 3rd. | 2027-06-20 2026-06-03
My birthday is on 3 March and the rent is due on the 1st. | 2027-03-03 2026-06-01
The car tax is due on 5 March; pick up the parcel on the 15th. | 2027-03-05 2026-05-15
The car tax is due on 5 March; return the books on the 15th. | 2027-03-05 2026-06-15
Ben's wedding will be in September, the plumber comes on the 20th. | 2026-09-01..2026-10-01 2026-05-20
The fair is from 5 to 9 September, dinner on the 7th. | 2026-09-05..2026-09-10 2026-09-07
On 19 December we fly to Rome, on the 27th we fly back. | 2026-12-19 2026-12-27
We fly on 19 December, see Ben on Friday, back on the 27th. | 2026-12-19 2026-05-22 2026-12-27
We picked plan B. On Friday we celebrate. | 2026-05-22
Ben took vitamin D. Friday is the exam. | 2026-05-22
We had dinner with J. Smith on Friday. | 2026-05-15
I saw J. R. Smith on Friday. | 2026-05-15
We had plan B. Our trip to Rome, Friday. | 2026-05-22
Dad quit smoking on Monday. | 2026-05-18
I beat Tom at chess on Saturday. | 2026-05-16
Mum sick on Monday. | 2026-05-18
Migraine again on Tuesday. | 2026-05-19
We overslept on Monday. | 2026-05-18
The repair cost 60 euros on Monday. | 2026-05-18
The pipe burst on Monday. | 2026-05-18
I lay in bed all day on Monday. | 2026-05-18
Mum let the cat out on Monday. | 2026-05-18
Ben set the alarm off on Monday. | 2026-05-18
Ben upset Mum on Monday. | 2026-05-18
Row with Tom on Saturday. | 2026-05-16
On Saturday Dad finally quit. | 2026-05-16
Heavy rain on Saturday. | 2026-05-16
He forgave me on Saturday. | 2026-05-16
Let the cat out on Saturday. | 2026-05-23
Quit the gym on Saturday. | 2026-05-23
Please set the table on Saturday. | 2026-05-23
Tea set delivery on Saturday. | 2026-05-23
Buy headache tablets on Saturday. | 2026-05-23
Row on the lake on Saturday. | 2026-05-23
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
