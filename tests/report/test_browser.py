"""The page of a report in a real browser: what a reader sees and does. Skipped where there is no Chromium."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from csl.report.page import render
from csl.report.report import Report

selenium = pytest.importorskip("selenium", reason="no selenium; pip install '.[dev]'")
from selenium.webdriver import ActionChains, Chrome, ChromeOptions  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
CONTRAST = Path(__file__).with_name("contrast.js")


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    if not BROWSER or not DRIVER:
        pytest.skip("no browser; apt-get install chromium chromium-driver")
    options = ChromeOptions()
    options.binary_location = BROWSER
    profile = tmp_path_factory.mktemp("profile")
    flags = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # root cannot use it
    for flag in flags:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


class Page:
    """A report in the browser, fresh, as wide as asked."""

    def __init__(self, chrome: Chrome, file: Path) -> None:
        self.chrome, self.file = chrome, file

    def open(self, width: int = 1280, theme: str = "light", *, script: bool = True, unfold: bool = False) -> None:
        metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        wanted = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
        media = {"features": [{"name": name, "value": value} for name, value in wanted.items()]}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        self.chrome.get("about:blank")
        self.chrome.get(self.file.as_uri())
        if unfold:
            self.js("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    def js(self, code: str, *arguments: object) -> Any:
        return self.chrome.execute_script(code, *arguments)

    def one(self, selector: str) -> Any:
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        return self.chrome.find_elements(By.CSS_SELECTOR, selector)

    def lines(self) -> list[str]:
        rows = (row for row in self.all("#rule-list tr") if row.is_displayed())
        return [row.find_element(By.CSS_SELECTOR, "td").text for row in rows]


@pytest.fixture
def page(chrome: Chrome, report: Report, tmp_path: Path) -> Page:
    file = tmp_path / "report.html"
    file.write_text(render(report), encoding="utf-8")
    return Page(chrome, file)


def test_hostile_data_is_shown_as_text(page: Page) -> None:
    page.open(unfold=True)
    assert page.js("return document.scripts.length") == 1
    assert page.all("img, iframe, b b, style ~ style") == []
    assert page.one("h1").text == "Tiny <script>alert(1)</script>"
    rule = page.one("#rule-4 .rule").text
    assert rule == '<script>alert(1)</script> </script> &amp; → "><img src=x onerror=alert(2)>'
    assert "</style> {{ 7 * 7 }} <!--" in page.one("#rule-5").text
    assert [entry["message"] for entry in page.chrome.get_log("browser")] == []


@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_never_scrolls_sideways(page: Page, width: int) -> None:
    page.open(width, unfold=True)
    assert page.js("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast_in_both_themes(page: Page, theme: str) -> None:
    page.open(theme=theme, unfold=True)
    assert page.js(CONTRAST.read_text(encoding="utf-8")) == []


def test_the_theme_can_be_changed_and_is_kept(page: Page) -> None:
    page.open(theme="dark")
    paint = "return getComputedStyle(document.body).backgroundColor"
    dark = page.js(paint)
    page.one("#theme").click()
    light = page.js(paint)
    assert light != dark
    page.chrome.refresh()
    assert page.js(paint) == light
    assert page.one("#theme").text == "Dark theme"
    page.js("localStorage.clear()")


def test_search_and_choice(page: Page) -> None:
    page.open()
    search = page.one("[data-tools=rule-list] input")
    search.send_keys("TWICE NT1")
    assert page.lines() == ["2"]
    assert page.one("[data-tools=rule-list] output").text == "1 of 5 rules"
    page.js("location.hash = '#rule-4'")
    assert "4" in page.lines()  # a jump shows a rule that the search has hidden
    Select(page.one("[data-tools=tree-list] [data-key=outcome]")).select_by_visible_text("wrong")
    shown = [item for item in page.all("#tree-list > li") if item.is_displayed()]
    assert [item.get_attribute("data-outcome") for item in shown] == ["wrong"]


def test_tables_are_sorted_from_the_keyboard(page: Page) -> None:
    page.open()
    heads = page.all("[data-sortable] th")
    assert page.lines() == ["1", "2", "3", "4", "5"]
    heads[3].find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert page.lines() == ["2", "3", "1", "5", "4"]
    assert [head.get_attribute("aria-sort") for head in heads[:4]] == [None, None, None, "descending"]
    heads[3].find_element(By.TAG_NAME, "button").send_keys(Keys.SPACE)
    assert page.lines() == ["4", "5", "1", "3", "2"]


def test_the_keyboard_reaches_the_report_and_its_rules(page: Page) -> None:
    page.open()
    page.one("body").send_keys(Keys.TAB)
    assert page.js("return document.activeElement.className") == "skip"
    page.chrome.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.js("return document.activeElement.id") == "main"
    page.one("#synthetic .ref").send_keys(Keys.ENTER)
    assert page.js("return location.hash + ' ' + document.activeElement.id") == "#rule-2 rule-2"
    assert page.one("#rule-2 details").get_attribute("open")


def test_a_node_shows_what_it_derives(page: Page) -> None:
    page.open()
    item = page.one("#tree-list [data-outcome=wrong]")
    item.find_element(By.TAG_NAME, "summary").click()
    marked = "return [...arguments[0].querySelectorAll('.yield .on')].map((each) => each.textContent).join(' ')"
    node = item.find_element(By.CSS_SELECTOR, ".tree li[data-n='1'] > .node")
    ActionChains(page.chrome).move_to_element(node).perform()
    assert page.js(marked, item) == "run twice RUN RUN"


def test_setup_is_copied(page: Page) -> None:
    page.open()
    page.js("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.one("[data-copy]").click()
    assert page.js("return window.copied") == '[data]\nset = "<script>alert(1)</script>"'


def test_everything_can_be_read_without_a_script(page: Page) -> None:
    page.open(script=False)
    assert page.lines() == ["1", "2", "3", "4", "5"]
    assert len(page.all("#tree-list > li")) == 3
    assert page.all("svg polyline")
    assert not page.one("[data-tools]").is_displayed()
    page.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
