"""The chat model by configuration, and how it is asked: with retries that are told."""

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langgraph.errors import GraphBubbleUp
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)

from jobdeck_backend.errors import JobStopped, Unavailable
from jobdeck_backend.settings import Settings
from jobdeck_backend.workflows.context import JobContext
from jobdeck_backend.workflows.offline import OfflineChatModel
from jobdeck_backend.workflows.plain import plain

RETRY_WAIT_MAX_S = 20.0
_TRY_AGAIN_STATUSES = frozenset({408, 409, 425, 429})


def chat_model(settings: Settings) -> BaseChatModel:
    """The configured model, streaming. Raises ``Unavailable`` when LangChain cannot make it."""
    if settings.model == "offline":
        return OfflineChatModel(tokens_per_second=settings.offline_tokens_per_second, streaming=True)
    try:
        from langchain.chat_models import init_chat_model

        # A client that retries by itself would do so untold.
        model = init_chat_model(settings.model, streaming=True, max_retries=0)
    except ImportError as error:
        raise Unavailable(
            f"the model {settings.model!r} needs more packages: install jobdeck[models] and the provider's"
            f" LangChain package ({error})"
        ) from error
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise Unavailable(f"the model {settings.model!r} cannot be used: {reason}") from error
    assert isinstance(model, BaseChatModel)
    return model


async def ask(
    model: Runnable[LanguageModelInput, BaseMessage], messages: Sequence[BaseMessage], context: JobContext
) -> AIMessage:
    """Call ``model``; a failed call is tried again with growing pauses, each retry told as a ``job.update``.

    Raises the last error when ``settings.model_attempts_max`` calls failed, at once where it would not help.
    """
    attempts_max = context.settings.model_attempts_max

    def tell(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        pause_s = state.next_action.sleep if state.next_action else 0.0
        context.recorder.record(
            "job.update",
            name="retry",
            data={
                "output": f"Retrying the model after {type(error).__name__}: {str(error)[:300]}"
                f" (attempt {state.attempt_number + 1} of {attempts_max}, in {pause_s:.1f} s)"
            },
        )

    retrying = AsyncRetrying(
        stop=stop_after_attempt(attempts_max),
        wait=wait_exponential_jitter(
            multiplier=context.settings.model_retry_s,
            max=RETRY_WAIT_MAX_S,
            jitter=context.settings.model_retry_s,
        ),
        retry=retry_if_exception(may_get_better),
        before_sleep=tell,
        reraise=True,
    )
    reply: BaseMessage = await retrying(model.ainvoke, list(messages))
    assert isinstance(reply, AIMessage)
    return reply


def text_of(reply: AIMessage) -> str:
    """What the model said, as a store can hold it."""
    return str(plain(reply.text.strip()))


def may_get_better(error: BaseException) -> bool:
    """Whether the same call may succeed later: not after a stop, nor where the provider refused it."""
    if not isinstance(error, Exception) or isinstance(error, JobStopped | GraphBubbleUp):
        return False
    status = getattr(error, "status_code", None)
    refused = isinstance(status, int) and 400 <= status < 500
    return not refused or status in _TRY_AGAIN_STATUSES
