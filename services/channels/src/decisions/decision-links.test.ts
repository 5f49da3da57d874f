import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { createDecisionLinks } from "./decision-links.ts";
import type { CallPrompt } from "./prompt-store.ts";

const prompt: CallPrompt = {
  promptId: "0123456789abcdef".repeat(2),
  approvalId: "apr-0123456789abcdef",
  binding: `sha256:${"1".repeat(64)}`,
  address: {
    channel: "email",
    accountId: "main",
    target: { kind: "user", id: "ann@example.test" },
  },
  personId: "ann@example.test",
  linkCode: "A".repeat(22),
  title: "a call",
  text: "Approval needed",
  argumentsAt: 0,
  sendId: `snd-${"0".repeat(32)}`,
  messageId: null,
  expiresAt: "2026-11-30T08:00:00.000Z",
  state: "asked",
  risk: "low",
  codes: { approve: "a".repeat(11), deny: "d".repeat(11) },
};

test("a link is signed for one call, its arguments, the person and the time to decide", async () => {
  const links = await createDecisionLinks(undefined);
  const token = links.tokenOf(prompt) ?? "";
  const link = links.read(token);
  assert.deepEqual([link?.promptId, link?.code], [prompt.promptId, prompt.linkCode]);
  assert.ok(link !== null);
  assert.ok(link.isFor({ ...prompt, state: "ended" }));
  for (const other of [
    { approvalId: "apr-fedcba9876543210" },
    { binding: `sha256:${"2".repeat(64)}` },
    { personId: "eve@example.test" },
    { expiresAt: "2026-12-30T08:00:00.000Z" },
  ])
    assert.ok(!link.isFor({ ...prompt, ...other }), Object.keys(other)[0]);
  const { linkCode: _, ...withoutLink } = prompt;
  assert.equal(links.tokenOf(withoutLink), null);
});

test("a token in which anything was changed is refused, and one of another installation", async () => {
  const links = await createDecisionLinks(undefined);
  const token = links.tokenOf(prompt) ?? "";
  for (let at = 0; at < token.length; at += 1) {
    const changed = token[at] === "x" ? "y" : "x";
    assert.equal(links.read(token.slice(0, at) + changed + token.slice(at + 1)), null, `${at}`);
  }
  for (const short of ["", ".", token.slice(0, -23), `${prompt.promptId}.${prompt.linkCode}`])
    assert.equal(links.read(short), null, short);
  assert.equal((await createDecisionLinks(undefined)).read(token), null);
});

test("replicas with the same NKey read one another's links", async () => {
  const file = join(await testDirectory(), "channels.nk");
  await writeFile(file, "SU-a-seed-of-a-test\n", { mode: 0o600 });
  const [one, other] = [await createDecisionLinks(file), await createDecisionLinks(file)];
  assert.equal(other.read(one.tokenOf(prompt) ?? "")?.promptId, prompt.promptId);
});
