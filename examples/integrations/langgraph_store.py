"""A LangGraph graph with a long-term memory: what one thread stores, another finds. Runs offline.

pip install '.[langgraph]'
python examples/integrations/langgraph_store.py
"""

from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

from recollect import Mind
from recollect.integrations.langgraph import RecollectStore


def assistant(state: MessagesState, *, store: BaseStore) -> dict[str, list[tuple[str, str]]]:
    """Stands in for a model: it notes what begins with "Remember", and answers from the store."""
    text = str(state["messages"][-1].content)
    if text.startswith("Remember"):
        store.put(("users", "ada"), text, {"text": text.partition(": ")[2]})
        return {"messages": [("ai", "Noted.")]}
    (best,) = store.search(("users", "ada"), query=text, limit=1)
    return {"messages": [("ai", best.value["text"])]}


def main() -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("assistant", assistant)
    graph.add_edge(START, "assistant")
    graph.add_edge("assistant", END)
    with Mind(":memory:") as mind:  # a file name keeps it
        agent = graph.compile(store=RecollectStore(mind))
        for text in (
            "Remember: Ada is allergic to nuts.",
            "Remember: Ada lives in a flat by the harbour.",
            "What must I not cook for her?",
        ):
            answer = agent.invoke({"messages": [("user", text)]})["messages"][-1].content
            print(f"{text}\n  {answer}")


if __name__ == "__main__":
    main()
