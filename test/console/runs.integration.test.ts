import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { until } from "@switchyard/local-servers/until";
import { keepArchivedRuns, keepDeadCommand } from "./archived-runs.ts";
import { archiveRuns } from "../lib/archive-runs.ts";
import { busyRunner } from "../lib/busy-runner.ts";
import { startHeldModel } from "../lib/held-model.ts";
import { confirmApproval } from "./approve.ts";
import { axeViolations } from "./chromium.ts";
import { consoleWorld, skip } from "./console-world.ts";

const held = await startHeldModel();
const local = { type: "openai-compatible", baseURL: held.baseURL };
const there = await consoleWorld({
  apart: true,
  files: {
    "models.json": JSON.stringify({ providers: { local } }),
    "agents/held.yaml":
      "name: held\ndescription: Writes until it is released.\nmodel: local/held\n",
  },
});

const started = async (agent: string, input: string, more: object = {}): Promise<string> =>
  String((await there().send("/runs", { agent, input, ...more }))["runId"]);

const status = (page: Page, word: string) => page.locator(`.page-head [data-status="${word}"]`);

test(
  "the run shows who approved a call, when and why, also beside the call's bar",
  { skip },
  async (t) => {
    const approver = await there().look(t, {
      token: await there().keyOf("dana", ["approver"]),
    });
    const runId = await started("careful", "notes.md");
    const { page, go } = await there().look(t);
    await go(`/runs/${runId}`);
    await page.locator('[data-testid="wait"][data-status="approval"]').waitFor();
    await approver.go("/approvals");
    await approver.page.getByTestId("approval-detail").getByText("careful for cli").waitFor();
    await approver.page.getByLabel("Why you approve it").fill("I know this file");
    await approver.page.getByTestId("approve").click();
    await confirmApproval(approver.page);
    await approver.page.getByTestId("toast").getByText("Approved").waitFor();
    await status(page, "succeeded").waitFor();
    const said = page.getByTestId("run-approvals");
    await said.getByText("I know this file").waitFor();
    assert.match(await said.innerText(), /approved[\s\S]*get_file_info[\s\S]*by dana/);
    const call = page.getByTestId("timeline").getByText("files › get_file_info").first();
    await call.click();
    await page.getByTestId("span-detail").getByText("I know this file").waitFor();
    assert.ok((await page.getByTestId("axis").locator("span").count()) >= 2, "marks of time");
  },
);

test("a run looks the same after its journal has moved into the archive", { skip }, async (t) => {
  const { page, go } = await there().look(t);
  const runId = await started("reader", "the first input");
  const shown = async (): Promise<string[]> => {
    await go(`/runs/${runId}`);
    await status(page, "succeeded").waitFor();
    await page.getByTestId("timeline").getByText("files › list_directory").first().click();
    await page.getByTestId("span-detail").getByText("notes.md").first().waitFor();
    const places = ["timeline", "span-detail"];
    return Promise.all(places.map((place) => page.getByTestId(place).innerText()));
  };
  const before = await shown();
  await archiveRuns(there().dev, [runId]);
  assert.deepEqual(await shown(), before);
});

test(
  "a run is forked with another input, and compared with the one that it was copied from",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    const runId = await started("reader", "the first input");
    await go(`/runs/${runId}`);
    await status(page, "succeeded").waitFor();
    await page.getByTestId("fork").click();
    await page.getByTestId("fork-dialog").getByLabel("First step").fill("2");
    await page.getByTestId("fork-dialog").getByLabel("Input").fill("another input");
    await page.getByTestId("fork-dialog").getByRole("button", { name: "Fork" }).click();
    await page.waitForURL(/\/runs\/fork-/);
    await status(page, "succeeded").waitFor();
    await page.getByTestId("compare").click();
    await page.getByRole("link", { name: "The one that it was copied from" }).click();
    await page.waitForURL(/\/compare\//);
    const facts = page.getByTestId("compared-facts");
    const differs = facts.locator('tr[data-status="differs"]');
    await differs.filter({ hasText: "Input" }).getByText("another input").first().waitFor();
    assert.match(await differs.filter({ hasText: "Answer" }).innerText(), /the first input/);
    assert.equal(await differs.filter({ hasText: "Model" }).count(), 0);
    await page.getByTestId("compared").waitFor();
    const link = page.url();
    await page.reload();
    await page.getByTestId("compared").waitFor();
    assert.equal(page.url(), link, "the comparison has an address");
  },
);

test(
  "on a phone a step of a run is a page with a way back, and rules are cards without a scroll sideways",
  { skip },
  async (t) => {
    const runId = await started("reader", "on a phone");
    const { page, go } = await there().look(t, { width: 390, height: 844 });
    await go(`/runs/${runId}`);
    await status(page, "succeeded").waitFor();
    const step = page.getByTestId("timeline").getByText("files › write_file");
    const detail = page.getByTestId("span-detail");
    const seenAt = async (): Promise<number> => Math.round((await step.boundingBox())?.y ?? -1);
    await step.scrollIntoViewIfNeeded();
    const before = await seenAt();
    await step.click();
    await detail.getByText("Denied by rule").waitFor();
    assert.equal(await step.isVisible(), false, "the steps are another page");
    assert.equal(await page.getByTestId("outcome").isVisible(), false);
    await page.getByTestId("decision").getByText("no-writes", { exact: true }).waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await page.getByTestId("back").click();
    await detail.waitFor({ state: "detached" });
    assert.equal(await seenAt(), before, "the steps are where they were");
    await step.click();
    await detail.waitFor();
    await page.goBack();
    await step.waitFor();
    await page.goForward();
    await detail.getByText("Denied by rule").waitFor();
    await page.reload();
    await detail.getByText("Denied by rule").waitFor();

    await go("/policy?view=rules");
    const rule = page.getByTestId("rule").first();
    const width = (await rule.boundingBox())?.width ?? 0;
    assert.ok(width > 300 && width <= 390, `a card of ${width} px`);
    await rule.locator('[data-testid="status"][data-status="deny"]').waitFor();
  },
);

test("rows, bars and badges have names for screen readers", { skip }, async (t) => {
  const runId = await started("reader", "by ear");
  await started("careful", "notes.md");
  const { page, go } = await there().look(t);
  await go(`/runs/${runId}`);
  await status(page, "succeeded").waitFor();
  const timeline = page.getByTestId("timeline");
  await timeline
    .getByRole("row", { name: /tool files › write_file content: hello.* denied from .* on .*s$/ })
    .waitFor();
  await timeline
    .getByRole("img", { name: /^from [\d.]+ m?s on$/ })
    .first()
    .waitFor();
  await timeline.getByRole("button", { name: "Hide the 1 line of step 1" }).waitFor();
  await page.getByRole("link", { name: /^Needs you \d+ waiting$/ }).waitFor();
  await page.getByRole("link", { name: /^Needs you \d+$/ }).waitFor();
  await go("/runs");
  await page
    .getByRole("row", { name: /^reader succeeded .* by ear scripted\/plan cli/ })
    .first()
    .waitFor();
});

test(
  "ten tabs of a live run all update, also after the tab that reads is closed",
  { skip },
  async (t) => {
    const runId = await started("curious", "ask me");
    const { page, context, load } = await there().look(t);
    const open = async () => {
      const tab = await context.newPage();
      await tab.goto(`${there().dev.httpUrl}/runs/${runId}`);
      await status(tab, "waiting").waitFor();
      return tab;
    };
    await page.goto("about:blank");
    const first = await open();
    // A browser opens six connections to an address; each tab had two streams of its own.
    const tabs: Page[] = [];
    for (let tab = 0; tab < 9; tab += 1) tabs.push(await open());
    await load(`/runs/${runId}`);
    await status(page, "waiting").waitFor();
    await first.close();
    await there().send(`/runs/${runId}/cancel`, {});
    for (const tab of [page, ...tabs]) await status(tab, "cancelled").waitFor();
  },
);

test(
  "a run continues on an open page while its runner's process is killed",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    const runId = await started("slow", "go on");
    await go(`/runs/${runId}`);
    await page.getByTestId("timeline").getByText("files › list_directory").first().waitFor();
    process.kill(await busyRunner(there().dev), "SIGKILL");
    const timeline = page.getByTestId("timeline");
    await timeline.getByText("another runner continues").waitFor({ timeout: 120_000 });
    await status(page, "succeeded").waitFor({ timeout: 120_000 });
    const titles = await timeline.getByTestId("row").allInnerTexts();
    const calls = titles.filter((title) => title.includes("files ›"));
    assert.equal(calls.length, 4, titles.join("\n"));
    assert.match(await page.getByTestId("facts").innerText(), /Times picked up\s+2/);
  },
);

test(
  "a run whose runners died shows it, is listed as given up, and is retried",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    const runId = await started("held", "one that kills");
    await go(`/runs/${runId}?view=conversation`);
    // Each is killed in the middle of the same answer, which does not end before it is released.
    let before = 0;
    for (let death = 0; death < 2; death += 1) {
      await page.locator('.turn[data-status="live"]').waitFor();
      // A runner that has a slot for the run may not have claimed it yet, and would not count.
      await until(() => held.requests() > death);
      const runner = await busyRunner(there().dev, before);
      process.kill(runner, "SIGKILL");
      before = runner;
    }
    await status(page, "dead").waitFor({ timeout: 120_000 });
    const failure = page.locator('[data-testid="failure"][data-status="too_many_attempts"]');
    assert.match(await failure.innerText(), /2 runners died/);
    assert.deepEqual(await axeViolations(page), []);
    await go("/system");
    const line = page.getByTestId("dead").getByRole("listitem").filter({ hasText: "held" });
    await line.getByRole("link").click();
    await page.waitForURL(new RegExp(`/runs/${runId}`));
    await page.goBack();
    held.release();
    await line.getByRole("button", { name: "Retry" }).click();
    await page.getByTestId("confirm").getByRole("button", { name: "Retry the run" }).click();
    await line.waitFor({ state: "detached" });
    await go(`/runs/${runId}`);
    await status(page, "succeeded").waitFor();
  },
);

test(
  "a command that runners died of is sent again from System, by who may, and becomes its run",
  { skip },
  async (t) => {
    const dead = { caller: "zoe", name: "unborn", agent: "reader", input: "born late" };
    await keepDeadCommand(there().dev, dead);
    const { page, go } = await there().look(t);
    await go("/system");
    const line = page.getByTestId("dead").getByRole("listitem").filter({ hasText: "unborn" });
    assert.match(await line.innerText(), /yard\.cmd\.zoe\.run\.start\.reader/);
    assert.deepEqual(await axeViolations(page), []);
    const viewer = await there().look(t, { token: await there().keyOf("zoe", ["viewer"]) });
    await viewer.go("/system");
    await viewer.page.getByTestId("dead").getByText("zoe~unborn").waitFor();
    assert.equal(await viewer.page.getByTestId("redrive").count(), 0);
    await line.getByTestId("redrive").click();
    await page.getByTestId("confirm").getByText("zoe~unborn").first().waitFor();
    await page.getByRole("button", { name: "Send it again" }).click();
    await page.getByTestId("toast").getByText("on its way again").waitFor();
    await line.waitFor({ state: "detached" });
    await go("/runs/zoe~unborn");
    await status(page, "succeeded").waitFor();
    await page.getByRole("tab", { name: "Conversation" }).click();
    await page.getByTestId("conversation").getByText("born late").first().waitFor();
  },
);

/** Strings, since these tests know no types of a document. */
const scrollTo = (page: Page, testId: string, top: number): Promise<void> =>
  page.evaluate(`document.querySelector('[data-testid="${testId}"]').scrollTo(0, ${top})`);

test(
  "of a run with two thousand events each line is there, and the document has only those in sight",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    const runId = await started("long", "all", { limits: { maxRepeatedCalls: 10_000 } });
    await go(`/runs/${runId}`);
    await status(page, "succeeded").waitFor({ timeout: 120_000 });
    await page.reload();
    // 50 steps of a model call and 20 calls each, the answer, the beginning and the end.
    const lines = 50 * 21 + 1 + 2;
    const timeline = page.locator(`[data-testid="timeline"][data-count="${lines}"]`);
    await timeline.waitFor();
    assert.ok((await timeline.getByTestId("row").count()) < 100);
    assert.equal(await timeline.getByText("finished").count(), 0, "out of sight");
    await scrollTo(page, "timeline", 1_000_000);
    await timeline.getByText("finished").waitFor();
    await page.getByRole("tab", { name: "Raw" }).click();
    await page.getByText(/The last 500 of 2,05\d events/).waitFor();
    await page.getByRole("tab", { name: "Conversation" }).click();
    const cards = page.getByTestId("tool-card");
    assert.ok((await cards.count()) <= 300);
    await page.getByTestId("earlier").click();
    await until(async () => (await cards.count()) === 1_000);
  },
);

test(
  "the overview and the list have the same numbers after a runner was killed under load",
  {
    skip,
  },
  async (t) => {
    const { dev, token } = there();
    const read = async <T>(path: string): Promise<T> => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${dev.httpUrl}/api/v1${path}`, { headers });
      const body: unknown = await response.json();
      // The killed runner takes the requests that it was answering with it.
      if (response.status === 504) return read<T>(path);
      assert.ok(response.ok, `GET ${path}: ${JSON.stringify(body)}`);
      return body as T;
    };
    const burst = Array.from({ length: 60 }, (_, n) =>
      started(n % 3 === 0 ? "slow" : "reader", `burst ${n}`, {
        labels: { test: "burst" },
        ...(n % 5 === 0 && { limits: { maxSteps: 1, onLimit: "fail" } }),
      }),
    );
    await Promise.all(burst);
    process.kill(await busyRunner(dev), "SIGKILL");
    interface Totals {
      readonly statuses: Readonly<Record<string, number>>;
      readonly total: { readonly runs: number; readonly failed: number };
    }
    const totals = await until<Totals>(
      () => read<Totals>("/runs/totals?labels=test%3Dburst&range=1h"),
      ({ statuses, total }) => total.runs === 60 && statuses["running"] === 0,
      { timeoutMs: 120_000 },
    );
    const { runs } = await read<{ runs: { status: string }[] }>(
      "/runs?labels=test%3Dburst&limit=200",
    );
    assert.equal(runs.length, 60);
    for (const [name, many] of Object.entries(totals.statuses))
      assert.equal(runs.filter((run) => run.status === name).length, many, name);
    assert.ok(totals.total.failed > 0);
    const { page, go } = await there().look(t);
    await go("/");
    const all = await read<Totals>("/runs/totals?range=24h");
    await page.getByTestId("failed").getByText(String(all.total.failed), { exact: true }).waitFor();
  },
);

const MANY = 10_000;

test(
  "ten thousand runs are scrolled through, loaded as the end comes in sight, with few rows in the document",
  { skip },
  async (t) => {
    await keepArchivedRuns(there().dev, MANY);
    const { page, go } = await there().look(t);
    await go("/runs?agent=archived");
    const runs = page.getByTestId("runs");
    const loaded = async (): Promise<number> => Number(await runs.getAttribute("data-count"));
    await until(async () => (await loaded()) === 200);
    await page.getByTestId("load-more").click();
    await until(async () => (await loaded()) === 400);
    // Scrolls with the keyboard: End goes to the last loaded row, and further rows are loaded.
    await runs.focus();
    await until(
      async () => {
        await page.keyboard.press("End");
        return loaded();
      },
      (many) => many === MANY,
      { timeoutMs: 180_000 },
    );
    assert.equal(await page.getByTestId("load-more").count(), 0, "there are no more");
    await until(async () => {
      await page.keyboard.press("End");
      return (await runs.getByText(`archived-${MANY - 1}`, { exact: true }).count()) === 1;
    });
    assert.ok((await runs.getByTestId("row").count()) < 100);
    await scrollTo(page, "runs", 32 * 5_000);
    await runs.getByText("archived-5000", { exact: true }).waitFor();
    const numbers = await page.evaluate<number[]>(
      "[...document.querySelectorAll('[data-testid=row]')].map((row) => Number(row.getAttribute('aria-rowindex')))",
    );
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => (numbers[0] ?? 0) + index),
      "each has its place in the whole",
    );
  },
);

/**
 * Layout shifts in sight, as the browser measures them; each with its element. An answer pushes the line below it, and the busier the
 * machine is, the more text is in one frame, and the further that line moves at once.
 */
const WATCH_SHIFTS = `
  window.shifts = [];
  const isBelowAnswer = ({ node }) => (node?.closest ? node : node?.parentElement)?.closest(".chat-state");
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries())
      if (!hadRecentInput && !sources.every(isBelowAnswer)) window.shifts.push([value, sources.map(({ node, previousRect, currentRect }) => previousRect.y + " to " + currentRect.y + " px: " + (node?.outerHTML ?? node?.textContent ?? "").slice(0, 120)).join(" | ")]);
  }).observe({ type: "layout-shift", buffered: true });
`;
const MOST_SHIFT = 0.02;

async function assertUnmoved(page: Page, when: string): Promise<void> {
  const shifts = await page.evaluate<[number, string][]>("window.shifts");
  const sum = shifts.reduce((total, [value]) => total + value, 0);
  assert.ok(sum <= MOST_SHIFT, `${when} ${sum}: ${shifts.join("\n")}`);
}

test(
  "nothing jumps while an answer is written, neither in a chat nor on the page of a run",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await page.addInitScript(WATCH_SHIFTS);
    const assertCalm = async (end: () => Promise<void>): Promise<void> => {
      await page.locator('.turn[data-status="live"]').waitFor();
      await page.evaluate("window.shifts = []");
      await end();
      await assertUnmoved(page, "while an answer came");
    };
    await go("/chat");
    const say = page.getByTestId("say");
    const ask = async (text: string): Promise<void> => {
      await say.getByRole("textbox").fill(text);
      await say.getByRole("button", { name: "Send" }).click();
    };
    const answers = page.locator('.turn[data-status="assistant"]').getByText("to this day");
    await say.getByRole("combobox").selectOption("writer");
    await ask("A story, please");
    await page.waitForURL(/\/chat\/chat-/);
    await answers.waitFor();
    // The page of a conversation that has an answer is loaded, however long that took, so it shows the next one from its begin.
    await ask("Another one, please");
    await assertCalm(() => answers.nth(1).waitFor());
    // The page of a run is there before the run is, for the same reason.
    const runId = `watched-${randomUUID()}`;
    await go(`/runs/${runId}?view=conversation`);
    await page.getByTestId("problem").waitFor();
    await started("writer", "A story, please", { runId });
    await assertCalm(async () => {
      await status(page, "succeeded").waitFor();
      await page.locator('.turn[data-status="done"]').getByText("to this day").waitFor();
    });
  },
);

test("nothing jumps while the page of a run comes, wherever the run is", { skip }, async (t) => {
  const ended = await started("reader", "for the layout");
  const waiting = await started("curious", "for the layout, too");
  const approved = await started("careful", "notes.md");
  const { page, go, load } = await there().look(t);
  await go(`/runs/${ended}`);
  await status(page, "succeeded").waitFor();
  await go(`/runs/${waiting}`);
  await page.getByTestId("answer").waitFor();
  await page.addInitScript(WATCH_SHIFTS);
  for (const width of [1280, 360])
    for (const runId of [ended, waiting, approved]) {
      await page.setViewportSize({ width, height: 900 });
      await load(`/runs/${runId}`);
      await page.getByTestId("timeline").getByText("started by").waitFor();
      await page.getByTestId("loading").first().waitFor({ state: "detached" });
      await assertUnmoved(page, `${runId} at ${width} px`);
    }
});
