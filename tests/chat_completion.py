"""What a server of chat completions answers."""

from typing import Any


def completion(text: str, tokens_in: int = 1_000, tokens_out: int = 1, model: str = "m") -> dict[str, Any]:
    """The body of an answer with this text, and the tokens that it is said to have taken."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }
