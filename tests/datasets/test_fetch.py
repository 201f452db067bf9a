import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from csl.datasets.fetch import Home, RemoteFile, fetch
from csl.datasets.registry import DATA_SETS
from csl.datasets.task import DataSet
from csl.errors import CslError, InputError

CONTENT = "grüße\tGRUSS\n".encode() * 20_000


REDIRECTS = {
    "/moved.tsv": "/right.tsv", "/elsewhere.tsv": "/wrong.tsv", "/loop.tsv": "/loop.tsv",
    "/local.tsv": Path(__file__).as_uri(), "/up.tsv": "/../../right.tsv",
}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Serves one file whole, cut short, with bytes too many, and from somewhere else."""

    def do_GET(self) -> None:
        if self.path == "/missing.tsv":
            self.send_error(404)
            return
        if self.path in REDIRECTS:
            self.send_response(302)
            self.send_header("Location", REDIRECTS[self.path])
            self.end_headers()
            return
        body = {"/short.tsv": CONTENT[:1000], "/wrong.tsv": CONTENT[::-1], "/long.tsv": CONTENT * 5}
        content = body.get(self.path, CONTENT)
        self.send_response(200)
        self.send_header("Content-Length", str(max(len(content), len(CONTENT))))
        self.end_headers()
        with suppress(OSError):  # the client hangs up on a file that is too long
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def home(base_url: str, path: str) -> Home:
    return Home(base_url, (RemoteFile(path, len(CONTENT), hashlib.sha256(CONTENT).hexdigest()),))


def test_a_right_file_is_written_under_its_own_name(base_url: str, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    paths = fetch(home(base_url, "data/right.tsv"), tmp_path, lambda *step: seen.append(step))
    assert paths == [tmp_path / "right.tsv"]
    assert paths[0].read_bytes() == CONTENT
    assert seen[-1] == ("right.tsv", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})


def test_a_file_that_is_there_and_right_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "right.tsv").write_bytes(CONTENT)
    assert fetch(home("http://127.0.0.1:9/", "right.tsv"), tmp_path) == [tmp_path / "right.tsv"]


def test_a_file_that_is_there_and_wrong_is_replaced(base_url: str, tmp_path: Path) -> None:
    (tmp_path / "right.tsv").write_text("old")
    fetch(home(base_url, "right.tsv"), tmp_path)
    assert (tmp_path / "right.tsv").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("wrong.tsv", "not the expected file"),
        ("long.tsv", "not the expected file"),
        ("short.tsv", "stopped after 1000 of"),
        ("missing.tsv", "the server answers 404"),
        ("elsewhere.tsv", "not the expected file"),
        ("loop.tsv", "the server answers 302"),
        ("local.tsv", "the server answers 302"),
    ],
)
def test_a_failed_download_leaves_nothing(base_url: str, tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(CslError, match=message) as caught:
        fetch(home(base_url, path), tmp_path)
    assert caught.value.exit_code == 1
    assert base_url in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["moved.tsv", "up.tsv"])
def test_a_redirect_changes_neither_what_is_right_nor_its_name(base_url: str, tmp_path: Path, path: str) -> None:
    assert fetch(home(base_url, path), tmp_path) == [tmp_path / path]
    assert (tmp_path / path).read_bytes() == CONTENT
    assert [file.name for file in tmp_path.iterdir()] == [path]


def test_no_server_is_an_error_that_names_the_address(tmp_path: Path) -> None:
    with pytest.raises(CslError, match=r"http://127\.0\.0\.1:9/a\.tsv: cannot be downloaded"):
        fetch(home("http://127.0.0.1:9/", "a.tsv"), tmp_path)


def test_nothing_is_written_outside_the_folder(base_url: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside.tsv"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.tsv").symlink_to(outside)
    for path in ("link.tsv", "a/..", ".."):
        with pytest.raises(InputError, match="outside the folder"):
            fetch(home(base_url, path), folder)
    assert not outside.exists()


@pytest.mark.parametrize("known", DATA_SETS.values(), ids=lambda known: known.name)
def test_every_data_set_has_files_to_fetch_or_tells_what_to_do(known: DataSet, tmp_path: Path) -> None:
    assert "https://" in known.home.by_hand
    if not known.home.files:
        with pytest.raises(InputError, match=r"cannot be fetched.*https://"):
            fetch(known.home, tmp_path)


@pytest.mark.parametrize("name", ["scan", "cogs"])
def test_known_checksums_are_those_of_the_real_files(name: str, shared_data: Path) -> None:
    # An address that nobody answers: the files count as correct, or this fails.
    there = replace(DATA_SETS[name].home, base_url="http://127.0.0.1:9/")
    assert len(fetch(there, shared_data / name)) == len(there.files)
