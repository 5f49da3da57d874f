import { until } from "@switchyard/local-servers/until";
import type { Page } from "playwright-core";
import { keepArchivedRuns } from "../../test/console/archived-runs.ts";
import { findChromium } from "../../test/console/chromium.ts";
import { startConsole } from "../../test/console/start-console.ts";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";

const GOAL = { openMs: 1_000, scroll: 1.5 };
/** Lines of the timeline: beginning, model calls, tool calls, end. The long run has 2,053 events. */
const LINES = { long: 50 * 21 + 3, reader: 7 };
const MANY_ROWS = 10_000;
const FIRST_PAGE = 200;

/** Measures a person's waits in a browser: for a long run to open, and for the next rows of a long list. */
export async function benchConsole({ stage, rounds }: Bench): Promise<Report> {
  const chromium = findChromium();
  if (chromium === null) throw new Error("this benchmark needs Chromium; YARD_CHROMIUM names one");
  const { dev, send, look, stop } = await startConsole(chromium);
  stage.onEnd(stop);
  const { page, go } = await look();
  const ended = async (agent: keyof typeof LINES): Promise<Opened> => {
    const limits = { maxRepeatedCalls: 10_000 };
    const { runId } = await send("/runs", { agent, input: "all", limits });
    const path = `/runs/${String(runId)}`;
    await go(path);
    await page.locator('.page-head [data-status="succeeded"]').waitFor({ timeout: 180_000 });
    return { path, lines: LINES[agent] };
  };
  const [long, short] = [await ended("long"), await ended("reader")];
  const opening = await openFigure(page, { long, short, turns: rounds > 1 ? 15 : 3 });
  await keepArchivedRuns(dev, MANY_ROWS);
  await go("/runs?agent=archived");
  return { name: "console", figures: [...opening, await scrollFigure(page)] };
}

interface Opened {
  readonly path: string;
  readonly lines: number;
}

/** From the request for the page until the timeline has all its lines, in turn with a short run. Medians. */
async function openFigure(
  page: Page,
  { long, short, turns }: { long: Opened; short: Opened; turns: number },
): Promise<Figure[]> {
  const msToOpen = async ({ path, lines }: Opened): Promise<number> => {
    await page.goto("about:blank");
    const began = performance.now();
    await page.goto(new URL(path, origin).href, { waitUntil: "commit" });
    await page.locator(`[data-testid="timeline"][data-count="${lines}"]`).waitFor();
    return performance.now() - began;
  };
  const { origin } = new URL(page.url());
  const [ours, baseline]: [number[], number[]] = [[], []];
  // The first load fills the browser's caches.
  for (let turn = 0; turn <= turns; turn += 1) {
    const [one, other] = [await msToOpen(long), await msToOpen(short)];
    if (turn === 0) continue;
    ours.push(one);
    baseline.push(other);
  }
  const name = `a run of ${long.lines} lines is opened, beside one of ${short.lines}`;
  const value = quantile(ours, 0.5);
  const figure = { unit: "ms", goal: `≤ ${GOAL.openMs} ms` };
  return [
    {
      name,
      value,
      baseline: quantile(baseline, 0.5),
      ratio: value / quantile(baseline, 0.5),
      met: value <= GOAL.openMs,
      ...figure,
    },
    { name: "the slowest of them", value: Math.max(...ours), unit: "ms" },
  ];
}

/** The time of a frame while the list is scrolled, with all rows loaded, beside the same with the first page of them. */
async function scrollFigure(page: Page): Promise<Figure> {
  await countOf(page, "runs", (count) => count === FIRST_PAGE);
  // The first rows are far from the end of the page, so nothing is loaded meanwhile.
  const baseline = await framesWhileScrolling(page, 0);
  await page.getByTestId("runs").focus();
  await until(
    async () => {
      await page.keyboard.press("End");
      return countOf(page, "runs", () => true);
    },
    (count) => count === MANY_ROWS,
    { timeoutMs: 300_000 },
  );
  const value = await framesWhileScrolling(page, MANY_ROWS / 2);
  return compared(
    {
      name: `a frame while ${MANY_ROWS} rows are scrolled, beside ${FIRST_PAGE}, p95`,
      value: quantile(value, 0.95),
      unit: "ms",
      baseline: quantile(baseline, 0.95),
    },
    { text: `≤ ${GOAL.scroll}×`, holds: (ratio) => ratio <= GOAL.scroll },
  );
}

const ROW_PX = 40;
const FRAMES = 120;
/** So fast that each frame has another row. */
const FRAME_PX = 40;

/** Milliseconds of each frame, while the box goes down from a row on. */
function framesWhileScrolling(page: Page, fromRow: number): Promise<number[]> {
  return page.evaluate<number[]>(`(async () => {
    const box = document.querySelector('[data-testid="runs"]');
    const frame = () => new Promise(requestAnimationFrame);
    const times = [];
    box.scrollTo(0, ${fromRow * ROW_PX});
    await frame();
    let last = await frame();
    for (let turn = 0; turn < ${FRAMES}; turn += 1) {
      box.scrollTo(0, ${fromRow * ROW_PX} + (turn + 1) * ${FRAME_PX});
      const now = await frame();
      times.push(now - last);
      last = now;
    }
    return times;
  })()`);
}

/** Resolves with the table's total of rows, once it is complete. */
function countOf(page: Page, testId: string, isIt: (count: number) => boolean): Promise<number> {
  return until(async () => Number(await page.getByTestId(testId).getAttribute("data-count")), isIt);
}

function quantile(values: readonly number[], share: number): number {
  const at = Math.min(values.length - 1, Math.floor(values.length * share));
  return values.toSorted((a, b) => a - b)[at] ?? Number.NaN;
}
