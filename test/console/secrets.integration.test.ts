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

test(
  "what is written in a dialog is not lost by Escape, a click beside it, or a selection that ends beside it",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/servers");
    await page.getByTestId("add-server").click();
    const dialog = page.getByTestId("add-server-dialog");
    const heading = (await dialog.getByRole("heading").boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.move(heading.x + 5, heading.y + 5);
    await page.mouse.down();
    await page.mouse.move(4, 4, { steps: 4 });
    await page.mouse.up();
    assert.equal(await dialog.count(), 1, "a selection that ends beside it");
    const text = dialog.getByTestId("server-json");
    await text.fill("half of a declaration");
    for (let times = 0; times < 3; times += 1) await page.keyboard.press("Escape");
    await page.mouse.click(4, 4);
    await dialog.getByText("It stays open, because you wrote in it.").waitFor();
    assert.equal(await text.inputValue(), "half of a declaration");
    assert.deepEqual(await axeViolations(page), []);
    await dialog.getByRole("button", { name: "Discard that and close" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByTestId("add-server").click();
    await text.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  },
);

test("a view whose code does not come is loaded again", { skip }, async (t) => {
  const { page, go } = await there().look(t);
  await go("/");
  for (const times of [1, 2]) {
    let left = times;
    await page.route(/\/assets\/(audit|webhooks)-.*\.js$/, async (route) => {
      left -= 1;
      await (left < 0 ? route.continue() : route.abort());
    });
    const [name = "", heading = ""] = times === 1 ? ["audit", "Audit"] : ["webhooks", "Webhooks"];
    await page.locator(`nav a[href="/${name}"]`).click();
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    assert.ok(left <= 0, "its code did not come");
    await page.unrouteAll();
  }
});
