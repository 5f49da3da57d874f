import assert from "node:assert/strict";
import { appendFile, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readSideEffects, recordSideEffect, type MessageSent } from "./side-effects.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-effects-"));
after(() => rm(directory, { recursive: true, force: true }));

const sent: MessageSent = {
  type: "message_sent",
  tool: "message_send",
  provider: "loopback",
  accountId: "main",
  to: "user:1",
  text: "one\ntwo",
  mediaUrl: null,
  status: "sent",
  ts: 1,
};

test("written records are read in their order, and no other user may read the file [F36] [F38] [F41]", async () => {
  const file = join(directory, "effects.ndjson");
  await recordSideEffect(file, sent);
  await recordSideEffect(file, { type: "cron_added", jobId: "job-1", ts: 2 });
  const picture = { ...sent, text: "", mediaUrl: "https://a.example/b.png" };
  await recordSideEffect(file, picture);
  assert.deepEqual(await readSideEffects(file), {
    sentTexts: ["one\ntwo", ""],
    sentMediaUrls: ["https://a.example/b.png"],
    sentTargets: Array.from({ length: 2 }, () => ({
      tool: "message_send",
      provider: "loopback",
      accountId: "main",
      to: "user:1",
    })),
    cronAdds: 1,
  });
  assert.equal((await stat(file)).mode & 0o077, 0);
});

test("a line that a crash cut, and what may not have been sent, are left out [X38]", async () => {
  const file = join(directory, "cut.ndjson");
  await recordSideEffect(file, { ...sent, status: "unknown" });
  await recordSideEffect(file, sent);
  await appendFile(file, '{"type":"cron_added"}\n7\n{"type":"message_sent"}\n{"type":"message_se');
  const { sentTexts, cronAdds } = await readSideEffects(file);
  assert.deepEqual([sentTexts, cronAdds], [["one\ntwo"], 1]);
});

test("a missing file has no records [F36]", async () => {
  const { sentTexts, sentTargets, cronAdds } = await readSideEffects(join(directory, "none"));
  assert.deepEqual([sentTexts, sentTargets, cronAdds], [[], [], 0]);
});
