import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { axeViolations } from "./chromium.ts";
import { countClicks } from "./clicks.ts";
import { consoleWorld, skip } from "./console-world.ts";

const there = await consoleWorld();

const STATUSES =
  "[...document.querySelectorAll('[data-testid=rule]')].map(({ dataset }) => dataset.status)";
const SELECTED = `(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(
  document.querySelector("[data-testid=draft]"))`;

test(
  "a viewer sees no button that it may not use, and sees what is not permitted",
  { skip },
  async (t) => {
    const made = await there().send("/keys", { caller: "visitor", roles: ["viewer"] });
    const { page, go } = await there().look(t, { token: String(made["key"]) });
    const links = await page.getByRole("navigation").getByRole("link").allInnerTexts();
    assert.ok(links.includes("Runs") && !links.includes("MCP servers") && !links.includes("Audit"));
    const operator = await there().keyOf("visitor", ["operator"]);
    const begun = await page.request.post(`${there().dev.httpUrl}/api/v1/runs`, {
      headers: { authorization: `Bearer ${operator}` },
      data: { runId: "seen", agent: "reader", input: "for a visitor" },
    });
    assert.equal(begun.status(), 202, await begun.text());
    await go("/runs/seen");
    await page.locator('.page-head [data-status="succeeded"]').waitFor();
    const forbidden = [
      "start-run",
      "add-server",
      "import-skills",
      "call-tool",
      "approve",
      "say",
      "cancel",
      "delete",
      "add-job",
      "run-job",
      "pause-job",
      "edit-job",
      "remove-job",
      "check-account",
      "choose-target",
      "send-message",
      "add-webhook",
    ];
    for (const path of [
      "/runs",
      "/runs/seen",
      "/approvals",
      "/chat",
      "/agents/reader",
      "/skills",
      "/schedules",
      "/webhooks",
      "/tools/mcp__everything__echo",
    ]) {
      await go(path);
      for (const id of forbidden)
        assert.equal(await page.getByTestId(id).count(), 0, `${id} on ${path}`);
    }
    await go("/channels/loopback/default?to=ann");
    await page.getByTestId("capabilities").waitFor();
    for (const id of forbidden) assert.equal(await page.getByTestId(id).count(), 0, id);
    for (const path of ["/servers", "/audit"]) {
      await go(path);
      await page.getByTestId("forbidden").first().waitFor();
    }
    await go("/servers");
    assert.equal(await page.getByTestId("add-server").count(), 0);
    await go("/system");
    await page.getByTestId("services").waitFor();
    assert.equal(await page.getByTestId("keys").count(), 0, "keys are for admins");
  },
);

test(
  "the audit has a denied call with its rule, its chains are whole, and it leads to the run",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    const run = await there().send("/runs", { agent: "reader", input: "for the audit" });
    const runId = String(run["runId"]);
    await go(`/runs/${runId}`);
    await page.locator('.page-head [data-status="succeeded"]').waitFor();
    await go("/audit");
    await page.getByLabel("Kind").selectOption("decision");
    await page.getByLabel("Run", { exact: true }).fill(runId);
    // Decisions are recorded in blocks, a moment later.
    const denied = page.getByTestId("row").filter({ hasText: "write_file" });
    await until(async () => {
      await page.getByRole("button", { name: "Filter" }).click();
      await page.getByTestId("loading").first().waitFor({ state: "detached" });
      return (await denied.count()) === 1;
    });
    assert.ok(page.url().includes("kind=decision"), "the address keeps the filters");
    assert.match(await denied.innerText(), /deny[\s\S]*nobody writes here/);
    await denied.getByRole("button").click();
    await page.getByTestId("audit-record").getByText('"rule": "no-writes"').waitFor();
    await page.getByRole("link", { name: "To the run" }).click();
    await page.waitForURL(new RegExp(`/runs/${runId}$`));
    await go("/audit?kind=nothing");
    await page.getByText("No record fits").waitFor();
    await page.getByRole("button", { name: "Check the chains" }).click();
    await page.locator('[data-testid="chains"][data-status="intact"]').waitFor();
    await go("/audit?kind=seal");
    await page.getByTestId("audit").getByTestId("row").first().waitFor();
    const all = `${there().dev.httpUrl}/api/v1/audit?reads=false&limit=500`;
    const { records } = (await (await page.request.get(all)).json()) as {
      records: { kind: string }[];
    };
    assert.ok(records.length > 0 && records.every(({ kind }) => kind !== "seal"));
    // Each of these is two records of this kind, and a page has 200.
    await Promise.all(
      Array.from({ length: 110 }, () => page.request.get(`${there().dev.httpUrl}/api/v1/keys`)),
    );
    await go("/audit?kind=access");
    assert.equal(await page.getByLabel("Kind").inputValue(), "access");
    await page.getByTestId("audit").getByTestId("row").first().waitFor();
    assert.equal(await page.getByText("policy.user-keys.list").count(), 0, "reads are not shown");
    await page.getByTestId("audit-reads").check();
    const table = page.locator('[data-testid="audit"][data-count="200"]');
    await table.waitFor();
    assert.match(page.url(), /reads=true/);
    await page.getByTestId("load-more").click();
    await table.waitFor({ state: "detached" });
    const kinds = await page.getByTestId("audit").locator("tbody td:first-child").allInnerTexts();
    assert.deepEqual([...new Set(kinds.filter((kind) => kind !== ""))], ["access"]);
  },
);

test(
  "the rules in force are shown in words: for whom, about what, and who approves",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/policy");
    const rule = (id: string) => page.getByTestId("rule").filter({ hasText: id });
    assert.match(
      await rule("careful-info").innerText(),
      /allow[\s\S]*agent careful[\s\S]*files\.get_file_info[\s\S]*whatever the arguments[\s\S]*approves each time/,
    );
    assert.match(
      await rule("no-writes").innerText(),
      /deny[\s\S]*everybody[\s\S]*files\.write_file/,
    );
    const effects = await page.evaluate<string[]>(STATUSES);
    assert.deepEqual(effects, effects.toSorted().toReversed(), "those that deny are first");
    assert.deepEqual(await axeViolations(page), []);
  },
);

test(
  "a rule in force is edited, tested and activated with four clicks; one is made from a denial; the files are followed again with two",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/");
    const clicks = await countClicks(page);
    await page.getByRole("navigation").getByRole("link", { name: "Policy" }).click();
    await page.getByRole("link", { name: "Edit careful-info" }).click();
    const draft = page.getByTestId("draft");
    await draft.waitFor();
    await until(
      () => page.evaluate<string>(SELECTED),
      (text) => /^ {2}- id: careful-info\n/.test(text),
    );
    const text = await draft.inputValue();
    await draft.fill(text.replace(/(id: careful-info\n.*\n.*approval: )always/, "$1session"));
    await page
      .getByTestId("draft-check")
      .getByText(/rules, valid/)
      .waitFor();
    await page.getByTestId("comparison").getByTestId("compared").waitFor();
    await page.getByTestId("activate").click();
    await page.getByRole("button", { name: "Activate the draft" }).click();
    await page.getByTestId("toast").getByText("The draft is active").waitFor();
    const top = page.getByTestId("in-force");
    await top.getByText("Edits of the files on disk do not count").waitFor();
    assert.ok((await clicks()) <= 6, `${await clicks()} clicks`);
    assert.equal(await clicks(), 4);
    const used = await clicks();
    await page.getByTestId("follow-files").click();
    await page.getByRole("button", { name: "Follow the files", exact: true }).click();
    await top.getByText("The rules follow the files on disk").waitFor();
    assert.equal((await clicks()) - used, 2);

    await go("/policy?tool=files.move_file&agent=lead");
    await page.locator('[data-testid="explained"][data-status="deny"]').waitFor();
    await page.getByTestId("make-rule").click();
    await page
      .getByTestId("proposed-rule")
      .getByRole("button", { name: "Add it to the draft" })
      .click();
    await until(async () => /- id: lead-move-file\n/.test(await draft.inputValue()));
    await page
      .getByTestId("draft-check")
      .getByText(/rules, valid/)
      .waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await page.getByRole("button", { name: /^Back to version/ }).click();
  },
);

test(
  "an MCP server's question is answered in the inbox, by the server's form",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/");
    await page.locator('[data-testid="live"][data-status="live"]').waitFor();
    const called = there().send("/tools/mcp/everything/trigger-elicitation-request/call", {
      args: {},
    });
    const clicks = await countClicks(page);
    await page.getByTestId("needs-you").click();
    const need = page.locator('[data-testid="need"][data-status="elicitation"]');
    await need.click();
    const question = page.getByTestId("server-question");
    await question.getByText("The MCP server everything asks").waitFor();
    await question.getByTestId("field-name").getByRole("textbox").fill("Ada <b>L.</b>");
    assert.deepEqual(await axeViolations(page), []);
    await question.getByRole("button", { name: "Answer", exact: true }).click();
    await need.waitFor({ state: "detached" });
    assert.ok((await clicks()) <= 3, "an answer takes at most three clicks");
    assert.match(JSON.stringify(await called), /Name: Ada <b>L\.<\/b>/);
  },
);

test("a run that failed is counted and drawn on the overview", { skip }, async (t) => {
  const { page, go } = await there().look(t);
  const limits = { maxSteps: 1, onLimit: "fail" };
  const run = await there().send("/runs", { agent: "reader", input: "too long", limits });
  await go(`/runs/${String(run["runId"])}`);
  await page.locator('.page-head [data-status="failed"]').waitFor();
  await go("/");
  const failures = page.getByTestId("failures");
  await failures.getByText("1 failure in the last 24 hours").waitFor();
  await failures.locator('svg rect:not(.all):not([height="0%"])').first().waitFor();
  const [chart, drawing] = await Promise.all(
    [".chart", "svg"].map((part) => failures.locator(part).boundingBox()),
  );
  assert.ok(chart && drawing);
  assert.ok(drawing.y >= chart.y && drawing.height < chart.height, "all of it is in sight");
  const spend = await page.getByTestId("spend").innerText();
  assert.match(spend, /\$0[\s\S]*[1-9][\d,]* tokens of \d+ runs?/);
});

test("services that answer and the queues of the bus are seen", { skip }, async (t) => {
  const { page, go } = await there().look(t);
  await go("/");
  const figure = (name: string) => page.locator("a.card").filter({ hasText: name });
  await figure("Services")
    .getByText(/^answer, with \d+ replicas$/)
    .waitFor();
  await figure("Waiting in queues")
    .getByText(/^\d+ messages? in work$/)
    .waitFor();
  await go("/system");
  const services = page.getByTestId("services");
  for (const name of ["broker", "importer", "policy", "runner", "toolbox"])
    await services.getByText(name, { exact: true }).waitFor();
  const checks = page.getByTestId("checks").getByTestId("check");
  for (const name of ["services", "versions", "streams", "redis", "mcp", "stops", "rules", "model"])
    await checks.filter({ has: page.getByText(name, { exact: true }) }).waitFor();
  await until(async () => (await checks.and(page.locator('[data-status="failed"]')).count()) === 0);
  const streams = await page.getByTestId("streams").innerText();
  assert.match(streams, /YARD_COMMANDS[\s\S]*agent-runner: \d+ waiting, \d+ in work/);
});

test("a draft shows which of the recorded decisions it would change", { skip }, async (t) => {
  const { page, go } = await there().look(t);
  const run = await there().send("/runs", { agent: "reader", input: "to compare" });
  await go(`/runs/${String(run["runId"])}`);
  await page.locator('.page-head [data-status="succeeded"]').waitFor();
  const rules = `version: 1
rules:
  - id: writes-for-all
    effect: allow
    approval: auto
    who: { users: ["*"] }
    what: { tools: ["files.*"] }
`;
  await go("/policy?view=draft");
  await page.getByTestId("draft").fill(rules);
  const comparison = page.getByTestId("comparison");
  // Decisions are recorded in blocks, a moment later.
  await comparison.waitFor();
  await until(async () => {
    await comparison.locator("button:enabled").click();
    const text = await comparison.getByTestId("compared").innerText();
    return !/: 0 would change/.test(text);
  });
  assert.match(
    await comparison.innerText(),
    /mcp__files__write_file\s+reader: .*deny.*no-writes.*→.*allow.*writes-for-all/s,
  );
});

test(
  "a job is added by the form, run now, paused and changed, and its runs are listed",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/schedules");
    await page.getByText("Nothing is scheduled").waitFor();
    await page.getByTestId("add-job").click();
    const field = (name: string) => page.getByTestId(`field-${name}`);
    await field("name").getByRole("textbox").fill("look around");
    await field("when").getByRole("combobox").selectOption({ label: "every" });
    await field("minutes").getByRole("spinbutton").fill("90");
    await field("agent").getByRole("combobox").selectOption({ label: "reader" });
    await field("text").getByRole("textbox").fill("What is new?");
    await page.getByTestId("save-job").click();
    await page.waitForURL(/\/schedules\/job-/);
    const head = page.locator(".page-head");
    await head.locator('[data-status="active"]').waitFor();
    await page.getByText("every 1 h 30 min").waitFor();
    await page.getByTestId("run-job").click();
    const run = page.getByTestId("job-history").getByTestId("row");
    await run.locator('[data-status="ok"]').waitFor();
    await page.getByTestId("pause-job").click();
    await head.locator('[data-status="paused"]').waitFor();
    await page.getByTestId("edit-job").click();
    await field("when").getByRole("combobox").selectOption({ label: "cron" });
    await field("expr").getByRole("textbox").fill("nonsense");
    await page.getByTestId("save-job").click();
    await page.locator('[data-testid="toast"][data-status="bad"]').waitFor();
    await field("expr").getByRole("textbox").fill("0 7 * * 1-5");
    await field("tz").getByRole("textbox").fill("Europe/Berlin");
    await page.getByTestId("save-job").click();
    await page.getByText("0 7 * * 1-5 in Europe/Berlin").waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await run.getByRole("link", { name: "to the run" }).click();
    await page.locator('.page-head [data-status="succeeded"]').waitFor();
    await go("/schedules");
    const job = page.getByTestId("jobs").getByTestId("row");
    assert.match(await job.innerText(), /look around[\s\S]*paused/);
    await job.getByRole("link").click();
    await page.getByTestId("remove-job").click();
    await page.getByRole("button", { name: "Remove look around" }).click();
    await page.waitForURL(/\/schedules$/);
    await page.getByText("Nothing is scheduled").waitFor();
  },
);

test("an account of a channel is checked, and written and read with", { skip }, async (t) => {
  const { page, go } = await there().look(t);
  await go("/channels");
  const account = page.getByTestId("channel-accounts").getByTestId("row");
  await account.locator('[data-status="connected"]').waitFor();
  await account.getByRole("link", { name: "loopback/default" }).click();
  await page.getByTestId("capabilities").getByText("4,000 characters").waitFor();
  await page.getByTestId("check-account").click();
  await page.getByText("The provider takes it, as loopback/default").waitFor();
  await page.getByTestId("choose-target").getByRole("textbox").fill("ann");
  await page.getByTestId("choose-target").getByRole("button").click();
  await page.getByText("Nothing was written here yet").waitFor();
  const send = page.getByTestId("send-message");
  for (const text of ["Dinner is ready.", "<b>Come</b>, please."]) {
    await send.getByRole("textbox").fill(text);
    await send.getByRole("button").click();
    await page.getByTestId("channel-messages").getByText(text).waitFor();
  }
  assert.deepEqual(await axeViolations(page), []);
  await page.reload();
  const messages = page.locator('[data-testid="channel-messages"][data-count="2"]');
  assert.match(await messages.innerText(), /Dinner is ready\.[\s\S]*<b>Come<\/b>, please\./);
  await go("/channels/loopback/other");
  await page.locator('[data-testid="problem"][data-status="unknown_account"]').waitFor();
});

test(
  "schedules and channels are no views where their services do not answer",
  { skip },
  async (t) => {
    const { page, load } = await there().look(t);
    const links = page.getByRole("navigation").getByRole("link");
    const names = ["Schedules", "Channels"];
    for (const hasText of names) await links.filter({ hasText }).waitFor();
    await page.route(/\/api\/v1\/(schedules\/status|channels\/accounts)$/, (route) =>
      route.fulfill({
        status: 503,
        contentType: "application/problem+json",
        json: { status: 503, code: "no_responders", detail: "nobody answers", requestId: "r" },
      }),
    );
    await load("/");
    for (const hasText of names) await links.filter({ hasText }).waitFor({ state: "detached" });
  },
);

test(
  "a webhook is made, shows its secret once, says why it fails, is changed, and is removed",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/webhooks");
    await page.getByTestId("hooks").or(page.getByText("There are none yet.")).waitFor();
    await page.getByTestId("add-webhook").click();
    await page.getByLabel("URL").fill("http://127.0.0.1:9/govern");
    await page.getByRole("button", { name: "Add the webhook" }).click();
    await page.getByText(/whsec_/).waitFor();
    await page.getByRole("button", { name: "I have it" }).click();
    assert.equal(await page.getByText(/whsec_/).count(), 0);
    await there().send("/runs", { agent: "reader", input: "for a webhook" });
    await page.getByTestId("row").filter({ hasText: "/govern" }).getByRole("link").first().click();
    await page
      .getByTestId("webhook-error")
      .getByText(/refused the connection/)
      .waitFor();
    await page.getByTestId("edit-webhook").click();
    await page.getByLabel("Events").fill("run.*");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("run.*", { exact: true }).waitFor();
    await page.getByTestId("remove-webhook").click();
    await page.getByTestId("confirm").getByRole("button", { name: "Remove the webhook" }).click();
    await page.waitForURL(/\/webhooks$/);
    assert.equal(await page.getByTestId("row").filter({ hasText: "/govern" }).count(), 0);
  },
);

const startedRun = async (agent: string, more: object = {}): Promise<string> =>
  String((await there().send("/runs", { agent, input: "to be forgotten", ...more }))["runId"]);

test(
  "an ended run is deleted after a prompt that lists what stays, and an old link and another tab report that it was deleted",
  { skip },
  async (t) => {
    const { page, context } = await there().look(t);
    const runId = await startedRun("curious");
    const tab = await context.newPage();
    await tab.clock.install();
    for (const one of [tab, page]) await one.goto(`${there().dev.httpUrl}/runs/${runId}`);
    await page.locator('.page-head [data-status="waiting"]').waitFor();
    assert.equal(await page.getByTestId("delete").count(), 0);
    await there().send(`/runs/${runId}/cancel`, {});
    await tab.locator('.page-head [data-status="cancelled"]').waitFor();
    const deletions: string[] = [];
    page.on("request", (one) => one.method() === "DELETE" && deletions.push(one.url()));
    await page.getByTestId("delete").click();
    const confirm = page.getByTestId("confirm");
    assert.match(await confirm.innerText(), /uploaded files[\s\S]*audit names who deleted the run/);
    assert.deepEqual(await axeViolations(page), []);
    await confirm.getByRole("button", { name: "Keep as it is" }).click();
    await page.getByTestId("delete").click();
    await confirm.getByRole("button", { name: "Delete the run" }).dblclick();
    await page.waitForURL(/\/runs$/);
    await page.getByTestId("toast").getByText("curious: to be forgotten is deleted").waitFor();
    assert.equal(deletions.length, 1);
    const rows = page.getByTestId("runs").getByTestId("row");
    await rows.first().waitFor();
    assert.equal(await rows.filter({ hasText: "to be forgotten" }).count(), 0);
    await page.goBack();
    await page.getByText("This run was deleted").waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await tab.clock.fastForward(30_000);
    await tab.getByText("This run was deleted").waitFor();
    assert.equal(await tab.getByTestId("timeline").count(), 0);
    await page.getByRole("link", { name: "audit", exact: true }).click();
    await page.getByTestId("row").filter({ hasText: "runs.delete" }).first().click();
    await page.getByTestId("audit-record").getByText(runId).first().waitFor();
  },
);

test("a deletion that is refused says why and what to do next", { skip }, async (t) => {
  const runId = await startedRun("reader", { limits: { maxSteps: 1, onLimit: "fail" } });
  const { page, go } = await there().look(t);
  await go(`/runs/${runId}`);
  const confirmed = async (meanwhile: () => Promise<unknown>, refusal: RegExp): Promise<void> => {
    await page.getByTestId("delete").click();
    await meanwhile();
    await page.getByTestId("confirm").getByRole("button", { name: "Delete the run" }).click();
    const toast = page.getByTestId("toast");
    assert.match(await toast.innerText(), refusal);
    await toast.getByRole("button", { name: "Close" }).click();
  };
  const address = `/api/v1/runs/${runId}`;
  await page.route(`**${address}`, (one) => one.abort());
  await confirmed(async () => {}, /cannot be reached[\s\S]*send the same request again/);
  await page.unroute(`**${address}`);
  await confirmed(async () => {
    // The retried run waits for a higher limit.
    await there().send(`/runs/${runId}/retry`, { limits: { maxSteps: 2, onLimit: "pause" } });
    await page.locator('.page-head [data-status="waiting"]').waitFor();
  }, /is waiting; cancel it and delete it when it has ended/);
  await there().send(`/runs/${runId}/cancel`, {});
  const headers = { authorization: `Bearer ${there().token}` };
  const elsewhere = () => page.request.delete(there().dev.httpUrl + address, { headers });
  await confirmed(elsewhere, /was deleted before/);
  await page.getByText("This run was deleted").waitFor();
});
