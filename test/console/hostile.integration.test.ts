import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { consoleWorld, skip } from "./console-world.ts";
import { hostileTexts } from "./hostile-texts.ts";

const there = await consoleWorld();

const input = hostileTexts.join("\n\n");

/** Nothing on the page acts that came from a text: no element that could, and no script that did. */
async function assertHarmless(page: Page, where: string): Promise<void> {
  await page.getByTestId("loading").first().waitFor({ state: "detached" });
  // Two frames later a script started by a text would have run.
  const found = await page.evaluate<string[]>(`(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
    const bad = [...document.querySelectorAll("main script, main iframe, main object, main embed, main form[action], main base, main meta, main style, main [style*=url], main video")].map((one) => one.outerHTML.slice(0, 100));
    for (const one of document.querySelectorAll("main *, dialog *")) {
      if ([...one.attributes].some(({ name }) => name.startsWith("on"))) bad.push(one.outerHTML.slice(0, 100));
      if (one.tagName === "IMG" && !one.src.startsWith("data:")) bad.push(one.outerHTML.slice(0, 100));
      if (one.tagName === "A" && one.hasAttribute("href") && !/^(https?|mailto):/.test(one.href)) bad.push(one.outerHTML.slice(0, 100));
      if (one.tagName === "A" && one.target === "_blank" && !one.relList.contains("noopener")) bad.push(one.outerHTML.slice(0, 100));
    }
    if (window.pwned !== undefined) bad.push("it ran");
    return bad;
  })()`);
  assert.deepEqual(found, [], where);
}

const started = async (agent: string, text: string, more: object = {}): Promise<string> =>
  String((await there().send("/runs", { agent, input: text, ...more }))["runId"]);

test(
  "200 hostile texts are text in a run, in lists, in results and in addresses",
  { skip },
  async (t) => {
    assert.equal(hostileTexts.length, 200);
    const { page, go } = await there().look(t);
    const labels = { note: hostileTexts[1] ?? "" };
    const path = `/runs/${await started("reader", input, { labels })}`;
    await go(path);
    await page.locator('.page-head [data-status="succeeded"]').waitFor();
    for (const view of ["timeline", "compact", "conversation", "raw"]) {
      await go(`${path}?view=${view}`);
      await page.getByRole("tabpanel").waitFor();
      await assertHarmless(page, view);
    }
    const other = await started("reader", `${input} `);
    await go(`/runs/${other}`);
    await page.locator('.page-head [data-status="succeeded"]').waitFor();
    await go(path.replace("/runs/", "/compare/") + `/${other}?show=all`);
    await page.getByTestId("compared").getByRole("button").last().click();
    await page.getByTestId("compared-detail").waitFor();
    await assertHarmless(page, "the comparison");
    await go("/runs");
    await assertHarmless(page, "the list of runs");
    await go("/tools/mcp__everything__echo");
    await page.getByTestId("field-message").getByRole("textbox").fill(input.slice(0, 6_000));
    await page.getByTestId("call-tool").click();
    await page.getByTestId("tool-result").waitFor();
    await assertHarmless(page, "the result of a tool");
    for (const text of hostileTexts.slice(0, 12)) {
      await go(`/policy?tool=${encodeURIComponent(text)}&agent=${encodeURIComponent(text)}`);
      await assertHarmless(page, "filters of an address");
    }
  },
);

test(
  "200 hostile texts are text in approvals, the audit, chats, jobs, messages and skills",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    await started("careful", input);
    await go("/approvals");
    await page.getByTestId("approval-detail").getByText("onerror").first().waitFor();
    await assertHarmless(page, "an approval");
    await page.getByTestId("deny").click();
    await page
      .getByTestId("confirm")
      .getByRole("textbox")
      .fill(hostileTexts[5] ?? "");
    await page.getByRole("button", { name: "Deny the call" }).click();
    await page.getByText("No call waits for a person").waitFor();
    await go("/approvals?show=all");
    await page.getByTestId("approval-detail").getByText("denied by").waitFor();
    await assertHarmless(page, "a reason");

    const body = { agent: "reader", message: input, timeoutSeconds: 30 };
    await there().send("/sessions/hostile/messages", body);
    await there().send("/sessions/hostile/messages", { message: "![x](https://evil.example/a)" });
    await go("/chat/hostile");
    await page.locator('[data-testid="conversation"] [data-status="assistant"]').first().waitFor();
    await assertHarmless(page, "a conversation");

    const job = {
      name: (hostileTexts[5] ?? "").slice(0, 60),
      agentId: "reader",
      schedule: { kind: "at", at: "2031-01-31T07:00:00Z" },
      sessionTarget: "isolated",
      payload: { kind: "agentTurn", message: input.slice(0, 4_000) },
    };
    const added = (await there().send("/schedules", { job })) as { job: { id: string } };
    for (const path of ["/schedules", `/schedules/${added.job.id}`]) {
      await go(path);
      await assertHarmless(page, path);
    }

    for (const text of hostileTexts.slice(0, 20))
      await there().send("/channels/messages", {
        to: { channel: "loopback", target: { kind: "user", id: "eve" } },
        text,
      });
    await go("/channels/loopback/default?to=eve");
    await page.getByTestId("channel-messages").getByText("alert(1)").first().waitFor();
    await assertHarmless(page, "messages of a channel");

    const skill = `---\nname: hostile\ndescription: ${JSON.stringify(input.slice(0, 900))}\n---\n\n${input}\n`;
    const imported = (await there().send("/skills", {
      label: "hostile",
      skills: [{ directory: "hostile", files: [{ path: "SKILL.md", text: skill }] }],
    })) as { skills: { version: string }[] };
    await go(`/review/skills/hostile?version=${imported.skills[0]?.version ?? ""}`);
    await page.getByTestId("reviewed-file").getByText("alert(1)").first().waitFor();
    await assertHarmless(page, "a skill that waits for trust");
    await go("/skills");
    await assertHarmless(page, "the list of skills");
    await go("/audit");
    await page.getByTestId("row").first().getByRole("button").click();
    await page.getByTestId("audit-record").waitFor();
    await assertHarmless(page, "a record of the audit");
  },
);
