import assert from "node:assert/strict";
import { test } from "node:test";
import { confirmApproval, decidable } from "./approve.ts";
import { axeViolations } from "./chromium.ts";
import { countClicks } from "./clicks.ts";
import { consoleWorld, skip } from "./console-world.ts";

const there = await consoleWorld();
const token = "canary-console-9b1f27c4";

test(
  "a server with a secret is added with three clicks, and the secret is stored and not shown [A55]",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/servers");
    const clicks = await countClicks(page);
    await page.getByTestId("add-server").click();
    const entry = {
      command: "node",
      args: ["${YARD_HOME}/node_modules/@modelcontextprotocol/server-everything/dist/index.js"],
      env: { TRACKER_TOKEN: token },
    };
    await page.getByTestId("server-json").fill(JSON.stringify({ mcpServers: { formed: entry } }));
    await page.getByTestId("add").click();
    await page.getByTestId("literal-secret").getByText("env.TRACKER_TOKEN").waitFor();
    await page.getByTestId("store-and-add").click();
    await page.locator('[data-testid="server-formed"][data-status="connected"]').waitFor();
    assert.ok((await clicks()) <= 4, "at most four clicks");
    const secret = page.getByTestId("secret-formed-tracker-token");
    await secret.getByText("used by formed").waitFor();
    assert.ok(!(await page.content()).includes(token));
    assert.deepEqual(await axeViolations(page), []);
    await go("/servers/formed?view=declaration");
    await page.getByText("${secret:formed-tracker-token}").waitFor();
    assert.ok(!(await page.content()).includes(token));
    await go("/tools/mcp__formed__get-env");
    await page.getByTestId("call-tool").click();
    await page.getByTestId("tool-result").getByText(`"TRACKER_TOKEN": "${token}"`).waitFor();

    await go("/servers");
    await secret.getByRole("button", { name: "Replace" }).click();
    await page.getByLabel("Value").fill("canary-replaced");
    await page.getByRole("button", { name: "Store", exact: true }).click();
    await page.locator('[data-testid="server-formed"][data-status="connected"]').waitFor();
    await go("/tools/mcp__formed__get-env");
    await page.getByTestId("call-tool").click();
    await page.getByTestId("tool-result").getByText('"TRACKER_TOKEN": "canary-replaced"').waitFor();
  },
);

test(
  "an approver edits the arguments and approves, and the page names who changed them [A21]",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/approvals");
    const run = await there().send("/runs", { agent: "careful", input: "notes.md" });
    await page.getByTestId("approval-detail").getByText('"path": "notes.md"').waitFor();
    await decidable(page);
    await page.getByTestId("edit-arguments").click();
    const text = page.getByTestId("edited-arguments");
    await text.fill("{ no json");
    assert.ok(await page.getByTestId("approve").isDisabled());
    await text.fill('{ "path": "changed.md" }');
    assert.deepEqual(await axeViolations(page), []);
    await page.getByTestId("approve").click();
    await page.getByTestId("confirm").getByText("changed.md").waitFor();
    await confirmApproval(page);
    await page.getByTestId("toast").getByText("Approved").waitFor();
    await go(`/runs/${String(run["runId"])}?view=conversation`);
    await page.locator('.page-head [data-status="succeeded"]').waitFor();
    await page
      .getByText(/cli changed the arguments of this call before approving it.*changed\.md/)
      .first()
      .waitFor();
  },
);

test("a rule is made from a denial in the audit", { skip }, async (t) => {
  const { page, go } = await there().look(t);
  const run = await there().send("/runs", { agent: "reader", input: "Look around, please" });
  await go(`/runs/${String(run["runId"])}`);
  await page.locator('.page-head [data-status="succeeded"]').waitFor();
  await go("/audit?kind=decision");
  await page.getByTestId("audit").locator('[data-status="deny"]').first().click();
  await page.getByTestId("audit-record").getByTestId("make-rule").click();
  await page.getByTestId("proposed-rule").getByText("effect: allow").waitFor();
});
