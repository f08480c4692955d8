"""A model that may look things up before it answers: calls and tools in turn, within bounds."""

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool

from jobdeck_backend.workflows.context import JobContext
from jobdeck_backend.workflows.model import ask, text_of

TURNS_MAX = 4
CALLS_PER_TURN_MAX = 8


async def converse(
    model: BaseChatModel, tools: Sequence[BaseTool], messages: Sequence[BaseMessage], context: JobContext
) -> str:
    """The model's final text. After ``TURNS_MAX`` turns with tools it has to answer without."""
    talk = list(messages)
    bound = model.bind_tools(tools)
    by_name = {tool.name: tool for tool in tools}
    for _ in range(TURNS_MAX):
        reply = await ask(bound, talk, context)
        if not reply.tool_calls:
            return text_of(reply)
        talk.append(reply)
        talk += await _answers(by_name, reply, context)
    return text_of(await ask(model, talk, context))


async def _answers(tools: dict[str, BaseTool], reply: AIMessage, context: JobContext) -> list[BaseMessage]:
    """An answer to every call, as providers demand; what cannot be called is answered with why."""
    answers: list[BaseMessage] = []
    for number, call in enumerate(reply.tool_calls):
        tool = tools.get(call["name"])
        if tool is None or number >= CALLS_PER_TURN_MAX:
            why = f"no tool named {call['name']}" if tool is None else "too many calls in one turn"
            answers.append(ToolMessage(why, tool_call_id=call["id"] or "", status="error"))
        else:
            answers.append(await _answer(tool, call, context))
    return answers


async def _answer(tool: BaseTool, call: ToolCall, context: JobContext) -> BaseMessage:
    try:
        answer = await tool.ainvoke(call)
    except ValueError as error:  # arguments the model made up
        context.log(f"{tool.name} refused its arguments: {error}"[:300])
        return ToolMessage(str(error)[:500], tool_call_id=call["id"] or "", status="error")
    assert isinstance(answer, BaseMessage)
    return answer
