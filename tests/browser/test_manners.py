"""How the page behaves: stopping, failures, keys and settings, keyboard, contrast, motion. Against the stub alone."""

import time
import unittest

from browser_support import SLOWDOWN, BrowserTest, expect
from stub_server import ANSWER, StubServer


class MannersTest(BrowserTest):
    def setUp(self):
        self.server = self.enterContext(StubServer())

    def wait_for(self, condition):
        end = time.monotonic() + 10 * SLOWDOWN
        while not condition() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertTrue(condition())


class StopTest(MannersTest):
    def test_stop_ends_it_on_the_server_too(self):
        self.server.step_s["mtp"] = 0.1
        page = self.open_page(self.server.url)
        answer = self.ask(page, wait=False)
        expect(answer.locator(".token").nth(3)).to_be_attached()
        page.get_by_role("button", name="Stop").click()
        expect(answer.locator(".notice")).to_contain_text("Stopped")
        expect(answer.locator(".prove")).to_be_disabled()
        expect(page.get_by_role("button", name="Send")).to_be_visible()
        self.wait_for(lambda: self.server.clients_gone == 1)

    def test_new_chat_ends_what_runs_and_forgets_all(self):
        self.server.step_s["mtp"] = 0.1
        page = self.open_page(self.server.url)
        self.ask(page, "Old.", wait=False)
        page.get_by_role("button", name="New chat").click()
        expect(page.locator(".answer")).to_have_count(0)
        expect(page.locator("#welcome")).to_be_visible()
        self.wait_for(lambda: self.server.clients_gone == 1)
        self.server.step_s["mtp"] = 0.001
        self.ask(page, "New.")
        self.assertEqual(self.server.requests[-1]["messages"], [{"role": "user", "content": "New."}])


class FailuresTest(MannersTest):
    def test_a_refusal_is_shown_as_it_is(self):
        self.server.refuse = (400, {"message": "[temperature] expected a number from 0 to 2, received 7",
                                    "type": "invalid_request_error", "param": "temperature", "code": None})
        page = self.open_page(self.server.url)
        answer = self.ask(page, "Hello?")
        expect(answer.get_by_role("alert")).to_have_text("[temperature] expected a number from 0 to 2, received 7 "
                                                         "(status 400, invalid_request_error, temperature)")
        expect(page.locator("#prompt")).to_have_value("Hello?")  # to be sent again

    def test_a_failure_on_the_way_keeps_what_came(self):
        self.server.thinking, self.server.fail_after = "", 5
        answer = self.ask(self.open_page(self.server.url))
        expect(answer.get_by_role("alert")).to_have_text("[engine] expected finite logits, received NaN (server_error)")
        expect(answer.locator(".text > .tokens")).to_contain_text("Once upon a time")
        expect(answer.locator(".prove")).to_be_disabled()

    def test_a_connection_that_ends_early_is_no_whole_answer(self):
        self.server.cut_after = 5
        answer = self.ask(self.open_page(self.server.url))
        expect(answer.get_by_role("alert")).to_contain_text("broke off")
        expect(answer.locator(".prove")).to_be_disabled()

    def test_a_server_that_is_gone(self):
        page = self.open_page(self.server.url)
        page.route("**/v1/chat/completions", lambda route: route.abort("connectionrefused"))
        expect(self.ask(page).get_by_role("alert")).to_contain_text("No answer from the server")

    def test_the_key_is_asked_for_and_kept_in_the_session_alone(self):
        self.server.key = "secret"
        context = self.browser.new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(self.server.url)
        expect(page.locator("#settings")).to_be_visible()
        expect(page.locator("#set-key")).to_be_focused()
        page.keyboard.type("secret")
        page.keyboard.press("Enter")
        expect(page.locator("#model")).to_have_text("tiny-qwen35-4bit")
        self.assertIn("three sons", self.ask(page).locator(".text > .tokens").text_content())
        self.assertEqual(page.evaluate("Object.values(sessionStorage)"), ["secret"])
        self.assertNotIn("secret", page.evaluate("JSON.stringify(localStorage)"))


class HeaderTest(MannersTest):
    def test_a_declined_contract_says_why(self):
        self.server.health = (200, {"status": "ok", "contract": {
            "mode": "exact", "held": "off", "reason": "Blocks of 4 rows differ in linear, layer 2."}})
        page = self.open_page(self.server.url)
        expect(page.locator("#contract-state")).to_have_text("contract: declined")
        page.locator("#contract summary").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#contract-reason")).to_contain_text("Blocks of 4 rows differ in linear, layer 2.")

    def test_a_loading_server_is_asked_again(self):
        loaded = self.server.health
        self.server.health = (503, {"error": {"message": "Loading model", "type": "unavailable_error"}})
        page = self.open_page(self.server.url)
        expect(page.locator("#contract-state")).to_have_text("loading model")
        self.server.health = loaded
        expect(page.locator("#contract-state")).to_have_text("contract: exact")


class SettingsTest(MannersTest):
    def test_they_reach_the_request_and_are_remembered(self):
        page = self.open_page(self.server.url)
        page.click("#open-settings")
        page.select_option("#set-drafts", "5")
        page.select_option("#set-contract", "strict")
        page.select_option("#set-thinking", "off")
        page.fill("#set-temperature", "0.7")
        page.fill("#set-seed", "42")
        page.fill("#set-max-tokens", "30")
        page.fill("#set-system", "Be brief.")
        page.click("#settings-form button")
        for _ in range(2):
            answer = self.ask(page, "Hello.")
            body = self.server.requests[-1]
            self.assertEqual(body["messages"], [{"role": "system", "content": "Be brief."},
                                                {"role": "user", "content": "Hello."}])
            self.assertEqual({name: body[name] for name in ("temperature", "seed", "max_tokens", "contract", "speculation",
                                                            "chat_template_kwargs")},
                             {"temperature": 0.7, "seed": 42, "max_tokens": 30, "contract": "strict",
                              "speculation": {"kind": "mtp", "draft_tokens": 5},
                              "chat_template_kwargs": {"enable_thinking": False}})
            expect(answer.locator(".notice")).to_contain_text("limit on tokens")
            page.reload()

    def test_what_is_not_set_is_the_models(self):
        self.ask(self.open_page(self.server.url))
        body = self.server.requests[0]
        self.assertNotIn("temperature", body)
        self.assertNotIn("max_tokens", body)
        self.assertNotIn("chat_template_kwargs", body)
        self.assertIsInstance(body["seed"], int)  # drawn by the page, so that it can ask again
        self.assertEqual(body["speculation"], {"kind": "mtp", "draft_tokens": "auto"})
        self.assertTrue(body["token_details"] and body["logits_digest"] and body["stream_options"]["include_usage"])


class AccessTest(MannersTest):
    def test_everything_can_be_reached_with_the_tab_key(self):
        page = self.open_page(self.server.url)
        self.ask(page)
        page.locator(".skip").focus()
        page.keyboard.press("Shift+Tab")
        reached = []
        for _ in range(16):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("""() => {
              const here = document.activeElement;
              return here.getAttribute("aria-label") ?? here.textContent.trim().slice(0, 40) + (here.id ? "#" + here.id : "");
            }"""))
        order = ["Skip to the message field", "contract: exact", "Colours#colours", "New chat#new-chat",
                 "Settings#open-settings", "Thinking", "Answer, token by token. Arrow keys move from token to token.",
                 "Prove it", "Receipt", "#prompt", "Send#send"]
        at = [next((i for i, name in enumerate(reached) if name == wanted), None) for wanted in order]
        self.assertNotIn(None, at, reached)
        self.assertEqual(at, sorted(at))

    def test_names_and_live_regions(self):
        page = self.open_page(self.server.url)
        answer = self.ask(page)
        expect(page.get_by_role("log", name="Conversation")).to_have_attribute("aria-live", "polite")
        expect(answer).to_have_attribute("aria-busy", "false")
        unnamed = page.evaluate("""() => [...document.querySelectorAll("button, input, select, textarea")]
            .filter(each => !each.textContent.trim() && !each.labels?.length && !each.ariaLabel).length""")
        self.assertEqual(unnamed, 0)
        page.click("#open-settings")
        expect(page.get_by_role("dialog", name="Settings")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#open-settings")).to_be_focused()

    def test_a_composed_character_is_not_sent(self):
        page = self.open_page(self.server.url)
        page.fill("#prompt", "にほ")
        page.evaluate("""document.getElementById("prompt").dispatchEvent(
            new KeyboardEvent("keydown", {key: "Enter", isComposing: true, bubbles: true}))""")
        page.press("#prompt", "Shift+Enter")
        self.assertEqual(self.server.requests, [])
        expect(page.locator("#prompt")).to_have_value("にほ\n")

    def test_contrast_in_light_and_dark(self):
        """WCAG AA of everything that has text of its own: 4.5:1, large text 3:1."""
        self.server.classic_differs = True
        for scheme in ("light", "dark"):
            page = self.open_page(self.server.url, color_scheme=scheme, reduced_motion="reduce")
            answer = self.ask(page)
            answer.get_by_role("button", name="Prove it").click()
            expect(answer.locator(".verdict")).to_be_visible()
            answer.locator(".thinking summary").click()
            answer.locator(".token").last.hover()
            page.evaluate("document.getElementById('settings').showModal()")
            low = page.evaluate("""() => {
              const context = Object.assign(document.createElement("canvas"), {width: 1, height: 1})
                  .getContext("2d", {willReadFrequently: true});
              const over = (colour, below) => {  // a colour of any notation on an opaque one
                context.fillStyle = `rgb(${below.join()})`;
                context.fillRect(0, 0, 1, 1);
                context.fillStyle = colour;
                context.fillRect(0, 0, 1, 1);
                return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
              };
              const backdrop = (each) => over(getComputedStyle(each).backgroundColor,
                                              each.parentElement && each.tagName !== "DIALOG" ? backdrop(each.parentElement) : [255, 255, 255]);
              const light = (colour) => colour.map((value) => value / 255)
                  .map((value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
                  .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
              const found = [];
              for (const each of document.querySelectorAll("body *")) {
                const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
                if (!own || !each.checkVisibility() || each.disabled || each.closest(".hidden, .skip, option")) continue;
                const behind = backdrop(each);
                const style = getComputedStyle(each);
                const [a, b] = [light(over(style.color, behind)), light(behind)].sort((x, y) => y - x);
                const ratio = (a + 0.05) / (b + 0.05);
                const size = parseFloat(style.fontSize);
                const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
                if (ratio < (large ? 3 : 4.5)) found.push(`${each.className} ${each.textContent.slice(0, 20)} ${ratio.toFixed(2)}`);
              }
              return found;
            }""")
            self.assertEqual(low, [], scheme)

    def test_motion_can_be_refused(self):
        self.server.step_s["mtp"] = 0.2
        page = self.open_page(self.server.url, reduced_motion="reduce")
        self.ask(page, wait=False)
        self.assertEqual(page.evaluate("document.getAnimations().length"), 0)
        page.click("#stop")

    def test_suggestions_ask(self):
        page = self.open_page(self.server.url)
        page.locator("#suggestions button").first.click()
        expect(page.locator(".answer").last).to_have_attribute("aria-busy", "false")
        self.assertEqual(page.locator(".answer .text > .tokens").text_content(), ANSWER)


if __name__ == "__main__":
    unittest.main()
