import assert from "node:assert/strict";
import { test } from "node:test";
import { testWorkspace } from "../../test-fixtures/test-workspace.ts";
import { ToolError } from "../tool-error.ts";
import type { AsCaller } from "./as-caller.ts";
import { createMessageTools } from "./message-tools.ts";
import { ToolSettings } from "./tool-settings.ts";

const { context } = await testWorkspace();
const address = { channel: "loopback", accountId: "main", target: { kind: "user", id: "1" } };
const file = { name: "a.png", mediaType: "image/png", sizeBytes: 7, sha256: "a".repeat(64) };

interface Sent {
  readonly dryRun: boolean;
  readonly attachments: readonly unknown[];
}

/** Sends with the tool, through a channels service that loads the file. */
async function sendFile(given: { readonly denial: string | null; readonly loaded?: object[] }) {
  const sent: Sent[] = [];
  const asCaller = async (_: unknown, contract: { name: string }, request: Sent) => {
    if (contract.name !== "channels.send") return { address };
    sent.push(request);
    const { dryRun } = request;
    const reply = { address, sendId: "snd-1", messageIds: [], sentAt: null, degraded: [], dryRun };
    return dryRun ? { ...reply, loadedFiles: given.loaded ?? [file] } : reply;
  };
  const settings = ToolSettings.parse({});
  const parts = { asCaller: asCaller as unknown as AsCaller, settings: async () => settings }; // for these contracts
  const tool = createMessageTools(parts).find(({ name }) => name === "message_send_attachment");
  assert.ok(tool !== undefined);
  const decided: unknown[] = [];
  const result = await tool
    .run(tool.input.parse({ channel: "loopback", target: "user:1", file: "/shared/a.png" }), {
      ...context,
      attachmentDenial: async (facts) => {
        decided.push(facts);
        return given.denial;
      },
    })
    .catch((error: unknown) => error);
  return { sent, decided, result };
}

test("a file is loaded for its facts, decided about, and then only these bytes are sent", async () => {
  const { sent, decided, result } = await sendFile({ denial: null });
  assert.ok(!(result instanceof Error), String(result));
  assert.deepEqual(decided, [file]);
  assert.deepEqual(
    sent.map(({ dryRun, attachments }) => ({ dryRun, attachments })),
    [
      { dryRun: true, attachments: [{ source: "/shared/a.png" }] },
      { dryRun: false, attachments: [{ source: "/shared/a.png", sha256: file.sha256 }] },
    ],
  );
});

test("nothing is sent when the policy denies the file, or when its type is not reported", async () => {
  const denied = await sendFile({ denial: "The policy denies a.png" });
  assert.ok(denied.result instanceof ToolError);
  assert.equal(denied.sent.filter(({ dryRun }) => !dryRun).length, 0);
  const unreported = await sendFile({ denial: null, loaded: [] });
  assert.ok(unreported.result instanceof ToolError);
  assert.equal(unreported.sent.filter(({ dryRun }) => !dryRun).length, 0);
});
