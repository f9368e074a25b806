"""Markdown pages: readable, safe to write, the same when written again."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import InvalidInput, Mind
from recollect.upkeep.export import make_pages


@pytest.fixture
def told(mind: Mind) -> Mind:
    for position, (speaker, text) in enumerate([("user", "Which tram?"), ("Claude", "Tram 28.\n\n- up\n- down")]):
        place = {"session": "s-1", "title": "Lisbon: a trip / trams", "position": position, "speaker": speaker}
        mind.remember(text, **place, created=f"2026-03-02T10:3{position}:00", id=f"m{position}")  # type: ignore[arg-type]
    mind.remember("The cup is blue.", topic="kitchen", tags=["top shelf"], kind="fact", created="2026-03-03", id="cup")
    mind.remember("Water the plants.", title="Plants", created="2026-03-04T08:00", id="plants")
    mind.forget(mind.remember("A secret.", created="2026-03-04").id)
    return mind


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))


def test_a_page_for_each_session_topic_and_day(told: Mind, tmp_path: Path) -> None:
    done = told.export_markdown(tmp_path / "out")
    assert (done.memories, done.pages, len(done.changed)) == (4, 3, 3)
    day, session, topic = files(tmp_path / "out")
    assert (day, topic) == ("days/2026-03-04.md", "topics/kitchen.md")
    assert session.startswith("sessions/2026-03-02-lisbon-a-trip-trams-")


def test_a_session_reads_as_it_was_said(told: Mind, tmp_path: Path) -> None:
    told.export_markdown(tmp_path)
    (page,) = (tmp_path / "sessions").iterdir()
    lines = page.read_text(encoding="utf-8").split("\n")
    end = lines.index("---", 1)
    assert lines[1:4] == ['title: "Lisbon: a trip / trams"', 'date: "2026-03-02T10:30:00+00:00"', 'session: "s-1"']
    assert "\n".join(lines[end + 1 :]) == (
        "\n# Lisbon: a trip / trams\n\n## user · 2026-03-02 10:30\n\nWhich tram?\n\n*^m0*\n\n"
        "## Claude · 2026-03-02 10:31\n\nTram 28.\n\n- up\n- down\n\n*^m1*\n"
    )


def test_details_stand_below_the_text(told: Mind, tmp_path: Path) -> None:
    told.export_markdown(tmp_path)
    assert "*fact · #top-shelf · ^cup*" in (tmp_path / "topics/kitchen.md").read_text(encoding="utf-8")
    assert "## Plants · 2026-03-04 08:00" in (tmp_path / "days/2026-03-04.md").read_text(encoding="utf-8")


def test_only_what_changed_is_written_again(told: Mind, tmp_path: Path) -> None:
    told.export_markdown(tmp_path)
    assert told.export_markdown(tmp_path).changed == []
    told.edit("cup", text="The cup is green.")
    assert told.export_markdown(tmp_path).changed == [tmp_path / "topics/kitchen.md"]


@pytest.mark.parametrize("change", ["edited", "foreign"])
def test_a_file_that_somebody_wrote_is_kept_and_nothing_else_is_written(
    told: Mind, tmp_path: Path, change: str
) -> None:
    if change == "edited":
        told.export_markdown(tmp_path)
    page = tmp_path / "topics" / "kitchen.md"
    page.parent.mkdir(exist_ok=True)
    text = page.read_text(encoding="utf-8").replace("blue", "red") if change == "edited" else "---\nmine: 1\n---\nx"
    page.write_text(text, encoding="utf-8")
    told.edit("cup", text="The cup is green.")
    told.remember("Another day.", created="2026-05-05")
    with pytest.raises(InvalidInput, match=r"topics/kitchen\.md.*force=True.*Nothing was written"):
        told.export_markdown(tmp_path)
    assert page.read_text(encoding="utf-8") == text
    assert "days/2026-05-05.md" not in files(tmp_path)
    told.export_markdown(tmp_path, force=True)
    assert "The cup is green." in page.read_text(encoding="utf-8")


def test_names_are_safe_and_apart_on_any_system(mind: Mind, tmp_path: Path) -> None:
    for topic in ("../../etc/passwd", "a/b", "a b", "A-B", "a-b", "con", "🚪", "x" * 500, "门", ".hidden", "a:b"):
        mind.remember(f"About {topic}", topic=topic)
    mind.remember("Elsewhere", topic="a-b", collection="../work")
    made = [page.path for page in make_pages(mind.list())]
    assert len({path.lower() for path in made}) == 12
    for path in made:
        assert not {":", "\\", "..", " "} & {*path.split("/"), *path}
        assert max(len(part.encode()) for part in path.split("/")) < 200
        assert Path(path).stem not in ("con", "", ".hidden")
    mind.export_markdown(tmp_path / "out")
    assert files(tmp_path / "out") == sorted(made)
    assert not (tmp_path.parent / "etc").exists()


def test_a_folder_that_cannot_be_is_bad_input(told: Mind, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InvalidInput, match="cannot be written"):
        told.export_markdown(tmp_path / "file")


def test_a_filter_chooses_what_is_exported(told: Mind, tmp_path: Path) -> None:
    assert told.export_markdown(tmp_path, filter={"topic": "kitchen"}).memories == 1
