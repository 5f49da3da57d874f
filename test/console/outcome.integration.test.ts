import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import type { Page } from "playwright-core";
import { consoleWorld, skip } from "./console-world.ts";
import type { Look } from "./start-console.ts";

const there = await consoleWorld();

/** A laptop's window of little height, a phone, and a desktop at 400 %. */
const SIZES = [
  { width: 1280, height: 420 },
  { width: 390, height: 600 },
  { width: 320, height: 256 },
];

/** Starts a run and opens its page, once it has the status. */
async function open(
  { page, go }: Look,
  { size, status, ...run }: { size: (typeof SIZES)[number]; status: string } & StartedRun,
): Promise<void> {
  const runId = String((await there().send("/runs", run))["runId"]);
  await page.setViewportSize(size);
  await go(`/runs/${runId}`);
  await page.locator(`.page-head [data-status="${status}"]`).waitFor();
  await page.getByTestId("timeline").getByText("started by").waitFor();
}

interface StartedRun {
  readonly agent: string;
  readonly input: string;
  readonly limits?: object;
}

/** Distances of the line from the edges of what is in sight. */
interface Edges {
  readonly above: number;
  readonly below: number;
  readonly height: number;
}

/** Scrolls until the line is in place: a page whose rows still arrive becomes longer. */
function scrollTo(page: Page, y: number, isInPlace: (edges: Edges) => boolean): Promise<unknown> {
  const edges = async (): Promise<Edges | null> => {
    await page.evaluate(`document.querySelector("main").scrollTo(0, ${y})`);
    const [box, main] = await Promise.all([
      page
        .getByTestId("outcome-line")
        .boundingBox({ timeout: 1_000 })
        .catch(() => null),
      page.locator("main").boundingBox(),
    ]);
    if (box === null || main === null) return null;
    const below = main.y + main.height - box.y - box.height;
    return { above: box.y - main.y, below, height: box.height };
  };
  return until(edges, (found) => found !== null && isInPlace(found));
}

test(
  "input and outcome of a run stay in view, as one line while the whole is out of sight",
  { skip },
  async (t) => {
    const look = await there().look(t);
    const { page } = look;
    for (const size of SIZES) {
      await open(look, { agent: "reader", input: "always in view", status: "succeeded", size });
      const line = page.getByTestId("outcome-line");
      await scrollTo(
        page,
        1e6,
        ({ above, below, height }) => above >= 0 && above < 4 && below >= 0 && height <= 40,
      );
      await line.getByText("always in view").first().waitFor();
      await line.getByText("Answered").waitFor();
      await line.click();
      await page.getByTestId("output").waitFor();
      await line.waitFor({ state: "detached" });
    }
  },
);

test(
  "the line is at the lower edge where the outcome is below it, and says why a run stopped or waits",
  { skip },
  async (t) => {
    const limits = (onLimit: string) => ({ limits: { maxSteps: 1, onLimit } });
    const size = { width: 320, height: 256 };
    const look = await there().look(t);
    const { page } = look;
    for (const { words, ...run } of [
      {
        agent: "reader",
        status: "failed",
        words: /^Stopped It reached its limit of 1 model call: /,
        ...limits("fail"),
      },
      {
        agent: "reader",
        status: "waiting",
        words: /^Reached its limit of 1 model call$/,
        ...limits("pause"),
      },
      {
        agent: "careful",
        status: "waiting",
        words: /^Waits for approval of files › get_file_info$/,
      },
      { agent: "curious", status: "waiting", words: /^Waits for an answer$/ },
    ]) {
      await open(look, { ...run, input: "notes.md", size });
      const line = page.getByTestId("outcome-line");
      await scrollTo(page, 0, ({ above, below }) => below >= 0 && below < 4 && above > 0);
      await line.getByText("Asked").waitFor();
      // The run's facts come by another request than its events.
      await line.locator("span").last().filter({ hasText: words }).waitFor();
    }
  },
);

test("what has the keyboard's focus is not behind the line", { skip }, async (t) => {
  const look = await there().look(t);
  const { page } = look;
  for (const size of SIZES) {
    await open(look, { agent: "reader", input: "by keys", status: "succeeded", size });
    let withLine = 0;
    for (const key of ["Tab", "Shift+Tab"]) {
      await page.evaluate("document.querySelector('main').focus()");
      if (key !== "Tab") await page.getByTestId("row").last().focus();
      for (let presses = 0; presses < 40; presses += 1) {
        await page.keyboard.press(key);
        const found = await until(
          () => page.evaluate<{ name: string; hidden: number } | "no line">(BEHIND_LINE),
          (behind) => behind === "no line" || behind.hidden < 1,
          { timeoutMs: 10_000 },
        );
        if (found !== "no line") withLine += 1;
      }
    }
    assert.ok(withLine > 0, `the line was there at ${size.width} px`);
  }
});

/** Returns the pixels of what has the focus that are behind the line, after the page has settled; "no line" while there is no line, or it has the focus. */
const BEHIND_LINE = `(async () => {
  for (let frame = 0; frame < 3; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
  const line = document.querySelector("[data-testid=outcome-line]");
  const focused = document.activeElement;
  if (line === null || focused === line || !document.querySelector("main").contains(focused)) return "no line";
  const [a, b] = [line, focused].map((one) => one.getBoundingClientRect());
  // A table that fills the screen is behind the line with a part of it.
  if (b.height > document.querySelector("main").clientHeight - a.height) return "no line";
  return { name: focused.outerHTML.slice(0, 120), hidden: Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) };
})()`;
