"""The pages and what they send: addresses to functions. Whoever gets here has passed `guard`."""

import asyncio
import secrets
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from fairbench_cli.base.errors import Problem, UserError
from fairbench_cli.web import pages, uploads
from fairbench_cli.web.guard import App, common_headers, guarded
from fairbench_cli.web.open_file import OpenFile
from fairbench_cli.web.uploads import UploadRefused, check_length, ending_of, shown_name, store
from fairbench_cli.web.worker import FileWorker

MOST_FILES = 6  # open at the same time, a process each
MOST_JSON = 100_000  # bytes of a form
EXAMPLE = "5,000 invented defendants.csv"
MEDIA = {
    "html": ("text/html; charset=utf-8", ".html"),
    "json": ("application/json", ".json"),
    "finished": ("application/json", ".json"),
    "csv": ("text/csv; charset=utf-8", ".csv"),
    "yaml": ("application/yaml", ".yaml"),
    "markdown": ("text/markdown; charset=utf-8", ".md"),
}
"""What can be downloaded, with its type and its ending."""


@dataclass(eq=False)
class Site:
    """All that a server has: its key, its names, its folder, the files that are open.

    Parameters
    ----------
    key : str
        The first part of every address.
    hosts : tuple of str
        What the server is called, with the port.
    folder : Path
        Private; everything in it is removed at the end.
    most_bytes : int
        Of a file.
    """

    key: str
    hosts: tuple[str, ...]
    folder: Path
    most_bytes: int = uploads.MOST_BYTES

    def __post_init__(self) -> None:
        self.files: dict[str, OpenFile] = {}
        self.receiving = asyncio.Lock()
        self._opening = threading.Lock()  # each file has a process of its own: threads take turns
        self._spare = FileWorker()  # has loaded what it needs when the first file comes

    def address(self, *parts: str) -> str:
        """Return an address of this site, with the key."""
        return "/".join(("", self.key, *parts))

    def open(self, path: Path, name: str) -> OpenFile:
        """Give a file a process; of too many the oldest is closed."""
        with self._opening:
            while len(self.files) >= MOST_FILES:
                self.forget(next(iter(self.files)))
            worker, self._spare = self._spare, FileWorker()
            worker.give(path, name)
            opened = OpenFile(secrets.token_urlsafe(12), name, path, worker)
            self.files[opened.number] = opened
        return opened

    def forget(self, number: str) -> None:
        """End the process of a file and remove it, if nobody has."""
        opened = self.files.pop(number, None)
        if opened is not None:
            opened.worker.close()
            opened.path.unlink(missing_ok=True)

    def close(self) -> None:
        """End all processes and remove all files."""
        for number in list(self.files):
            self.forget(number)
        self._spare.close()


def make_app(site: Site) -> App:
    """Return the application of a site, behind its guard."""

    def route(path: str, work: Callable[..., Awaitable[Response]], method: str = "GET") -> Route:
        async def answer(request: Request) -> Response:
            return await work(site, request)

        return Route(f"/{site.key}{path}", answer, methods=[method])

    file = "/files/{number}"
    routes = [
        route("/", _start),
        route("/data", _about_data),
        route("/assets/{name}", _asset),
        route("/files", _receive, "POST"),
        route("/example", _example, "POST"),
        route(f"{file}/", _what_was_read),
        route(f"{file}/choices", _choose, "POST"),
        route(f"{file}/questions", _questions),
        route(f"{file}/questions", _answer_questions, "POST"),
        route(f"{file}/answer/{{view:int}}", _answer),
        route(f"{file}/answer/{{view:int}}", _switch, "POST"),
        route(f"{file}/answer/{{view:int}}/download/{{kind}}", _download),
        route(f"{file}/activity", _activity),
        route(f"{file}/stop", _stop, "POST"),
        route(f"{file}/close", _close, "POST"),
    ]
    handlers: Mapping[Any, Any] = {
        HTTPException: _no_page,
        UserError: partial(_failed, site),
        UploadRefused: _refused,
        ClientDisconnect: _gone,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    headers = common_headers(*pages.hashes())
    return guarded(app, site.key, site.hosts, headers)


async def _ask(opened: OpenFile, verb: str, **arguments: Any) -> Any:
    """Ask the process of a file in a thread; other requests are answered meanwhile."""
    return await asyncio.to_thread(partial(opened.worker.ask, verb, **arguments))


def _find_file(site: Site, request: Request) -> OpenFile:
    opened = site.files.get(request.path_params["number"])
    if opened is None:
        raise HTTPException(404, "the file is closed: send it again")
    return opened


def _find_view(opened: OpenFile, request: Request) -> dict[str, Any]:
    view = request.path_params["view"]
    if view >= len(opened.views):
        raise HTTPException(404, "there is no such audit: go back to the file")
    options: dict[str, Any] = opened.views[view]
    return options


async def _form(request: Request) -> dict[str, Any]:
    """Return the names and values that a form sent."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_JSON:
            raise UploadRefused(413, "the form is too long", "send less")
    try:
        values = pages.read_json(body)
    except ValueError:
        raise UploadRefused(400, "the form is no JSON object", "load the page again") from None
    return values


def _go(address: str) -> Response:
    """Tell the page where to go."""
    return JSONResponse({"go": address})


async def _start(site: Site, _request: Request) -> Response:
    return HTMLResponse(pages.start_page(site.address(""), list(site.files.values()), site.most_bytes))


async def _about_data(site: Site, _request: Request) -> Response:
    return HTMLResponse(pages.data_page(site.address(""), site.most_bytes))


async def _asset(_site: Site, request: Request) -> Response:
    asset = pages.assets().get(request.path_params["name"])
    if asset is None:
        raise HTTPException(404)
    text, media_type = asset
    return Response(text, media_type=media_type)


async def _receive(site: Site, request: Request) -> Response:
    name = shown_name(request.query_params.get("name", ""))
    check_length(request.headers.get("content-length"), site.most_bytes, site.folder)
    ending = ending_of(name)
    if site.receiving.locked():
        raise UploadRefused(409, "another file is being sent", "wait until it is there")
    async with site.receiving:
        path = await store(request.stream(), site.folder, ending, site.most_bytes)
    return await _open(site, path, name)


async def _open(site: Site, path: Path, name: str) -> Response:
    """Open a file that is there; of what cannot be read nothing is kept."""
    opened = await asyncio.to_thread(site.open, path, name)
    try:
        opened.is_finished = await _ask(opened, "is_finished")
        if opened.is_finished:
            view = opened.view_of({}, {})
            await _ask(opened, "audit", options={}, answered={})
            return _go(site.address("files", opened.number, "answer", str(view)))
        await _ask(opened, "look", options=opened.choices)
    except UserError:
        await asyncio.to_thread(site.forget, opened.number)
        raise
    return _go(site.address("files", opened.number, ""))


async def _example(site: Site, _request: Request) -> Response:
    path = site.folder / f"{secrets.token_hex(8)}.csv"
    opened = await asyncio.to_thread(site.open, path, EXAMPLE)
    example = await _ask(opened, "write_example")
    opened.choices.update(example["options"])
    opened.note = example["note"]
    return _go(site.address("files", opened.number, ""))


async def _what_was_read(site: Site, request: Request) -> Response:
    opened = _find_file(site, request)
    if opened.is_finished:
        return RedirectResponse(site.address("files", opened.number, "answer", "0"))
    understood = await _ask(opened, "look", options=opened.choices)
    return HTMLResponse(pages.read_page(site.address(""), opened, understood))


async def _choose(site: Site, request: Request) -> Response:
    """Take options from the page of what was read: a remedy, or what a column is taken for."""
    opened = _find_file(site, request)
    form = await _form(request)
    changed = await _ask(opened, "change", options=opened.choices, form=form)
    opened.choices.clear()
    opened.choices.update(changed)
    return _go(site.address("files", opened.number, ""))


async def _questions(site: Site, request: Request) -> Response:
    opened = _find_file(site, request)
    questions = await _ask(opened, "questions", options=opened.choices, answers=opened.answers)
    return HTMLResponse(pages.questions_page(site.address(""), opened, questions))


async def _answer_questions(site: Site, request: Request) -> Response:
    """Take answers; with the last button the audit is made, too."""
    opened = _find_file(site, request)
    form = await _form(request)
    is_last = form.pop("do", "") == "audit"
    opened.answers.clear()
    opened.answers.update(form)
    if not is_last:
        return _go(site.address("files", opened.number, "questions"))
    questions = await _ask(opened, "questions", options=opened.choices, answers=opened.answers)
    await _ask(opened, "audit", options=questions["options"], answered=questions["options"])
    view = opened.view_of(questions["options"], questions["options"])
    return _go(site.address("files", opened.number, "answer", str(view)))


async def _answer(site: Site, request: Request) -> Response:
    opened = _find_file(site, request)
    options = _find_view(opened, request)
    view = request.path_params["view"]
    audited = await _ask(opened, "audit", options=options, answered=opened.origins[view])
    bar = pages.answer_bar(site.address(""), opened, view, audited)
    page = await _ask(
        opened,
        "page",
        options=options,
        bar=bar,
        assets=site.address("assets", ""),
    )
    return HTMLResponse(page)


async def _switch(site: Site, request: Request) -> Response:
    """Audit again with other switches; nothing is changed in the audit that is shown."""
    opened = _find_file(site, request)
    options = _find_view(opened, request)
    form = await _form(request)
    answered = opened.origins[request.path_params["view"]]
    changed = await _ask(opened, "switch", options=options, answered=answered, form=form)
    await _ask(opened, "audit", options=changed, answered=answered)
    return _go(site.address("files", opened.number, "answer", str(opened.view_of(changed, answered))))


async def _download(site: Site, request: Request) -> Response:
    opened = _find_file(site, request)
    options = _find_view(opened, request)
    kind = request.path_params["kind"]
    if kind not in MEDIA:
        raise HTTPException(404)
    media_type, ending = MEDIA[kind]
    text = await _ask(opened, "write", options=options, kind=kind)
    headers = {
        "Content-Disposition": f"attachment; filename=audit{ending}",
        "Content-Security-Policy": "sandbox",
    }
    return Response(text, media_type=media_type, headers=headers)


async def _activity(site: Site, request: Request) -> Response:
    activity = _find_file(site, request).worker.activity
    return JSONResponse({"text": activity.text, "percent": activity.percent})


async def _stop(site: Site, request: Request) -> Response:
    await asyncio.to_thread(_find_file(site, request).worker.interrupt)
    return JSONResponse({})


async def _close(site: Site, request: Request) -> Response:
    await asyncio.to_thread(site.forget, _find_file(site, request).number)
    return _go(site.address(""))


async def _failed(site: Site, request: Request, error: UserError) -> Response:
    """Say what was wrong: to a script as data, to a reader as a page."""
    if request.method == "POST":
        return JSONResponse({"mistakes": [asdict(problem) for problem in error.problems]}, 422)
    return HTMLResponse(pages.mistakes_page(site.address(""), error.problems), 422)


async def _refused(_request: Request, error: UploadRefused) -> Response:
    mistake = asdict(Problem(error.what, error.fix))
    # What is still being sent is not read.
    return JSONResponse({"mistakes": [mistake]}, error.status, headers={"Connection": "close"})


async def _no_page(_request: Request, error: HTTPException) -> Response:
    return PlainTextResponse(f"{error.detail}\n", error.status_code)


async def _gone(_request: Request, _error: ClientDisconnect) -> Response:
    return Response(status_code=400)
