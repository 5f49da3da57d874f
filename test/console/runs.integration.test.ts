import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { until } from "@switchyard/local-servers/until";
import { keepArchivedRuns } from "./archived-runs.ts";
import { skip, there } from "./console-world.ts";

const started = async (agent: string, input: string, more: object = {}): Promise<string> =>
  String((await there().send("/runs", { agent, input, ...more }))["runId"]);

const status = (page: Page, word: string) => page.locator(`.page-head [data-status="${word}"]`);

test(
  "the run says who approved a call, when and why, also beside the call's bar",
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
    await approver.page.getByTestId("toast").getByText("Approved").waitFor();
    await status(page, "succeeded").waitFor();
    const said = page.getByTestId("run-approvals");
    await said.getByText("I know this file").waitFor();
    assert.match(await said.innerText(), /approved[\s\S]*get_file_info[\s\S]*by dana/);
    const call = page.getByTestId("timeline").getByText("mcp__files__get_file_info").first();
    await call.click();
    await page.getByTestId("span-detail").getByText("I know this file").waitFor();
    assert.ok((await page.getByTestId("axis").locator("span").count()) >= 2, "marks of time");
  },
);

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
  "a run goes on under somebody's eyes while the process that has it is killed",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    const runId = await started("slow", "go on");
    await go(`/runs/${runId}`);
    await page.getByTestId("timeline").getByText("mcp__files__list_directory").first().waitFor();
    process.kill(await busyRunner(), "SIGKILL");
    const timeline = page.getByTestId("timeline");
    await timeline.getByText("another runner goes on").waitFor({ timeout: 120_000 });
    await status(page, "succeeded").waitFor({ timeout: 120_000 });
    const titles = await timeline.getByTestId("row").allInnerTexts();
    const calls = titles.filter((title) => title.includes("mcp__files__"));
    assert.equal(calls.length, 4, titles.join("\n"));
    assert.match(await page.getByTestId("facts").innerText(), /Runners that had it\s+2/);
  },
);

/** Strings, since these tests know no types of a document. */
const scrollTo = (page: Page, testId: string, top: number): Promise<void> =>
  page.evaluate(`document.querySelector('[data-testid="${testId}"]').scrollTo(0, ${top})`);

/** The process of the runner that holds a run now. */
async function busyRunner(): Promise<number> {
  const runners = there().dev.processes.filter(({ name }) => name.startsWith("runner"));
  return until(async () => {
    for (const { healthUrl, pid } of runners) {
      const metrics = await (await fetch(new URL("/metrics", healthUrl ?? ""))).text();
      if (/^yard_runner_slots_busy(\{[^}]*\})? [1-9]/m.test(metrics)) return pid;
    }
    return null;
  });
}

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
    // By the keyboard: End goes to the last row that is there, and what follows it comes.
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
    await scrollTo(page, "runs", 40 * 5_000);
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
