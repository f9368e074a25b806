"""Google ADK: a memory service for a Runner, shown by itself. Runs offline.

pip install '.[google-adk]'
python examples/integrations/google_adk_memory.py
"""

import asyncio

from google.adk.events.event import Event
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part

from recollect import Mind
from recollect.integrations.google_adk import RecollectMemoryService


async def run(mind: Mind) -> None:
    sessions, memory = InMemorySessionService(), RecollectMemoryService(mind)
    session = await sessions.create_session(app_name="app", user_id="ada")
    for text in ("Bob has the key of the boathouse.", "The kiln is serviced every October."):
        await sessions.append_event(
            session, Event(author="user", content=Content(role="user", parts=[Part(text=text)]))
        )
    await memory.add_session_to_memory(session)

    for user in ("ada", "bob"):
        found = await memory.search_memory(app_name="app", user_id=user, query="who can open the boathouse?")
        texts = [entry.content.parts[0].text for entry in found.memories if entry.content.parts]
        print(f"{user}:", texts[0] if texts else "nothing")


def main() -> None:
    with Mind(":memory:") as mind:  # a file name keeps it
        asyncio.run(run(mind))


if __name__ == "__main__":
    main()
