"""What the page shows of a scripted answer: colours, steps, figures, proof, failures, settings. Against the stub alone."""

import unittest

from browser_support import BrowserTest, expect
from stub_server import ANSWER, THINKING, StubServer, token_id

TOKENS = ".text > .tokens .token"


class ViewTest(BrowserTest):
    def setUp(self):
        self.server = self.enterContext(StubServer())

    def steps(self):
        return list(self.server.steps(self.server.requests[0]))


class TokensTest(ViewTest):
    def test_text_is_what_the_model_wrote_and_never_markup(self):
        answer = self.ask(self.open_page(self.server.url))
        self.assertEqual(answer.locator(".text > .tokens").text_content(), ANSWER)
        self.assertEqual(answer.locator("b").count(), 0)

    def test_colours_say_how_each_token_came(self):
        answer = self.ask(self.open_page(self.server.url))
        shown = answer.locator(TOKENS).evaluate_all(
            "all => all.map(each => [each.textContent, each.classList.contains('drafted')])")
        # Two spans of one token are one piece of text here: what was drafted, letter by letter.
        letters = [drafted for text, drafted in shown for _ in text.encode()]
        expected = [details["drafted"] for step in self.steps() for channel, data, details in step
                    if channel == "content" for _ in data]
        # The feather is two tokens, and belongs to the second.
        feather = ANSWER.encode().index("🪶".encode())
        self.assertEqual(letters[:feather], expected[:feather])
        self.assertEqual(letters[feather + 4:], expected[feather + 4:])
        self.assertEqual(letters[feather], expected[feather + 3])

    def test_lines_tell_the_same_as_colours(self):
        answer = self.ask(self.open_page(self.server.url))
        images = [answer.locator(f"{TOKENS}.{kind}:not(.blank)").first.evaluate("e => getComputedStyle(e).backgroundImage")
                  for kind in ("drafted", "decided")]
        self.assertRegex(images[0], "^linear-gradient")
        self.assertRegex(images[1], "^repeating-linear-gradient")

    def test_thinking_is_collapsed_and_apart(self):
        page = self.open_page(self.server.url)
        answer = self.ask(page)
        thinking = answer.locator(".thinking .tokens")
        expect(thinking).to_be_hidden()
        answer.locator(".thinking summary").focus()
        page.keyboard.press("Enter")
        expect(thinking).to_be_visible()
        self.assertEqual(thinking.text_content(), THINKING)

    def test_pointing_shows_the_step(self):
        page = self.open_page(self.server.url)
        answer = self.ask(page)
        expect(answer.locator(".readout .legend")).to_be_visible()
        answer.locator(TOKENS, has_text="younge").first.hover()
        pointed = next(step for step in self.steps() if any((channel, data) == ("content", b" younge") for channel, data, _ in step))
        details = pointed[0][2]
        expect(answer.locator(".step-name")).to_contain_text(f"Step {details['block']}")
        expect(answer.locator(".mark")).to_have_count(details["block_rows"])
        expect(answer.locator(".mark.drafted")).to_have_count(sum(entry["drafted"] for _, _, entry in pointed))
        same = answer.locator(".same-step").all_text_contents()
        self.assertEqual("".join(same), b"".join(data for _, data, _ in pointed).decode())
        page.mouse.move(0, 0)
        expect(answer.locator(".readout .legend")).to_be_visible()

    def test_arrow_keys_walk_over_tokens_and_steps(self):
        page = self.open_page(self.server.url)
        answer = self.ask(page)
        answer.locator(".text > .tokens").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(answer.locator(".pointed")).to_have_text("upon")
        expect(answer.locator(".step-token")).to_contain_text(f'" upon" ({token_id(b" upon")})')
        content = [step for step in self.steps() if any(channel == "content" for channel, _, _ in step)]
        page.keyboard.press("ArrowDown")
        expect(answer.locator(".step-name")).to_contain_text(f"Step {content[1][0][2]['block']}")
        page.keyboard.press("ArrowUp")
        expect(answer.locator(".step-name")).to_contain_text(f"Step {content[0][0][2]['block']}")
        page.keyboard.press("End")
        expect(answer.locator(".pointed")).to_have_text(".")
        page.keyboard.press("Escape")
        expect(answer.locator(".pointed")).to_have_count(0)

    def test_colours_can_be_switched_off(self):
        page = self.open_page(self.server.url)
        answer = self.ask(page)
        page.get_by_role("button", name="Colours").click()
        expect(page.locator("#colours")).to_have_attribute("aria-pressed", "false")
        expect(answer.locator(f"{TOKENS}.drafted").first).to_have_css("background-image", "none")

    def test_other_servers_text_is_shown_without_colours(self):
        self.server.tells_tokens = False
        answer = self.ask(self.open_page(self.server.url))
        self.assertEqual(answer.locator(".text > .tokens").text_content(), ANSWER)
        self.assertEqual(answer.locator(TOKENS).count(), 0)

    def test_every_way_of_cutting_gives_each_letter_its_token(self):
        """The attribution alone, in the browser, over random tokens and random deltas."""
        page = self.open_page(self.server.url)
        wrong = page.evaluate("""async () => {
          const {Attribution} = await import("/page/attribution.js");
          let seed = 1;
          const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
          const characters = ["a", "b", " ", "\\n", "ä", "€", "🪶"];
          for (let round = 0; round < 300; ++round) {
            const text = Array.from({length: 30}, () => characters[random(characters.length)]).join("");
            const bytes = new TextEncoder().encode(text);
            const attribution = new Attribution();
            const owners = [];
            for (let at = 0, id = 0; at < bytes.length; ++id) {
              const cut = bytes.slice(at, at + 1 + random(4));
              attribution.push({id, bytes: [...cut]});
              owners.push(...Array(cut.length).fill(id));
              at += cut.length;
            }
            // Deltas of whole characters; the owner of a character is the token of its last byte.
            const letters = [...text];
            let byte = 0;
            for (let at = 0; at < letters.length;) {
              const part = letters.slice(at, at + 1 + random(5));
              const pieces = attribution.take("content", part.join(""));
              if (pieces.map((piece) => piece.text).join("") !== part.join("")) return `round ${round}: text`;
              const told = pieces.flatMap((piece) => [...piece.text].map(() => piece.token?.id));
              for (const [i, letter] of part.entries()) {
                byte += new TextEncoder().encode(letter).length;
                if (told[i] !== owners[byte - 1]) return `round ${round}: letter ${at + i} of ${JSON.stringify(text)}`;
              }
              at += part.length;
            }
          }
          return null;
        }""")
        self.assertIsNone(wrong)


class FiguresTest(ViewTest):
    def test_acceptance_by_position(self):
        answer = self.ask(self.open_page(self.server.url))
        tested, accepted = [0] * 3, [0] * 3
        for step in self.steps():
            for _, _, details in step:
                if details["block_rows"] > 1 and details["row"] < 3:
                    tested[details["row"]] += 1
                    accepted[details["row"]] += details["drafted"]
        words = answer.locator(".chart li .hidden").all_text_contents()
        self.assertEqual(words, [f"position {i + 1}: {accepted[i]} of {tested[i]} accepted, "
                                 f"{round(100 * accepted[i] / tested[i])} %" for i in range(3)])

    def test_they_grow_while_the_answer_comes(self):
        self.server.step_s["mtp"] = 0.2
        page = self.open_page(self.server.url)
        answer = self.ask(page, wait=False)
        expect(answer.locator(".chart li")).to_have_count(3)
        expect(answer).to_have_attribute("aria-busy", "true")
        expect(answer.locator(".summary")).to_contain_text("tested drafts accepted")
        page.click("#stop")

    def test_both_speeds_once_there_was_a_run_without_drafts(self):
        self.server.step_s = {"mtp": 0.01, "off": 0.01}
        answer = self.ask(self.open_page(self.server.url))
        expect(answer.locator(".speed-name")).to_have_text(["with drafts"])
        answer.get_by_role("button", name="Prove it").click()
        expect(answer.locator(".speed-name")).to_have_text(["with drafts", "without"])
        ratio = float(answer.locator(".ratio").text_content().split()[0])
        self.assertGreater(ratio, 1.5)  # steps take as long, and make three tokens
        self.assertEqual(self.server.requests[1], {**self.server.requests[0], "speculation": {"kind": "off"}})

    def test_a_difference_is_said_loudly(self):
        self.server.classic_differs = True
        page = self.open_page(self.server.url)
        answer = self.ask(page)
        answer.get_by_role("button", name="Prove it").click()
        verdict = answer.locator(".verdict")
        expect(verdict).to_contain_text("NOT EQUAL: logits; token ids, from number 21 on")
        expect(verdict).to_have_attribute("role", "alert")
        expect(answer.locator(".ids .differs")).to_have_count(2)
        expect(answer.locator(".digest .differs").first).to_be_visible()
        expect(answer.locator(".ratio")).to_have_count(0)

    def test_an_answer_without_drafts_is_proved_the_other_way_round(self):
        page = self.open_page(self.server.url)
        page.click("#open-settings")
        page.select_option("#set-drafts", "off")
        page.click("#settings-form button")
        answer = self.ask(page)
        answer.get_by_role("button", name="Prove it").click()
        expect(answer.locator(".verdict")).to_contain_text("Equal, bit for bit")
        self.assertEqual([body["speculation"]["kind"] for body in self.server.requests], ["off", "mtp"])


if __name__ == "__main__":
    unittest.main()
