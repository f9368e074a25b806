"""LangChain: a vector store, a retriever in a chain, and a chat history, all in one file. Runs offline.

pip install '.[langchain]'
python examples/integrations/langchain_chain.py
"""

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from recollect import Mind
from recollect.integrations.langchain import RecollectChatMessageHistory, RecollectRetriever, RecollectVectorStore


def show(found: list[Document]) -> list[Document]:
    print("  found:", found[0].page_content)
    return found


def main() -> None:
    with Mind(":memory:") as mind:  # a file name keeps it
        manual = RecollectVectorStore(mind, collection="manual")
        manual.add_texts(
            ["The kiln fires at 1240 degrees.", "The kiln is serviced every October."], [{"page": 3}, {"page": 9}]
        )
        print("Page 9:", manual.similarity_search("kiln", k=1, filter={"page": 9})[0].page_content)

        model = FakeListChatModel(responses=["At 1240 degrees."])  # stands in for a chat model
        prompt = ChatPromptTemplate.from_template("Answer from these notes: {notes}\n\n{question}")
        retriever = RecollectRetriever(mind=mind, k=1)
        chain = {"notes": retriever | show, "question": RunnablePassthrough()} | prompt | model
        question = "how hot does it get in there when it fires?"
        answer = chain.invoke(question)
        print(question, answer.content)

        history = RecollectChatMessageHistory(mind, "chat-1", user="ada")
        history.add_user_message(question)
        history.add_ai_message(answer.content)
        print("History:", [message.type for message in history.messages])


if __name__ == "__main__":
    main()
