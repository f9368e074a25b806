"""The web page, walked with mouse and keyboard in a real browser (B21)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.page import picture_world
from tests.page.conftest import WORLD, Page

pytestmark = pytest.mark.contract("B21")
VIEWS = ("search", "timeline", "graph", "map", "conflicts", "folders", "usage", "health", "compare?q=rent", "new")
FOLDER = Path(__file__).parents[2] / "recollect" / "serve" / "page"
ATTACK = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script> javascript:alert(1)'


def ask(page: Page, query: str) -> None:
    page.page.fill("#query", query)
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("#steps")  # of the whole recipe; words alone have none


def first_text(page: Page) -> str:
    return str(page.page.inner_text(".result .text >> nth=0"))


def test_a_search_shows_texts_with_marked_words_scores_and_steps(page: Page) -> None:
    ask(page, "where is the blue cup?")
    assert first_text(page) == "The blue cup is on the top shelf."
    assert page.page.inner_text(".result >> nth=0 >> mark >> nth=0") == "blue"
    assert page.page.locator(".result >> nth=0 >> .bar rect").count() >= 2
    page.page.click("#steps")
    page.page.click("[data-group=cues]")
    assert "vectors" in page.page.inner_text(".steps")
    assert page.problems == []


@pytest.mark.parametrize("world", [[{"text": "🙂 The puppy chewed my new shoes."}, {"text": "The rent is due."}]])
def test_words_that_match_in_meaning_alone_are_dotted_and_name_the_word_of_the_query(
    page: Page, world: list[Any]
) -> None:
    ask(page, "what did the dog do to my shoes?")
    dotted = page.page.locator(".result .similar")
    assert dotted.all_inner_texts() == ["puppy"]
    assert dotted.get_attribute("title") == "matches “dog” in meaning"
    assert "dotted" in dotted.evaluate("each => getComputedStyle(each).textDecorationStyle")
    assert page.page.locator(".result >> nth=0 >> mark").all_inner_texts() == ["shoes"]
    assert first_text(page) == "🙂 The puppy chewed my new shoes."
    described = page.page.get_attribute(".result >> nth=0", "aria-description")
    assert described == "“puppy” matches “dog” in meaning"
    assert "similar meaning" in page.page.inner_text(".legend")
    ask(page, "rent")
    page.page.wait_for_function("() => !document.querySelector('.similar')")  # nor in the legend
    assert page.problems == []


def test_what_one_types_is_answered_and_the_address_can_be_shared(page: Page) -> None:
    page.page.click("#query")
    page.page.keyboard.type("peanuts", delay=15)
    page.page.wait_for_function("() => document.querySelector('#steps') && location.hash.includes('q=peanuts')")
    assert first_text(page) == "Anna is allergic to peanuts."
    page.page.reload()
    page.page.wait_for_selector(".result")
    assert page.page.input_value("#query") == "peanuts"
    assert first_text(page) == "Anna is allergic to peanuts."


@pytest.mark.parametrize("world", [[{"text": f"Note {number} about the garden."} for number in range(70)]])
def test_further_memories_and_results_are_shown_on_request(page: Page, world: list[Any]) -> None:
    for shown in (30, 60, 70):
        page.page.wait_for_function(f"() => document.querySelectorAll('.result').length === {shown}")
        if shown < 70:
            page.page.click("text=Show more")
    assert page.page.locator("text=Show more").count() == 0
    ask(page, "garden")
    page.page.wait_for_function("() => document.querySelectorAll('.result').length === 20")
    page.page.click("text=Show more")
    page.page.wait_for_function("() => document.querySelectorAll('.result').length === 60")


def test_a_time_of_which_nothing_is_known_is_said_above_pale_bars(page: Page) -> None:
    ask(page, "what did Ida say about the rent in July 2024?")
    page.page.wait_for_selector(".notice")
    assert "No memory is of the time asked for (“July 2024”: 2024-07-01 to 2024-07-31)" in page.page.inner_text(
        ".notice"
    )
    assert float(page.page.locator(".bar >> nth=0").evaluate("each => getComputedStyle(each).opacity")) < 0.5


def test_why_shows_parts_that_add_up_to_the_score(page: Page) -> None:
    ask(page, "where is the charging dock?")
    page.page.click(".result >> nth=0")
    page.page.wait_for_selector(".waterfall")
    assert "match" in page.page.inner_text(".sentence")
    values = [text.replace("−", "-") for text in page.page.locator(".waterfall .value").all_text_contents()]
    *parts, total = (float(value) for value in values)
    assert sum(parts) == pytest.approx(total, abs=0.005)
    page.page.click(".waterfall .step >> nth=0")
    assert "weight of words" in page.page.inner_text(".tree >> nth=0")


def test_the_path_of_a_memory_names_each_step_and_its_score(page: Page) -> None:
    ask(page, "where is the charging dock?")
    page.page.click(".result >> nth=0")
    page.page.wait_for_selector(".waterfall")
    total = page.page.locator(".waterfall .value").all_text_contents()[-1]
    page.page.click("[role=tab]:has-text('Path')")
    page.page.wait_for_selector(".path")
    rows = page.page.locator(".path >> nth=0 >> tr").all_inner_texts()
    assert any(row.startswith("same words") and "found it" in row for row in rows)
    assert f"rank 1 of {len(WORLD)}, score {total}" in rows[-1]


def test_the_box_shows_the_query_of_an_address_and_of_the_way_back(page: Page) -> None:
    ask(page, "blue cup")
    page.open("#/search?q=peanuts")
    page.page.wait_for_function("() => document.querySelector('#query').value === 'peanuts'")
    page.page.go_back()
    page.page.wait_for_function("() => document.querySelector('#query').value === 'blue cup'")


def test_escape_leaves_the_search_box_with_its_query(page: Page) -> None:
    ask(page, "blue cup")
    page.page.wait_for_function("() => location.hash.includes('q=blue+cup')")
    page.page.focus("#query")
    page.page.keyboard.press("Escape")
    assert page.page.evaluate("document.activeElement.id") != "query"
    assert page.page.input_value("#query") == "blue cup"
    page.page.keyboard.press("j")
    page.page.wait_for_selector("#panel .waterfall")
    page.page.wait_for_timeout(400)  # longer than the page waits for further keys
    assert page.page.input_value("#query") == "blue cup"
    assert "q=blue+cup" in page.page.url


@pytest.mark.parametrize(
    "world",
    [[{"text": "Ida likes tea.", "user": "ida"}, {"text": "Ben likes tea.", "user": "ben"}, {"text": "Tea is hot."}]],
)
def test_results_of_several_users_name_them_and_those_of_one_do_not(page: Page, world: list[Any]) -> None:
    ask(page, "who likes tea?")
    assert sorted(page.page.locator(".result .owner").all_inner_texts()) == ["user ben", "user ida"]
    page.open("#/search")  # the newest memories
    page.page.wait_for_function("() => document.querySelectorAll('.result').length === 3")
    assert sorted(page.page.locator(".result .owner").all_inner_texts()) == ["user ben", "user ida"]
    page.open("#/search?q=tea&user=ida")
    page.page.wait_for_function("() => document.querySelectorAll('.result').length === 1")
    assert page.page.locator(".result .owner").count() == 0


def test_another_address_counts_more_than_what_is_being_typed(page: Page) -> None:
    ask(page, "rent")
    page.page.evaluate("""() => {
        const box = document.querySelector("#query");
        box.value = "blue cup";
        box.dispatchEvent(new Event("input"));
        location.hash = "#/search?q=peanuts";
    }""")
    page.page.wait_for_timeout(600)  # longer than the page waits for further keys
    assert page.page.input_value("#query") == "peanuts"
    assert page.page.url.endswith("q=peanuts")


def test_where_filters_leave_nothing_one_can_search_without_them(page: Page) -> None:
    page.open("#/search?q=blue+cup&user=nobody")
    page.page.click("text=Search without filters")
    page.page.wait_for_selector(".result")
    assert "blue cup" in page.page.inner_text(".result >> nth=0")
    assert "same words" in page.page.inner_text(".legend")


def test_why_not_names_the_step_and_the_numbers(page: Page) -> None:
    ask(page, "blue cup")
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("n")
    page.page.fill("#panel input", "peanuts")
    page.page.click("#panel form button")
    page.page.click("#panel .card >> nth=0")
    page.page.wait_for_selector("#panel table, #panel h2")
    assert "Anna is allergic to peanuts." in page.page.inner_text("#panel")
    assert "among the answers" in page.page.inner_text("#panel") or "Left out by" in page.page.inner_text("#panel")


def test_a_memory_is_edited_superseded_forgotten_and_each_is_undone(page: Page) -> None:
    id = page.id_of("The blue cup is on the top shelf.")
    mind = page.server.mind
    page.open(f"#/search?open={id}&tab=edit")
    page.page.fill("#panel textarea", "The blue cup is in the sink.")
    page.page.click("#panel button.primary")
    page.page.wait_for_selector(".toast")
    assert mind.show(id).text == "The blue cup is in the sink."
    page.page.click(".toast button")
    page.page.wait_for_function("() => document.body.innerText.includes('Undone')")
    assert mind.show(id).text == "The blue cup is on the top shelf."
    page.open(f"#/search?open={id}&tab=memory")
    page.page.click("text=Supersede")
    page.page.fill("dialog textarea", "The blue cup is broken.")
    page.page.click("dialog button.primary")
    page.page.wait_for_selector(".toast >> text=Superseded")
    assert mind.show(id).status == "superseded"
    page.open(f"#/search?open={page.id_of('The blue cup is broken.')}&tab=memory")
    page.page.click("#panel >> text=Forget")
    page.page.wait_for_selector(".toast >> text=Forgotten")
    assert [memory.text for memory in mind.list({"status": "forgotten"})] == ["The blue cup is broken."]


@pytest.mark.contract("B6")
def test_erasing_asks_with_counts_and_removes_exactly_that_memory(page: Page) -> None:
    id = page.id_of("Anna is allergic to peanuts.")
    page.open(f"#/search?open={id}&tab=memory")
    page.page.click("#panel button.danger")
    page.page.wait_for_selector("dialog[open]")
    assert "memories: 1" in page.page.inner_text("dialog")
    page.page.click("dialog button.danger")
    page.page.wait_for_selector(".toast >> text=Erased")
    assert len(page.server.mind.list()) == len(WORLD) - 1
    assert all(memory.id != id for memory in page.server.mind.list())


def test_a_conflict_is_decided_and_the_decision_undone(page: Page) -> None:
    page.open("#/conflicts")
    page.page.wait_for_selector(".pair")
    assert "950" in page.page.inner_text(".pair ins >> nth=0") or "950" in page.page.inner_text(".pair")
    page.page.click(".pair .primary >> nth=0")
    page.page.wait_for_selector(".toast")
    assert [memory.text for memory in page.server.mind.list({"status": "superseded"})] == ["The rent is 800 euros."]
    page.page.click(".toast button")
    page.page.wait_for_selector(".pair")
    assert page.server.mind.list({"status": "superseded"}) == []


@pytest.mark.parametrize(
    "world",
    [
        [
            {"text": "The rent is 800 euros, due on the first.", "created": "2025-05-04"},
            {"text": "The rent is 950 euros, due on the first.", "created": "2025-09-04"},
            {"text": "The deposit is 1,600 euros.", "created": "2025-05-04"},
            {"text": "The deposit is 1,900 euros.", "created": "2025-09-04"},
        ]
    ],
)
def test_only_the_values_that_differ_are_marked_and_the_reason_is_said_once(page: Page, world: list[Any]) -> None:
    page.open("#/conflicts")
    page.page.wait_for_selector(".pair")
    assert sorted(page.page.locator(".pair del").all_inner_texts()) == ["1,600", "800"]
    assert sorted(page.page.locator(".pair ins").all_inner_texts()) == ["1,900", "950"]
    reasons = page.page.locator("#answer h2").all_inner_texts()
    assert len(reasons) == len(set(reasons))
    assert page.page.locator(".pair").count() == 2


def test_a_pair_that_is_kept_is_not_reported_again(page: Page) -> None:
    page.open("#/conflicts")
    page.page.wait_for_selector(".pair")
    page.page.click("text=Keep both")
    page.page.wait_for_selector(".toast >> text=Both stay")
    page.page.reload()
    page.page.wait_for_selector("text=No two memories seem to disagree")
    assert page.server.mind.list({"status": "superseded"}) == []


def test_recipes_are_compared_with_lines_between_the_same_memories(page: Page) -> None:
    page.open("#/compare?q=blue+cup&recipes=default,openmem")
    page.page.wait_for_selector("[data-line]", state="attached")
    assert page.page.locator("[data-recipe]").count() == 2


def test_a_brush_on_the_timeline_becomes_a_filter(page: Page) -> None:
    page.open("#/timeline?period=month")
    page.page.wait_for_selector(".column")
    box = page.page.locator(".column >> nth=0").bounding_box()
    page.page.mouse.move(box["x"] + 3, box["y"] + 3)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 1.5, box["y"] + 3)
    page.page.mouse.up()
    page.page.wait_for_function("() => location.hash.includes('since=2025-03')")
    page.page.wait_for_function("() => document.body.innerText.includes('3 memories')")


def test_the_timeline_lists_its_memories_at_once_newest_first(page: Page) -> None:
    page.open("#/timeline")
    page.page.wait_for_selector(".result")
    texts = page.page.locator(".result .text").all_inner_texts()
    assert texts == [memory.text for memory in page.server.mind.list()]
    page.open("#/timeline?since=2025-07-01&until=2025-08-01")
    page.page.wait_for_function("() => document.querySelectorAll('.result').length === 2")
    title = page.page.locator("h1").bounding_box()
    axis = page.page.locator(".histogram .column >> nth=0").bounding_box()
    assert axis["x"] - title["x"] < 48


@pytest.mark.parametrize(
    "options", [{"viewport": {"width": 390, "height": 844}, "reduced_motion": "reduce", "has_touch": True}]
)
def test_on_a_phone_results_begin_in_the_first_quarter_and_more_has_the_other_views(
    page: Page, options: dict[str, Any]
) -> None:
    ask(page, "where is the blue cup?")
    page.page.wait_for_selector(".result mark")
    assert page.page.locator(".result >> nth=0").bounding_box()["y"] < 844 / 4
    assert page.page.locator(".strip").is_hidden()
    assert page.page.locator("#sidebar a.view:visible").count() == 4
    page.page.click("#sidebar >> text=More")
    page.page.click("dialog >> text=Usage")
    page.page.wait_for_selector("h1:has-text('Usage')")


def test_undoing_with_a_key_names_what_it_undoes(page: Page) -> None:
    page.server.mind.remember("The dock is behind the sofa.")
    page.page.wait_for_selector(".result")
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("z")
    page.page.wait_for_selector(".toast >> text=Undone: remember")
    assert "removed “The dock is behind the sofa.”" in page.page.inner_text(".toast")
    assert len(page.server.mind.list()) == len(WORLD)


def test_months_without_a_memory_are_gaps_of_the_timeline(page: Page) -> None:
    page.open("#/timeline?period=month")
    page.page.wait_for_selector(".column")
    heights = [float(each.get_attribute("height")) for each in page.page.locator(".column").all()]
    assert (len(heights), heights.count(0)) == (7, 1)  # March to September 2025; nothing in August


def test_health_shows_the_last_backup_and_what_the_doctor_finds(page: Page, tmp_path: Path) -> None:
    page.open("#/health")
    page.page.wait_for_selector("text=never: recollect backup")
    page.page.click("text=Check now")
    page.page.wait_for_selector("text=are as they should be")
    page.server.mind.backup(tmp_path / "backups")
    page.page.reload()
    page.page.wait_for_selector("tr:has-text('Last backup') time")


def test_the_map_tells_failures_from_successes(page: Page) -> None:
    page.open("#/map")
    page.page.wait_for_selector(".dot")
    assert (page.page.locator("svg .dot").count(), page.page.locator("svg path.danger").count()) == (1, 1)


def test_the_graph_is_drawn_and_listed(page: Page) -> None:
    first, second = page.id_of("I live at 4 Mill Lane."), page.id_of("The rent is 800 euros.")
    page.server.mind.link(first, second, "supports")
    page.open(f"#/graph?id={first}")
    page.page.wait_for_selector(".graph-canvas .node")
    assert page.page.locator(".graph-canvas .node").count() == 2
    page.page.click("summary")
    assert "supports" in page.page.inner_text("details ul")


def test_the_graph_begins_with_words_of_a_memory_where_no_name_is_written_so(page: Page) -> None:
    first, second = page.id_of("I live at 4 Mill Lane."), page.id_of("The rent is 800 euros.")
    page.server.mind.link(first, second, "supports")
    page.open("#/graph")
    page.page.fill("#start", "mill lane")
    page.page.keyboard.press("Enter")
    page.page.click("#answer button.card >> nth=0")
    page.page.wait_for_selector(".graph-canvas .node")
    assert page.page.input_value("#start") == ""


def test_everything_is_reached_by_keyboard_alone(page: Page) -> None:
    keyboard = page.page.keyboard
    page.page.wait_for_selector(".result")
    keyboard.press("Escape")
    keyboard.press("/")
    page.page.wait_for_function("() => document.activeElement.id === 'query'")
    keyboard.type("rent")
    page.page.wait_for_selector("#steps")
    keyboard.press("Escape")
    keyboard.press("j")
    page.page.wait_for_selector("#panel .waterfall")
    keyboard.press("e")
    page.page.wait_for_selector("#panel textarea")
    page.page.evaluate("document.activeElement.blur()")
    keyboard.press("c")
    page.page.wait_for_selector("[data-recipe]")
    page.page.evaluate("document.activeElement.blur()")
    keyboard.press("?")
    page.page.wait_for_selector("dialog[open]")
    keyboard.press("Escape")
    keyboard.press("a")
    page.page.wait_for_selector("form textarea")
    keyboard.type("The spare key is with Ben.")
    keyboard.press("Tab")
    keyboard.press("Enter")
    page.page.wait_for_selector(".toast >> text=Remembered")
    keyboard.press("Escape")
    page.page.evaluate("document.activeElement.blur()")
    keyboard.press("z")
    page.page.wait_for_selector(".toast >> text=Undone")
    assert len(page.server.mind.list()) == len(WORLD)


def test_stored_text_never_runs_and_nothing_is_asked_of_other_hosts(page: Page) -> None:
    mind = page.server.mind
    memory = mind.remember(ATTACK, speaker=ATTACK, session=ATTACK, title=ATTACK, tags=["<b>"], source=ATTACK)
    mind.remember("Linked.", session=ATTACK, external_id="x")
    for address in (*(f"#/{view}" for view in VIEWS), "#/search?q=script", f"#/search?q=script&open={memory.id}"):
        page.open(address)
        page.page.wait_for_timeout(250)
    for tab in ("why", "memory", "around", "whynot", "edit"):
        page.open(f"#/search?q=script&open={memory.id}&tab={tab}")
        page.page.wait_for_timeout(250)
    assert page.page.evaluate("window.attacked") is None
    assert page.page.locator("main img[src=x], aside img").count() == 0
    assert page.hosts == {page.server.url.split("/")[2]}
    assert page.problems == []


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce"},
        {"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce", "color_scheme": "dark"},
        {"viewport": {"width": 390, "height": 844}, "reduced_motion": "reduce", "has_touch": True},
    ],
    ids=["light", "dark", "phone"],
)
def test_no_view_has_a_serious_problem_of_accessibility(page: Page, options: dict[str, Any]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe: run 'make test-page'").Axe()
    id = page.id_of("The rent is 800 euros.")
    found = []
    for address in (*VIEWS, f"search?q=rent&open={id}", f"search?q=rent&open={id}&tab=memory"):
        page.open(f"#/{address}")
        page.page.wait_for_timeout(500)
        report = axe.run(page.page).response
        found += [
            (address, each["id"], each["nodes"][0]["html"][:120], each["nodes"][0]["failureSummary"][:200])
            for each in report["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        width = page.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, f"{address} is {width} pixels wider than the window"
    assert found == []


@pytest.mark.parametrize("world", [[]])
def test_an_empty_memory_offers_examples(page: Page, world: list[Any]) -> None:
    page.page.click("text=Add three examples")
    page.page.wait_for_selector("#steps")
    assert first_text(page) == "Ida has moved: she lives at 12 Harbour Road now."


def test_without_a_session_the_page_says_how_to_open_it(page: Page) -> None:
    context = page.browser.new_context()
    stranger = context.new_page()
    stranger.goto(page.server.url)
    stranger.wait_for_selector("text=recollect ui")
    context.close()


def test_a_server_that_is_gone_is_said(page: Page) -> None:
    page.page.wait_for_selector(".result")
    page.page.route("**/v1/recall", lambda route: route.abort())
    page.page.fill("#query", "cup")
    page.page.wait_for_selector("text=The server does not answer")


def test_very_long_right_to_left_and_emoji_texts_are_shown(page: Page) -> None:
    page.server.mind.remember("شاي بالنعناع في المطبخ " * 3, external_id="rtl")
    page.server.mind.remember("🫖 " * 500 + "x" * 5_000, external_id="long")
    page.open("#/search")
    page.page.reload()
    page.page.wait_for_selector(".result")
    assert page.page.evaluate(
        "document.querySelector('#main').scrollWidth <= document.querySelector('#main').clientWidth"
    )


def test_the_page_is_small_and_has_no_inline_script_or_style() -> None:
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 150_000
    markup = (FOLDER / "index.html").read_text()
    assert "style=" not in markup
    assert "<script>" not in markup
    scripts = "\n".join(path.read_text() for path in files if path.suffix == ".js")
    assert "innerHTML" not in scripts
    assert "http://" not in scripts.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in scripts


PICTURES = {  # by name: how wide, dark or not, the address, what it waits for, and what is clicked
    "search": (1280, "light", "search?q=where+do+we+live+now%3F&open={moved}", ".waterfall", ""),
    "search-dark": (1280, "dark", "search?q=where+do+we+live+now%3F&open={moved}&tab=memory", ".fields", ""),
    "steps": (1280, "light", "search?q=who+is+allergic%3F", "#steps", "[data-group=stages]"),
    "compare": (1280, "light", "compare?q=where+are+the+cups%3F&recipes=default,qmd,jeffsbrain", "[data-line]", ""),
    "conflicts": (1280, "light", "conflicts", ".pair", ""),
    "timeline": (1280, "light", "timeline", ".column", ""),
    "graph": (1280, "light", "graph?id={allergic}", ".graph-canvas", ""),
    "map": (1280, "dark", "map", ".dot", ""),
    "phone": (390, "light", "search?q=where+do+we+live+now%3F", "#steps", ""),
}


@pytest.mark.skipif("RECOLLECT_PICTURES" not in os.environ, reason="make pictures takes them")
@pytest.mark.parametrize("world", [[]])
def test_pictures_for_the_docs(page: Page, world: list[Any]) -> None:
    """Not a check: the pictures of docs/page.md, of the page as it is."""
    folder = Path(os.environ["RECOLLECT_PICTURES"])
    folder.mkdir(exist_ok=True)
    picture_world.fill(page.server.mind)
    ids = {
        name: next(each.id for each in page.server.mind.list() if word in each.text)
        for name, word in (("moved", "have moved"), ("allergic", "is allergic"))
    }
    for name, (width, scheme, address, ready, button) in PICTURES.items():
        page.page.set_viewport_size({"width": width, "height": 844 if width < 760 else 760})
        page.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.open("#/health")  # so that each view begins anew
        page.page.wait_for_selector("table")
        page.open(f"#/{address.format(**ids)}")
        page.page.wait_for_selector(ready, state="attached")
        if button:
            page.page.click("#steps")
            page.page.click(button)
        page.page.evaluate("document.activeElement.blur()")
        page.page.wait_for_timeout(400)
        page.page.screenshot(path=folder / f"{name}.png")
        if name == "steps":
            page.page.click("#steps")  # or they would stay open
