"""Pictures of the page for README: desk and phone, light and dark, of an answer that has been proved. Not a test.

    tools/python_env.sh run tests/browser/take_screenshots.py docs/images [URL]

Without the URL of a running server, of `verbatim serve` with tiny-qwen35-4bit, which goes on with a story (continue.jinja).
Fonts are the machine's: fonts-inter, fonts-texgyre and fonts-noto-color-emoji look like most people's systems.
"""

import contextlib
import pathlib
import sys

from browser_support import CHROMIUM, SOURCE, ServedModel, expect, sync_playwright

QUESTION = "Once upon a time there was a king who had three sons."
PICTURES = [("page-light", 1280, 1180, "light"), ("page-dark", 1280, 1180, "dark"), ("page-phone", 390, 844, "light")]


def take(browser, url, folder, name, width, height, scheme):
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1.5,
                            reduced_motion="reduce")
    page.goto(url)
    expect(page.locator("#model")).not_to_be_empty()
    page.click("#open-settings")
    page.select_option("#set-drafts", "2")  # on some machines a small model is fastest without any
    page.fill("#set-max-tokens", "150")
    page.fill("#set-temperature", "0.7")
    page.fill("#set-seed", "4")
    page.click("#settings-form button")
    page.fill("#prompt", QUESTION)
    page.press("#prompt", "Enter")
    answer = page.locator(".answer")
    expect(answer).to_have_attribute("aria-busy", "false", timeout=120_000)
    answer.locator(".prove").click()
    expect(answer.locator(".verdict")).to_be_visible(timeout=120_000)
    page.evaluate("scrollTo(0, 0)")
    answer.locator(".text > .tokens .token.drafted:not(.blank)").first.hover()
    page.screenshot(path=str(folder / f"{name}.png"))
    if width < 600:  # what is below the text there
        answer.locator(".verdict").scroll_into_view_if_needed()
        page.screenshot(path=str(folder / f"{name}-proof.png"))
    page.close()


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        url = sys.argv[2] if len(sys.argv) > 2 else stack.enter_context(
            ServedModel("--chat-template", str(pathlib.Path(__file__).parent / "continue.jinja"),
                        model=str(SOURCE / "models" / "tiny-qwen35-4bit"))).url
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for picture in PICTURES:
            take(browser, url, folder, *picture)
        browser.close()


if __name__ == "__main__":
    main()
