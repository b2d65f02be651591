"""The page in Chromium: what holds whichever server is behind it. Against the stub, and `verbatim serve` where the program has it."""

import json
import pathlib
import re
import unittest

from browser_support import BrowserTest, ServedModel, expect, has_serve
from stub_server import StubServer


class PageTest:
    """The tests; `self.server` comes from the classes below."""

    max_tokens = None

    def open(self, **options):
        page = self.open_page(self.server.url, **options)
        if self.max_tokens:
            page.click("#open-settings")
            page.fill("#set-max-tokens", str(self.max_tokens))
            page.click("#settings-form button")
        return page

    def test_an_answer_is_made_of_tokens(self):
        page = self.open()
        answer = self.ask(page, "Once upon a time")
        expect(page.locator(".question").last).to_have_text(re.compile("Once upon a time$"))
        expect(page.locator("#status")).to_have_text(re.compile(r"The answer is complete: \d+ tokens\."))
        self.assertGreater(answer.locator(".tokens .token").count(), 5)
        # All of the text has come from tokens, none of it unaccounted for.
        self.assertEqual(answer.locator(".tokens").evaluate_all(
            "views => views.flatMap(view => [...view.childNodes]).filter(node => node.nodeType === 3).length"), 0)
        expect(answer.locator(".speed-value")).to_have_text(re.compile(r"\d"))

    def test_the_proof_shows_two_equal_digests(self):
        page = self.open()
        answer = self.ask(page)
        answer.get_by_role("button", name="Prove it").click()
        expect(answer.locator(".verdict")).to_have_text(re.compile("Equal, bit for bit"))
        digests = answer.locator(".digest").evaluate_all("all => all.map(each => each.dataset.digest)")
        self.assertEqual(len(digests), 2)
        self.assertRegex(digests[0], "^[0-9a-f]{64}$")
        self.assertEqual(digests[0], digests[1])
        ids = answer.locator(".ids").all_inner_texts()
        self.assertEqual(ids[0], ids[1])
        self.assertEqual(answer.locator(".proof .differs").count(), 0)
        expect(answer.locator(".speed-value")).to_have_count(2)
        expect(answer.locator(".ratio")).to_have_text(re.compile("for the same bytes"))

    def test_the_receipt_is_downloaded(self):
        page = self.open()
        answer = self.ask(page)
        with page.expect_download() as download:
            answer.get_by_role("button", name="Receipt").click()
        self.assertRegex(download.value.suggested_filename, r"\.receipt\.json$")
        receipt = json.loads(pathlib.Path(download.value.path()).read_text(encoding="utf-8"))
        self.assertIsInstance(receipt, dict)
        self.assertGreater(len(receipt), 2)

    def test_the_next_turn_goes_on_from_the_answer(self):
        page = self.open()
        self.ask(page, "One.")
        expect(page.locator("#send")).to_be_visible()
        with page.expect_request("**/v1/chat/completions") as request:
            answer = self.ask(page, "Two.")
        expect(answer.locator(".failure")).to_have_count(0)
        self.assertEqual([(message["role"], message["content"]) for message in request.value.post_data_json["messages"]][::2],
                         [("user", "One."), ("user", "Two.")])

    def test_nothing_is_cut_off_on_narrow_screens(self):
        for width in (320, 390, 768):
            page = self.open(viewport={"width": width, "height": 640})
            answer = self.ask(page)
            answer.get_by_role("button", name="Prove it").click()
            expect(answer.locator(".verdict")).to_be_visible()
            self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), width)
            page.click("#open-settings")
            box = page.locator("#settings").bounding_box()
            self.assertGreaterEqual(box["x"], 0)
            self.assertLessEqual(box["x"] + box["width"], width)


class StubPageTest(PageTest, BrowserTest):
    def setUp(self):
        self.server = self.enterContext(StubServer())


if has_serve():
    class ServedPageTest(PageTest, BrowserTest):
        max_tokens = 48

        @classmethod
        def setUpClass(cls):
            super().setUpClass()
            cls.server = cls.enterClassContext(ServedModel())


if __name__ == "__main__":
    unittest.main()
