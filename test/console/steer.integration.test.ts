import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { until } from "@switchyard/local-servers/until";
import { axeViolations } from "./chromium.ts";
import { approveByKey, confirmApproval } from "./approve.ts";
import { countClicks } from "./clicks.ts";
import { consoleWorld, skip } from "./console-world.ts";

const there = await consoleWorld();

const started = async (agent: string, input: string, more: object = {}): Promise<string> =>
  String((await there().send("/runs", { agent, input, ...more }))["runId"]);

const status = (page: Page, word: string) => page.locator(`.page-head [data-status="${word}"]`);

test(
  "work that a run gave away is a tree that leads to the run that does it",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    const runId = await started("lead", "for the child");
    await go(`/runs/${runId}`);
    await status(page, "succeeded").waitFor();
    await page.getByTestId("timeline").getByText("child run of reader").waitFor();
    await page.getByRole("tab", { name: "Children" }).click();
    const tree = page.getByTestId("children");
    await tree.getByText(/reader · for the child · \d/).waitFor();
    // The child was loaded while it ran, and is loaded again every few seconds until it ends.
    await tree.locator('[data-status="succeeded"]').waitFor();
    assert.match(await tree.innerText(), /succeeded[\s\S]* (?:ms|s) · \$0/);
    assert.match(await page.getByTestId("facts").innerText(), /Total cost\s+\$0, 2 runs/);
    assert.deepEqual(await axeViolations(page), []);
    await tree.getByRole("link", { name: /reader/ }).click();
    await status(page, "succeeded").waitFor();
    await page.getByRole("link", { name: /^lead · for the child/ }).click();
    await page.waitForURL(new RegExp(`/runs/${runId}$`));
  },
);

test(
  "a run that reached a limit waits, is given more, and comes to its end",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    const runId = await started("reader", "more", { limits: { maxSteps: 1, onLimit: "pause" } });
    await go(`/runs/${runId}`);
    await page.locator('[data-testid="wait"][data-status="limit"]').waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await page.getByTestId("raise-limit").getByRole("spinbutton").fill("9");
    await page.getByRole("button", { name: "Raise the limit to 9 and continue" }).click();
    await status(page, "succeeded").waitFor();
    await page.getByTestId("timeline").getByText("limits changed by cli").waitFor();
  },
);

test(
  "a run that failed is retried from its page, which sees it too when others retry it",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await started("reader", "again", { limits: { maxSteps: 1, onLimit: "fail" } });
    await go("/");
    const found = await countClicks(page);
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByTestId("row").filter({ hasText: "failed" }).first().click();
    await status(page, "failed").waitFor();
    const runId = decodeURIComponent(new URL(page.url()).pathname.slice("/runs/".length));
    await page.getByTestId("failure").getByText("It reached its limit of 1 model call").waitFor();
    assert.ok((await found()) <= 2, "why a run failed takes at most two clicks");
    await page.getByTestId("raise-limit").getByRole("spinbutton").fill("1");
    await page.getByRole("button", { name: "Raise the limit to 1 and retry" }).click();
    const retries = page.getByTestId("timeline").getByText("retried by cli");
    await retries.waitFor();
    await status(page, "failed").waitFor();
    await there().send(`/runs/${runId}/retry`, {});
    await retries.nth(1).waitFor();
    await page.getByText("limit_exceeded").first().waitFor();
    const clicks = await countClicks(page);
    await page.getByTestId("raise-limit").getByRole("spinbutton").fill("9");
    await page.getByRole("button", { name: "Raise the limit to 9 and retry" }).click();
    await status(page, "succeeded").waitFor();
    assert.equal(await clicks(), 1);
  },
);

test(
  "a waiting run gets a message, and is cancelled only after a question that names it",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    const runId = await started("curious", "cancel me");
    await go(`/runs/${runId}`);
    await page.getByTestId("answer").waitFor();
    await page.getByTestId("steer").click();
    await page.getByTestId("confirm").getByLabel("Message").fill("Think of the sea.");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByTestId("timeline").getByText("message from cli").waitFor();
    await page.getByTestId("cancel").click();
    const question = page.getByTestId("confirm");
    await question.getByText("Cancel curious").waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
    await page.waitForFunction("document.activeElement.dataset.testid === 'cancel'");
    assert.equal(await status(page, "waiting").count(), 1, "nothing has happened");
    await page.getByTestId("cancel").focus();
    for (let repeats = 0; repeats < 30; repeats += 1) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await question.getByText("Cancel curious").waitFor();
    assert.equal(
      await status(page, "waiting").count(),
      1,
      "Enter, held down, opens it and no more",
    );
    await question.getByLabel("Why").fill("not needed");
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await status(page, "cancelled").waitFor();
    await page.getByTestId("timeline").getByText("cancelled").first().click();
    await page.getByTestId("span-detail").getByText("by cli: not needed").waitFor();
  },
);

test(
  "calls of an agent are stopped, each page shows it, its run waits, and continues when the stop is lifted",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    const runId = await started("curious", "ask me");
    await go(`/runs/${runId}`);
    await page.getByTestId("answer").waitFor();
    await go("/policy?view=stops");
    await page.getByLabel("Name").fill("curious");
    await page.getByLabel("Reason").fill("it misbehaves");
    await page.getByRole("button", { name: "Stop calls" }).click();
    await page.getByText("it misbehaves, by cli").waitFor();
    assert.deepEqual(await axeViolations(page), []);
    const banner = page.getByTestId("stops-banner");
    await banner.getByText("agent curious (it misbehaves)").waitFor();
    await go("/policy?tool=files.list_directory&agent=curious");
    await page.locator('[data-testid="explained"][data-status="deny"]').waitFor();
    await go(`/runs/${runId}`);
    await banner.waitFor();
    await page.getByTestId("answer").getByRole("textbox").fill("the sea");
    await page.getByTestId("answer").getByRole("button").click();
    await page.locator('[data-testid="wait"][data-status="stopped"]').waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await go("/policy?view=stops");
    await page.getByRole("button", { name: "Resume calls" }).click();
    await page.getByText("Nothing is stopped").waitFor();
    await banner.waitFor({ state: "detached" });
    await go(`/runs/${runId}`);
    await status(page, "succeeded").waitFor();
  },
);

test(
  "rules are activated from a draft, which begins with those in force, found wrong, and rolled back",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/policy?view=draft");
    const draft = page.getByTestId("draft");
    const check = page.getByTestId("draft-check");
    const activate = page.getByRole("button", { name: "Activate…" });
    await check.getByText(/rules, valid/).waitFor();
    const inForce = await draft.inputValue();
    assert.match(inForce, /id: careful-info/);
    assert.equal(await activate.isDisabled(), true, "it would change nothing");
    await draft.fill("version: 1\nrules:\n  - id: nothing\n    effect: sometimes\n");
    await check.getByText(/Line 4, column \d+/).waitFor();
    assert.equal(await activate.isDisabled(), true, "what is wrong cannot be activated");
    const added =
      '  - id: nobody-looks\n    effect: deny\n    what: { tools: ["files.*"] }\n    note: <b>closed</b>\n';
    await draft.fill(`${inForce}${added}`);
    await check.getByText(/rules, valid/).waitFor();
    assert.match(
      await page.getByTestId("draft-changes").innerText(),
      /^\+ {2}- id: nobody-looks$/m,
    );
    await page.getByRole("tab", { name: "Versions" }).click();
    await page.getByRole("tab", { name: "Draft" }).click();
    assert.match(await draft.inputValue(), /nobody-looks/, "it is kept over a change of tabs");
    await page.reload();
    await check.getByText(/rules, valid/).waitFor();
    assert.match(await draft.inputValue(), /nobody-looks/, "and over a reload");
    assert.deepEqual(await axeViolations(page), []);
    await activate.click();
    const question = page.getByTestId("confirm");
    const diff = await question.locator("pre").innerText();
    assert.match(diff, /\+  - id: nobody-looks[\s\S]*\+    note: <b>closed<\/b>/);
    assert.doesNotMatch(diff, /^-[^-]/m, "nothing is taken out");
    await question.getByRole("textbox").fill("for the test");
    await page.getByRole("button", { name: "Activate the draft" }).click();
    await page.getByTestId("toast").getByText("The draft is active").waitFor();
    const runId = await started("reader", "denied");
    await go(`/runs/${runId}`);
    await page.getByTestId("timeline").getByText("files › list_directory").click();
    await page.getByTestId("decision").getByText("nobody-looks", { exact: true }).waitFor();
    const explained = await page.getByTestId("decision").getByRole("link").getAttribute("href");

    await go("/policy?view=draft");
    await check.getByText(/rules, valid/).waitFor();
    await draft.fill(`${inForce}# another idea\n`);
    await check.getByText(/rules, valid/).waitFor();
    await activate.click();
    await question.getByRole("textbox").fill("on top of nobody-looks");
    // Another person is faster.
    const other = await there().look(t);
    await other.go("/policy?view=versions");
    await other.page.getByTestId("policy-versions").waitFor();
    await other.page
      .getByRole("button", { name: /^Roll back to version/ })
      .first()
      .click();
    await other.page.getByTestId("confirm").getByRole("textbox").fill("it was wrong");
    await other.page
      .getByTestId("confirm")
      .getByRole("button", { name: /^Roll back/ })
      .click();
    await other.page.locator('[data-testid="toast"][data-status="good"]').waitFor();
    await page.getByRole("button", { name: "Activate the draft" }).click();
    await page.locator('[data-testid="toast"][data-status="bad"]').waitFor();
    await page.getByTestId("draft-outdated").waitFor();
    assert.equal(await activate.isDisabled(), true);
    await page.getByRole("button", { name: /^Compare it with version/ }).click();
    await page.getByTestId("draft-outdated").waitFor({ state: "detached" });
    assert.match(await draft.inputValue(), /another idea/);
    await page.getByRole("button", { name: /^Back to version/ }).click();
    assert.equal(await draft.inputValue(), inForce);

    const top = page.getByTestId("in-force");
    await top.getByText("Edits of the files on disk do not count").waitFor();
    await page.getByTestId("follow-files").click();
    await page.getByRole("button", { name: "Follow the files", exact: true }).click();
    await top.getByText("The rules follow the files on disk").waitFor();
    assert.equal(await page.getByTestId("follow-files").count(), 0);

    await go(explained ?? "");
    const recorded = page.getByTestId("recorded-decision");
    await recorded.getByText("those in force now are others").waitFor();
    assert.match(await recorded.innerText(), /deny by rule nobody-looks/);
    await page.locator('[data-testid="explained"][data-status="allow"]').waitFor();
  },
);

test(
  "an agent's page says of each tool what the policy answers, and by which rule",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/agents/careful");
    await page.getByLabel("Search its tools").fill("mcp__files__");
    const line = (tool: string) => page.getByTestId("agent-tool").filter({ hasText: tool });
    const asked = line("mcp__files__get_file_info");
    await asked.locator('[data-status="ask"]').waitFor();
    assert.match(await asked.innerText(), /a person approves[\s\S]*careful-info/);
    await line("mcp__files__write_file").locator('[data-status="deny"]').waitFor();
    assert.match(await line("mcp__files__write_file").innerText(), /denied[\s\S]*no-writes/);
    await line("mcp__files__read_text_file").locator('[data-status="allow"]').waitFor();
  },
);

test(
  "everything is stopped with two clicks, a red bar on every page shows it, and calls are resumed from there",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/");
    const clicks = await countClicks(page);
    await page.getByTestId("stop-calls").click();
    await page.getByTestId("stop-dialog").getByRole("button", { name: "Stop all calls" }).click();
    const banner = page.getByTestId("stops-banner");
    await banner.getByText("all calls (stopped in the console)").waitFor();
    assert.equal(await clicks(), 2);
    await go("/agents");
    await banner.waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await page.keyboard.press("Control+k");
    await page.getByTestId("palette").getByRole("combobox").fill("stop calls");
    await page.keyboard.press("Enter");
    await page.getByTestId("stop-dialog").waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await page.keyboard.press("Escape");
    await page.getByTestId("resume").click();
    await page.getByTestId("confirm").getByRole("button", { name: "Resume calls" }).click();
    await banner.waitFor({ state: "detached" });
  },
);

test("who may call a tool is said rule by rule", { skip }, async (t) => {
  const { page, go, load } = await there().look(t);
  await go("/policy?view=who&tool=files.get_file_info");
  const reach = page.getByTestId("reach");
  await reach.getByText("careful-info").waitFor();
  assert.match(await reach.innerText(), /agents: careful; a person approves \(always\)/);
  await page.getByTestId("api").getByText("API", { exact: true }).click();
  await page.getByText("yard policy who-can files.get_file_info", { exact: true }).waitFor();
  await page.getByText(/^curl .*\/api\/v1\/policy\/rules'$/).waitFor();
  assert.deepEqual(await axeViolations(page), []);
  await load("/policy?view=stops");
  await page.getByTestId("api").getByText("API", { exact: true }).click();
  await page.getByText("yard policy stops", { exact: true }).waitFor();
});

test("a key is made, shown once, signs its caller in, and is revoked", { skip }, async (t) => {
  const { page, go } = await there().look(t);
  await go("/system");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByLabel("For whom").fill("erin");
  await page.getByRole("button", { name: "Make the key" }).click();
  const made = page.getByRole("group", { name: "API key" });
  const key = (await made.innerText()).trim();
  assert.match(key, /^yk_/);
  await page.getByRole("dialog").getByRole("button", { name: "I have it" }).click();
  assert.equal(await page.getByText(key).count(), 0, "it is not shown again");
  const erin = await there().look(t, { token: key });
  await erin.page.getByText("erin", { exact: true }).waitFor();
  const row = page.getByTestId("keys").getByRole("listitem").filter({ hasText: "erin" });
  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("button", { name: "Revoke the key" }).click();
  await row.locator('[data-status="revoked"]').waitFor();
  await erin.page.goto(erin.page.url());
  await erin.page.getByTestId("sign-in").waitFor();
});

test(
  "a conversation is begun, continues, keeps its address, and is forgotten",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/chat");
    const say = page.getByTestId("say");
    await say.getByRole("combobox").selectOption("reader");
    await say.getByRole("textbox").fill("/gr");
    await say.getByTestId("slash-names").getByRole("button", { name: "/greet" }).click();
    assert.equal(await say.getByRole("textbox").inputValue(), "/greet ");
    await say.getByRole("textbox").fill("<b>Hello</b> from a chat");
    await say.getByRole("textbox").press("Shift+Enter");
    await say.getByRole("textbox").pressSequentially("in two lines");
    await say.getByRole("textbox").press("Enter");
    await page.waitForURL(/\/chat\/chat-/);
    const said = page.getByTestId("conversation");
    // It stays in sight from the moment at which it is sent.
    assert.match(await said.innerText(), /^You\s+<b>Hello<\/b> from a chat\s+in two lines/);
    await said.locator('[data-status="assistant"]').getByText("<b>Hello</b> from a chat").waitFor();
    await say.getByRole("textbox").fill("And once more");
    await say.getByRole("button", { name: "Send" }).click();
    await said.locator('[data-status="assistant"]').getByText("And once more").waitFor();
    assert.deepEqual(await axeViolations(page), []);
    const listed = page.getByTestId("sessions").getByRole("button", { pressed: true });
    assert.match(await listed.innerText(), /^<b>Hello<\/b> from a chat\s+reader/, "its title");
    await page.reload();
    await said.getByText("And once more").first().waitFor();
    assert.match(await said.innerText(), /\breader · /, "the agent's name");
    await page.getByRole("button", { name: "Forget" }).click();
    await page.getByRole("button", { name: "Forget it" }).click();
    await said.getByText("And once more").first().waitFor({ state: "detached" });
  },
);

test(
  "a question and a call are decided in the conversation, and a message sent meanwhile waits",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t, { width: 390 });
    await go("/chat?new=yes");
    const say = page.getByTestId("say");
    const field = say.getByRole("textbox");
    const said = page.getByTestId("conversation");
    await say.getByRole("combobox").selectOption("curious");
    await field.fill("Paint the wall");
    await say.getByRole("button", { name: "Send" }).click();
    const answer = said.getByTestId("answer");
    await answer.getByRole("textbox").fill("blue");
    await field.fill("And the door");
    await say.getByRole("button", { name: "Send" }).click();
    await said.getByText("Waits for its turn.").waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await answer.locator("button:enabled").click();
    const answers = said.locator('[data-status="assistant"]');
    await answers.getByText("The colour is blue").waitFor();
    // The next message has its turn.
    await answer.getByRole("textbox").fill("red");
    await answer.locator("button:enabled").click();
    await answers.getByText("The colour is red").waitFor();
    assert.equal(await said.locator('[data-status="user"]').count(), 2, "each message once");

    await page.getByTestId("back").click();
    await page.getByTestId("new-chat").click();
    await say.getByRole("combobox").selectOption("careful");
    await field.fill("notes.md");
    const taps = await countClicks(page);
    await say.getByRole("button", { name: "Send" }).click();
    const call = said.getByTestId("chat-approval");
    await call.getByTestId("sentence").getByText("careful wants to read notes.md").waitFor();
    await call.locator('[data-testid="approve"]:enabled').click();
    await confirmApproval(page);
    await answers.getByText(/^Done: /).waitFor();
    assert.equal(await taps(), 3);
  },
);

test(
  "the browser notifies of what needs the person, where it is wanted and another tab is in front, and the note opens it",
  { skip },
  async (t) => {
    const { page, go, load } = await there().look(t, { permissions: ["notifications"] });
    // Notifications that the page requests; the system's own list cannot be read.
    await page.addInitScript(`
      window.shown = [];
      // A browser without web push; Chromium has none in such a context either, and reports an attempt as an error.
      delete window.PushManager;
      window.Notification = class extends Notification {
        // Chromium without a user interface reports "denied" here, although the context grants it and a request for it succeeds.
        static get permission() { return "granted"; }
        constructor(title, options) { super(title, options); window.shown.push({ title, ...options }); window.lastNote = this; }
      };
      Object.defineProperty(document, "hasFocus", { value: () => window.isLooking ?? true });
    `);
    await load("/approvals");
    await page.getByTestId("notify").click();
    await page.getByText("Notify me: on").waitFor();
    await page.locator('[data-testid="live"][data-status="live"]').waitFor();
    await page.evaluate("window.isLooking = false");
    const runId = await started("careful", "notes.md");
    const shown = await until(
      () => page.evaluate<{ title: string; body: string }[]>("window.shown"),
      (all) => all.length > 0,
    );
    assert.deepEqual(
      shown.map(({ title, body }) => [title, body]),
      [["careful waits for your approval", "files › get_file_info"]],
    );
    const asks = await started("chooser", "a box");
    await until(
      () => page.evaluate<{ title: string; body: string }[]>("window.shown"),
      (all) => all[1]?.title === "chooser has a question" && !all[1].body.includes("box"),
    );
    await page.evaluate("window.lastNote.dispatchEvent(new Event('click'))");
    await page.getByTestId("question").getByText("Which box").waitFor();
    assert.match(decodeURIComponent(page.url()), /\/approvals\?id=question:/);
    await there().send(`/runs/${asks}/cancel`, {});
    await page.evaluate("window.isLooking = true");
    await page.getByTestId("approval").click();
    await page.getByTestId("approval-detail").waitFor();
    await approveByKey(page);
    await page.reload();
    await page.getByText("Notify me: on").waitFor();
    await go(`/runs/${runId}`);
    await status(page, "succeeded").waitFor();
  },
);

test(
  "without a mouse: to a view, a row and back, with the focus where it is expected",
  { skip },
  async (t) => {
    const { page } = await there().look(t);
    const runId = await started("reader", "by keyboard");
    await page.locator("h1:focus").waitFor();
    await page.getByRole("link", { name: "To the content" }).focus();
    await page.keyboard.press("Enter");
    await page.locator("main:focus").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill(runId.slice("cli~".length));
    // The list of before the typing has the view "Runs".
    await page.getByRole("option", { selected: true }).filter({ hasText: /^run / }).waitFor();
    await page.keyboard.press("Enter");
    // A run that the list does not have yet is found by the typed part of its id.
    await page.waitForURL(new RegExp(`/runs/(?:cli~)?${runId.slice("cli~".length)}$`));
    await page.locator("h1:focus").waitFor();
    await status(page, "succeeded").waitFor();
    await page.getByRole("tab", { name: "Timeline" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.locator('[role="tab"][aria-selected="true"]:focus').getByText("Compact").waitFor();
    const line = page.getByTestId("timeline").getByRole("button").filter({ hasText: "write_file" });
    await line.focus();
    await page.keyboard.press("Enter");
    await page.getByTestId("decision").getByText("no-writes", { exact: true }).waitFor();
  },
);
