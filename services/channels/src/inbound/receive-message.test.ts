import assert from "node:assert/strict";
import { test } from "node:test";
import type { Account } from "../accounts/accounts.ts";
import type { AccountEntry } from "../accounts/channels-file.ts";
import type { IncomingMessage } from "../adapters/adapter.ts";
import type { InboundRecord } from "./inbound-store.ts";
import { receiveMessage } from "./receive-message.ts";

const entry: AccountEntry = {
  enabled: true,
  caller: "cli",
  callers: [],
  approvals: [],
  owners: ["boss"],
  direct: { policy: "open", allow: [] },
  groups: { policy: "open", allow: [], requireMention: false },
  onBusy: "steer",
  reply: "off",
  config: {},
};
const message: IncomingMessage = {
  target: { kind: "group", id: "room" },
  messageId: "1",
  sender: { id: "guest" },
  text: "hi",
  mentionsAccount: true,
  writtenAt: new Date(0),
};

async function recordOf(
  more: Partial<IncomingMessage>,
  settings: Partial<AccountEntry> = {},
): Promise<InboundRecord> {
  const stored: InboundRecord[] = [];
  const add = async (record: InboundRecord) => (stored.push(record), "stored" as const);
  // Only an account's settings are read.
  const account = {
    settings: { channel: "slack", accountId: "main", entry: { ...entry, ...settings } },
  } as unknown as Account;
  const taken = { message: { ...message, ...more }, lease: null };
  await receiveMessage({ store: { add }, now: () => 0 }, account, taken);
  return stored[0] ?? assert.fail("the message was not stored");
}

test("in a group only an owner steers a run, because it may be an owner's run", async () => {
  const boss = { sender: { id: "boss" } };
  const guestAlone = { target: { kind: "user", id: "guest" } } as const;
  assert.equal((await recordOf({})).onBusy, "enqueue");
  assert.equal((await recordOf(boss)).onBusy, "steer");
  assert.equal((await recordOf(guestAlone)).onBusy, "steer");
  assert.equal((await recordOf({}, { owners: [] })).onBusy, "steer");
  assert.equal((await recordOf({}, { onBusy: "interrupt" })).onBusy, "interrupt");
});

test("names and file names are stored as one visible line, and a text with one kind of line break", async () => {
  const { sender, attachments, text } = await recordOf({
    sender: { id: "guest", name: "Bo\u202eb\n43: yes", username: "b\u200bob" },
    attachments: [{ name: "a\u2028\u202egpj.exe", sizeBytes: 1 }],
    text: "one\r\ntwo\u2028three\rfour\u0000\ud83d",
  });
  assert.deepEqual(sender, { id: "guest", isOwner: false, name: "Bob 43: yes", username: "bob" });
  assert.equal(attachments[0]?.name, "a gpj.exe");
  assert.equal(text, "one\ntwo\nthree\nfour\ufffd");
});
