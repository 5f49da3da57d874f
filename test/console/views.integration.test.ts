import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { until } from "@switchyard/local-servers/until";
import { keepArchivedRuns } from "./archived-runs.ts";
import { axeViolations } from "./chromium.ts";
import { countClicks } from "./clicks.ts";
import { approveByKey, decidable, noCallWaits, statesOf } from "./approve.ts";
import { consoleWorld, skip } from "./console-world.ts";

const project = await mkdtemp(join(tmpdir(), "yard-views-"));
after(() => rm(project, { recursive: true, force: true }));
await cp("test/console/project", project, { recursive: true });
await writeFile(
  join(project, "agents/faulty.yaml"),
  "name: faulty\nmodel: scripted/plan\nplan: { steps: [] }\n",
);
const there = await consoleWorld({ project });

const ROUTES = [
  "/",
  "/runs",
  "/approvals",
  "/chat",
  "/agents",
  "/agents/reader",
  "/skills",
  "/skills/greet",
  "/tools",
  "/tools/mcp__everything__echo",
  "/servers",
  "/servers/files",
  "/schedules",
  "/channels",
  "/channels/loopback/default",
  "/channels/loopback/default?to=ann",
  "/webhooks",
  "/policy?tool=files.write_file&agent=reader",
  "/policy?view=draft",
  "/policy?view=versions",
  "/policy?view=stops",
  "/audit",
  "/system",
  "/not/here",
];

/** The longest name of an agent, which is a part of the id of its runs, too. */
const LONG_NAME = "agent-" + "long-".repeat(10) + "name";

/** A run, a job and a comparison to open, made once. */
const paths = async (): Promise<readonly string[]> => {
  await keepArchivedRuns(there().dev, 2, {
    agent: LONG_NAME,
    errorCode: "code_of_an_error_".repeat(4),
    costUsd: 12_345.67,
  });
  const run = async (input: string): Promise<string> =>
    String((await there().send("/runs", { agent: "reader", input }))["runId"]);
  const [one, other] = [await run("for axe"), await run("for axe, too")];
  await there().send("/runs", { agent: "careful", input: "notes.md" });
  const rejected = await rejectedRun();
  const asked = await there().send("/runs", { agent: "curious", input: "for axe" });
  const added = (await there().send("/schedules", {
    job: {
      name: "for axe",
      agentId: "reader",
      schedule: { kind: "at", at: "2031-01-31T07:00:00Z" },
      sessionTarget: "isolated",
      payload: { kind: "agentTurn", message: "Look around, and say what you have seen." },
    },
  })) as { job: { id: string } };
  await there().send(`/schedules/${added.job.id}/run`, { mode: "force" });
  // It has no listener.
  const target = { url: "http://127.0.0.1:9/", events: ["run.*"] };
  const { webhook } = (await there().send("/webhooks", target)) as { webhook: { id: string } };
  return [
    ...ROUTES,
    `/webhooks/${webhook.id}`,
    `/schedules/${added.job.id}`,
    ...["", "?view=compact", "?view=conversation", "?view=raw"].map(
      (view) => `/runs/${one}${view}`,
    ),
    `/runs/${String(asked["runId"])}`,
    `/runs/${rejected}`,
    `/compare/${one}/${other}?show=all`,
    "/agents/none-of-this-name",
  ];
};
let made: Promise<readonly string[]> | undefined;

/** Asks for a run that is refused for a file of its input. */
const rejectedRun = async (): Promise<string> => {
  const facts = { name: "a.txt", mediaType: "text/plain", sizeBytes: 1, sha256: "0".repeat(64) };
  const input = [{ type: "file", ref: `file-${"0".repeat(32)}`, ...facts }];
  return String((await there().send("/runs", { agent: "reader", input }))["runId"]);
};

const isWider = (page: Page): Promise<boolean> =>
  page.evaluate(
    "document.documentElement.scrollWidth > innerWidth || document.querySelector('main').scrollWidth > innerWidth || [...document.querySelectorAll('.table-box')].some((box) => box.scrollWidth > box.clientWidth)",
  );

/** Layout widths of a page, in its own pixels: the last is 1280 pixels at 200 %. */
const WIDTHS = [1280, 360, 640];
/** A theme is a set of colours: axe finds everything else in each theme. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];

test(
  "axe finds nothing on any view in both themes, also at 360 px and at 200 %, and none scrolls sideways",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    for (const path of await (made ??= paths())) {
      await page.emulateMedia({ colorScheme: "light" });
      await go(path);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await page.getByTestId("loading").first().waitFor({ state: "detached" });
        assert.equal(await isWider(page), false, `${path} scrolls sideways at ${width} px`);
        assert.deepEqual(await axeViolations(page), [], `${path} at ${width} px`);
      }
      await page.emulateMedia({ colorScheme: "dark" });
      assert.deepEqual(await axeViolations(page, OF_COLOURS), [], `${path} in the dark theme`);
    }
  },
);

/** Each dialog with its page and the control that opens it. */
const DIALOGS = [
  ["/runs", "start-run"],
  ["/servers", "add-server"],
  ["/skills", "import-skills"],
  ["/schedules", "add-job"],
  ["/webhooks", "add-webhook"],
  ["/approvals", "deny"],
  ["/", "open-palette"],
] as const;

for (const theme of ["light", "dark"] as const)
  test(
    `axe finds nothing in dialogs and at the sign-in in the ${theme} theme`,
    { skip },
    async (t) => {
      await (made ??= paths());
      const { page, go } = await there().look(t, { theme });
      for (const [path, button] of DIALOGS) {
        await go(path);
        await page.getByTestId(button).first().click();
        await page.getByRole("dialog").waitFor();
        await page.getByRole("dialog").getByTestId("loading").waitFor({ state: "detached" });
        assert.deepEqual(await axeViolations(page), [], `${button} on ${path}`);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByTestId("sign-in").waitFor();
      assert.deepEqual(await axeViolations(page), [], "signing in");
    },
  );

const started = async (agent: string, input: string): Promise<string> =>
  String((await there().send("/runs", { agent, input }))["runId"]);

/** Starts runs whose first call waits, one after the other. */
async function waitingCalls(agent: string, inputs: readonly string[]) {
  const runIds: string[] = [];
  for (const input of inputs) {
    runIds.push(await started(agent, input));
    await until(async () => (await statesOf(there(), runIds)).at(-1) === "pending");
  }
  return runIds;
}

test(
  "a call that is opened stays opened when a riskier one comes, which is announced",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await noCallWaits(there());
    const [opened = ""] = await waitingCalls("glancer", ["opened.md"]);
    await go("/approvals");
    const detail = page.getByTestId("approval-detail");
    await detail.getByText('"path": "opened.md"').waitFor();
    await page.locator('[data-testid="live"][data-status="live"]').waitFor();
    const [riskier = "", another = ""] = await waitingCalls("careful", ["risky.md", "b.md"]);
    const news = page.getByTestId("new-approvals");
    await news.getByText("2 new").waitFor();
    assert.match(await detail.innerText(), /opened\.md/);
    assert.match(await page.getByTestId("approval").first().innerText(), /glancer/);
    assert.deepEqual(await axeViolations(page), []);
    await decidable(page);
    await page.keyboard.press("a");
    await page.getByTestId("toast").getByText("Approved").waitFor();
    const all = [opened, riskier, another];
    await until(async () => (await statesOf(there(), all))[0] !== "pending");
    assert.deepEqual((await statesOf(there(), all)).slice(1), ["pending", "pending"]);
    await detail.getByText("risky.md").first().waitFor();
    await news.getByText("1 new").click();
    await detail.getByText('"path": "b.md"').waitFor();
    await news.getByRole("button").waitFor({ state: "detached" });
    assert.deepEqual((await statesOf(there(), all)).slice(1), ["pending", "pending"]);
  },
);

test(
  "a key decides about a call that was in sight, once for each press, and not where letters are off",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await page.clock.install();
    await noCallWaits(there());
    const runIds = await waitingCalls("glancer", ["one.md", "two.md", "three.md"]);
    const held = Promise.withResolvers<undefined>();
    await page.route("**/approvals/apr-*", async (route) => {
      await held.promise;
      await route.continue();
    });
    await go("/approvals");
    await page.locator('[data-testid="approval"][aria-pressed="true"]').waitFor();
    await page.keyboard.press("a"); // its arguments are not there yet
    // However long this test takes to look, the half second that a person has to read does not pass.
    await page.clock.pauseAt((await page.evaluate<number>("Date.now()")) + 1_000);
    held.resolve(undefined);
    const detail = page.getByTestId("approval-detail");
    await detail.getByText('"path": "one.md"').waitFor();
    assert.equal(await page.getByTestId("approve").isDisabled(), true, "it was not read yet");
    await page.keyboard.press("a");
    await page.clock.resume();
    await decidable(page);
    assert.deepEqual(await statesOf(there(), runIds), ["pending", "pending", "pending"]);

    await page.keyboard.down("a");
    await detail.getByText('"path": "two.md"').waitFor();
    let repeats = 0;
    await until(async () => {
      await page.keyboard.down("a"); // as a keyboard repeats it
      repeats += (await page.locator('[data-testid="deny"]:enabled').count()) > 0 ? 1 : 0;
      return repeats > 20;
    });
    await page.keyboard.up("a");
    assert.deepEqual((await statesOf(there(), runIds)).slice(1), ["pending", "pending"]);

    await page.getByTestId("shortcuts").uncheck();
    await page.reload();
    await detail.getByText('"path": "two.md"').waitFor();
    await decidable(page);
    for (const key of ["a", "j", "d"]) await page.keyboard.press(key);
    assert.match(await detail.innerText(), /two\.md/);
    assert.equal(await page.getByTestId("confirm").count(), 0);
    assert.deepEqual((await statesOf(there(), runIds)).slice(1), ["pending", "pending"]);
    await page.getByTestId("shortcuts").check();
    await page.keyboard.press("a");
    await until(async () => (await statesOf(there(), runIds))[1] !== "pending");
    await noCallWaits(there());
  },
);

test(
  "a call of high risk is approved after a question that names the tool, its server and its arguments",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await noCallWaits(there());
    const runIds = await waitingCalls("careful", ["notes.md"]);
    await go("/approvals");
    await decidable(page);
    await page.getByTestId("approve").focus();
    for (let repeats = 0; repeats < 30; repeats += 1) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    const question = page.getByTestId("confirm");
    assert.match(
      await question.innerText(),
      /careful for cli calls get_file_info of the MCP server files with:[\s\S]*"path": "notes\.md"/,
    );
    const yes = question.getByRole("button", { name: "Approve get_file_info" });
    await question.locator("button.danger:enabled").waitFor();
    for (let repeats = 0; repeats < 5; repeats += 1) await page.keyboard.down("Enter");
    assert.deepEqual(await axeViolations(page), []);
    assert.deepEqual(await statesOf(there(), runIds), ["pending"], "held Enter does nothing");
    await page.keyboard.up("Enter");
    await page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
    await decidable(page);
    await page.keyboard.press("a");
    await yes.click();
    await page.getByTestId("toast").getByText("Approved").waitFor();
  },
);

test(
  "calls that wait are gone through by keys, compared with the last approved one, and approved for a session",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await noCallWaits(there());
    await go("/approvals");
    await page.getByTestId("loading").first().waitFor({ state: "detached" });
    const detail = page.getByTestId("approval-detail");
    const waiting = page.getByTestId("approval");
    await started("careful", "notes.md");
    await detail.getByText('"path": "notes.md"').waitFor();
    await approveByKey(page);
    await detail.waitFor({ state: "detached" });
    await started("careful", "other.md");
    await detail.getByText("Other than in the last approved call").waitFor();
    await started("careful", "third.md");
    await until(async () => (await waiting.count()) === 2);
    assert.match(await detail.innerText(), /\/path\s+"?notes\.md"?\s+"?other\.md/);
    await page.keyboard.press("j");
    await detail.getByText('"path": "third.md"').waitFor();
    await page.keyboard.press("k");
    await detail.getByText('"path": "other.md"').waitFor();
    for (let left = 2; left > 0; left -= 1) {
      await approveByKey(page);
      await until(async () => (await page.getByTestId("approval").count()) < left);
    }
    const runId = await started("measurer", "notes.md");
    await go(`/runs/${runId}`);
    await page.getByRole("link", { name: "Decide about the call" }).click();
    await page.getByTestId("approve-session").click();
    await page.getByTestId("toast").getByText("Approved").first().waitFor();
    await go(`/runs/${runId}`);
    await page.locator('.page-head [data-status="succeeded"]').waitFor();
    assert.match(await page.getByTestId("run-approvals").innerText(), /for more calls like it/);
    assert.equal(await page.getByTestId("run-approvals").getByRole("listitem").count(), 1);
  },
);

test("faulty agent files and rejected runs are listed with their reasons", { skip }, async (t) => {
  const { page, go } = await there().look(t);
  await go("/agents");
  const faulty = page.getByTestId("unusable-agents");
  await faulty.getByText("agents/faulty.yaml").first().waitFor();
  assert.match(await faulty.innerText(), /1 error[\s\S]*plan\.answer: is missing/);
  await go("/runs");
  const runId = await rejectedRun();
  const rejected = page.getByTestId("rejected-runs");
  await rejected.locator("summary").click();
  const row = rejected.getByRole("listitem").filter({ hasText: runId.slice("cli~".length) });
  await row.getByText(/names files that cannot be used/).waitFor();
  assert.deepEqual(await axeViolations(page), []);
  await row.getByRole("link").click();
  await page.locator('.page-head [data-status="rejected"]').waitFor();
  await page.getByTestId("outcome").getByText("A file of its input does not exist").waitFor();
});

const DOT = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC",
  "base64",
);

test(
  "a conversation takes files, shows calls, is stopped, and is shared by a link",
  { skip },
  async (t) => {
    const { page, go, context } = await there().look(t, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await go("/chat");
    const say = page.getByTestId("say");
    await say.getByRole("combobox").selectOption("reader");
    const attach = say.locator('input[type="file"]');
    const buffer = Buffer.from("Buy milk.");
    const bytes = Buffer.from([0x4d, 0x5a, 0x90, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0xff, 0xff, 0, 0]);
    await attach.setInputFiles([
      { name: "list.txt", mimeType: "text/plain", buffer },
      { name: "dot.png", mimeType: "image/png", buffer: DOT },
      { name: "setup.exe", mimeType: "application/octet-stream", buffer: bytes },
    ]);
    await page.getByTestId("toast").getByText("setup.exe is not attached").waitFor();
    const chips = say.getByTestId("file-chip");
    await chips.filter({ hasText: "dot.png" }).locator("img").waitFor();
    assert.equal(await chips.count(), 2);
    await say.getByRole("button", { name: "Remove dot.png" }).click();
    await say.getByRole("textbox").fill("What is there?");
    await say.getByRole("button", { name: "Send" }).click();
    await page.waitForURL(/\/chat\/chat-/);
    const said = page.getByTestId("conversation");
    await said.locator('[data-status="assistant"]').getByText("What is there?").waitFor();
    const question = said.locator('[data-status="user"]');
    assert.match(await question.innerText(), /^You\s+What is there\?\s+list\.txt\s+9 B$/);
    await page.getByRole("button", { name: "Copy link" }).click();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    assert.equal(link, page.url());
    const other = await context.newPage();
    await other.goto(link);
    await other.getByTestId("conversation").getByTestId("file-chip").waitFor();
    await other.close();
    await go("/chat");
    await say.getByRole("combobox").selectOption("slow");
    await say.getByRole("textbox").fill("Take your time");
    await say.getByRole("button", { name: "Send" }).click();
    await said.getByTestId("tool-card").first().waitFor();
    await page.getByTestId("stop").click();
    await page.getByTestId("toast").getByText("being cancelled").waitFor();
    await until(() => page.getByTestId("stop").isDisabled());
  },
);

test("Ctrl-K finds every kind of thing by its name, and any run by its id", { skip }, async (t) => {
  const key = `chat-of-${Date.now()}`;
  await there().send(`/sessions/${key}/messages`, { agent: "reader", message: "for the palette" });
  await there().send("/runs", { agent: "careful", input: "notes.md" });
  await (made ??= paths());
  const { page, go } = await there().look(t);
  const kinds = [
    ["view Audit", /\/audit$/],
    ["approval mcp__files__get_file_info", /\/approvals\?id=/],
    ["agent reader", /\/agents\/reader$/],
    ["server everything", /\/servers\/everything$/],
    ["skill greet", /\/skills\/greet$/],
    ["tool mcp__everything__echo", /\/tools\/mcp__everything__echo$/],
    ["rule no-writes", /\/policy\?view=rules&q=no-writes$/],
    ["job for axe", /\/schedules\/job-/],
    ["account loopback", /\/channels\/loopback\/default$/],
    ["webhook http://127.0.0.1:9/", /\/webhooks\/whk-/],
    [`chat ${key}`, new RegExp(`/chat/${key}$`)],
    ["run careful", /\/runs\/cli~/],
    ["cli~long-ago", /\/runs\/cli~long-ago$/],
  ] as const;
  for (const [name, address] of kinds) {
    await page.keyboard.press("Control+k");
    await page.getByTestId("palette").getByRole("combobox").fill(name);
    const found = page.getByTestId("palette").getByRole("option").first();
    await found.waitFor().catch(() => assert.fail(`nothing is called ${name}`));
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => address.test(decodeURIComponent(url.href)));
  }
  await go("/");
});

test(
  "failed runs of an agent of yesterday are two clicks away, cost by agent of the week one, and the address keeps both",
  { skip },
  async (t) => {
    const { dev } = there();
    const yesterday = new Date(new Date().setHours(0, 0, 0, 0) - 12 * 3_600_000).getTime();
    const failed = { agent: "nightly", errorCode: "model_error", newestMs: yesterday };
    await keepArchivedRuns(dev, 2, { ...failed, costUsd: 1.5 });
    const { page, go } = await there().look(t);
    await go("/");
    const clicksToRuns = await countClicks(page);
    await page.getByTestId("range-yesterday").click();
    await page.getByTestId("by-agent").getByLabel("2 failed runs of nightly").click();
    await page.locator('[data-testid="runs"][data-count="2"]').waitFor();
    assert.equal(await clicksToRuns(), 2);
    assert.match(page.url(), /status=failed%2Cdead&agent=nightly&range=yesterday/);
    await page.reload();
    await page.locator('[data-testid="runs"][data-count="2"]').waitFor();
    await page.getByTestId("save-view").click();
    await page.getByTestId("save-view-dialog").getByLabel("Name").fill("Nightly");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await go("/runs");
    await page.getByTestId("saved-views").getByRole("link", { name: "Nightly" }).click();
    await page.locator('[data-testid="runs"][data-count="2"]').waitFor();
    assert.deepEqual(await axeViolations(page), []);

    await go("/");
    const clicksToCost = await countClicks(page);
    await page.getByTestId("range-7d").click();
    await page
      .getByTestId("by-agent")
      .getByRole("row", { name: /nightly 2 .*\$3\.00/ })
      .waitFor();
    assert.equal(await clicksToCost(), 1);
    await page.getByTestId("top-errors").getByRole("link", { name: "model_error" }).click();
    await page.getByTestId("runs").getByText("nightly").first().waitFor();
    assert.match(page.url(), /error=model_error/);
  },
);

test(
  "what runs cost is a figure and a chart, and the audit is exported as lines",
  { skip },
  async (t) => {
    await keepArchivedRuns(there().dev, 3, { costUsd: 0.25, newestMs: Date.now() - 60_000 });
    const { page, go } = await there().look(t);
    await go("/");
    await page
      .getByTestId("spend")
      .getByText(/^\$[1-9]|^\$0\.[0-9]/)
      .waitFor();
    await page.getByTestId("by-agent").getByRole("row", { name: "archived 3 0 $0.75" }).waitFor();
    const chart = page.getByTestId("spend-chart");
    await chart.getByText(/^\$[\d.,]+ for runs begun in the last 24 hours$/).waitFor();
    await chart.locator('svg rect:not(.all):not([height="0%"])').first().waitFor();
    await go("/audit");
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export" }).click();
    const file = await (await download).createReadStream();
    let text = "";
    for await (const chunk of file) text += String(chunk);
    const lines = text.trim().split("\n");
    assert.ok(lines.length > 10);
    for (const line of lines) assert.equal(typeof JSON.parse(line), "object");
  },
);
