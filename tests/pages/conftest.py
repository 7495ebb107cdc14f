"""What tests of the playground share: a browser, a server, and the page as it opens."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.pages.browser import Seen, chromium
from tests.pages.playground import elsewhere, faults_of, playground
from tests.pages.serving import Server, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture
def seen(browser: Browser, server: Server) -> Iterator[Seen]:
    """The page as it opens; whatever a test does on it, no script fails and nobody but the server is asked."""
    with playground(browser, server) as opened:
        yield opened
        assert faults_of(opened) == []
        assert elsewhere(opened, server) == []
