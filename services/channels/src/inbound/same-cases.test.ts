import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { signedWebhookHeaders, webhookKey } from "@switchyard/service/standard-webhook";
import type { APIMessage } from "discord-api-types/v10";
import type { Update, UserFromGetMe } from "grammy/types";
import { simpleParser } from "mailparser";
import type { AccountEntry } from "../accounts/channels-file.ts";
import type { Account } from "../accounts/accounts.ts";
import { admitMessage } from "./admit-message.ts";
import type { InboundRecord } from "./inbound-store.ts";
import { receiveMessage } from "./receive-message.ts";
import type { IncomingMessage } from "../adapters/adapter.ts";
import { discordMessage } from "../adapters/discord/discord-message.ts";
import { emailMessage } from "../adapters/email/email-message.ts";
import { slackMessage } from "../adapters/slack/slack-message.ts";
import { telegramMessage } from "../adapters/telegram/telegram-message.ts";
import { readWebhook } from "../adapters/webhook/webhook-inbound.ts";

/** An action of a person, whatever the provider. */
interface Said {
  /** Left out: Ada. */
  readonly by?: "us" | "bot" | "nobody";
  readonly in?: "group";
  readonly text?: string;
  readonly names?: "us";
  /** An answer to an earlier message, which is another person's or ours. */
  readonly repliesTo?: "bob" | "us";
  readonly file?: boolean;
  readonly isEdit?: boolean;
}

/** The message that the adapter reports; null when no agent may see it. */
interface Received {
  readonly from: string;
  readonly isDirect: boolean;
  readonly text: string;
  readonly speaksToUs: boolean;
  readonly repliesTo: string | null;
  readonly files: readonly string[];
  readonly at: string;
}

interface Provider {
  read(this: void, said: Said): Promise<IncomingMessage | null> | IncomingMessage | null;
  readonly ada: string;
  /** The earlier message as an answer names it; null: answers are threads, and name none. */
  readonly earlier: string | null;
  /** The text that mentions us; null: a text cannot. */
  readonly naming: string | null;
  /** The actions that the provider does not support. */
  readonly lacks: readonly (keyof Said | NonNullable<Said["by"]>)[];
}

const AT = new Date("2026-01-02T03:04:05.000Z");
const SECONDS = AT.getTime() / 1_000;
const FILE = { name: "plan.pdf", mimeType: "application/pdf", size: 3 };

const telegram: Provider = {
  ada: "42",
  earlier: "6",
  naming: "@yard_bot",
  lacks: [],
  read({ by, in: where, text, names, repliesTo, file = false, isEdit = false }) {
    const me = { id: 1, is_bot: true, first_name: "Yard", username: "yard_bot" };
    const people = {
      ada: { id: 42, is_bot: false, first_name: "Ada" },
      bob: { id: 43, is_bot: false, first_name: "Bob" },
      bot: { id: 9, is_bot: true, first_name: "Other" },
      us: me,
    };
    const words = { text, entities: names && [{ type: "mention", offset: 0, length: 9 }] };
    const { name: file_name, mimeType: mime_type, size: file_size } = FILE;
    const message = {
      message_id: 7,
      date: SECONDS,
      chat:
        where === "group"
          ? { id: -5, type: "supergroup", title: "Team" }
          : { id: 42, type: "private" },
      ...(by !== "nobody" && { from: people[by ?? "ada"] }),
      ...(file
        ? { caption: text, document: { file_id: "f", file_name, mime_type, file_size } }
        : words),
      ...(repliesTo !== undefined && {
        reply_to_message: { message_id: 6, from: people[repliesTo] },
      }),
    };
    // Contains only the fields that are read.
    const update = isEdit ? { edited_message: message } : { message };
    return telegramMessage(
      { update_id: 1, ...update } as unknown as Update,
      me as unknown as UserFromGetMe,
    );
  },
};

const slack: Provider = {
  ada: "U42",
  earlier: null,
  naming: "<@UBOT>",
  lacks: [],
  read({ by, in: where, text, repliesTo, file = false, isEdit = false }) {
    const { name, mimeType: mimetype, size } = FILE;
    const writers = {
      ada: { user: "U42" },
      us: { user: "UBOT", bot_id: "B1" },
      bot: { user: "U9", bot_id: "B9" },
      nobody: {},
    };
    const message = {
      type: "message",
      ...writers[by ?? "ada"],
      channel: where === "group" ? "C5" : "D5",
      channel_type: where === "group" ? "channel" : "im",
      ts: `${SECONDS}.000100`,
      text: text ?? "",
      ...(repliesTo !== undefined && {
        thread_ts: "1700000000.000100",
        parent_user_id: repliesTo === "us" ? "UBOT" : "U43",
      }),
      ...(file && { subtype: "file_share", files: [{ name, mimetype, size }] }),
    };
    const { channel, ts } = message;
    const event = isEdit
      ? { type: "message", subtype: "message_changed", channel, ts, message }
      : message;
    return slackMessage({ event }, { userId: "UBOT" });
  },
};

const discord: Provider = {
  ada: "42",
  earlier: "6",
  naming: "<@1>",
  // An edit is an event of its own, which is not listened to; each message has an author.
  lacks: ["isEdit", "nobody"],
  read({ by, in: where, text, names, repliesTo, file = false }) {
    const { name: filename, mimeType: content_type, size } = FILE;
    const people = {
      ada: { id: "42", username: "ada", global_name: "Ada" },
      bob: { id: "43", username: "bob", global_name: "Bob" },
      bot: { id: "9", username: "other", bot: true },
      us: { id: "1", username: "yard", bot: true },
    };
    const message = {
      id: "7",
      type: repliesTo === undefined ? 0 : 19,
      channel_id: "5",
      author: people[by === "nobody" ? "ada" : (by ?? "ada")],
      content: text ?? "",
      timestamp: AT.toISOString(),
      attachments: file
        ? [{ id: "1", filename, content_type, size, url: "https://x.example/" }]
        : [],
      mentions: names === undefined ? [] : [people.us],
      ...(repliesTo !== undefined && {
        message_reference: { message_id: "6" },
        // The author of an answer may switch off that it mentions the other author.
        referenced_message: { id: "6", author: people[repliesTo] },
      }),
    };
    const place = { isDirect: where !== "group", ownId: "1" };
    return discordMessage(message as unknown as APIMessage, place);
  },
};

const email: Provider = {
  ada: "ada@example.org",
  earlier: "<6@example.org>",
  naming: null,
  lacks: ["in", "isEdit"],
  async read({ by, text, repliesTo, file = false }) {
    const writers = {
      ada: ["From: Ada <ada@example.org>"],
      us: ["From: yard@example.org"],
      bot: ["From: robot@example.org", "Auto-Submitted: auto-generated"],
      nobody: [],
    };
    const { name, mimeType } = FILE;
    const part = ["Content-Type: text/plain; charset=utf-8", "", text ?? ""];
    const body = file
      ? [
          "Content-Type: multipart/mixed; boundary=b",
          "",
          "--b",
          ...part,
          "--b",
          `Content-Type: ${mimeType}`,
          `Content-Disposition: attachment; filename=${name}`,
          "",
          "pdf",
          "--b--",
        ]
      : part;
    const mail = [
      ...writers[by ?? "ada"],
      "To: yard@example.org",
      "Message-ID: <7@example.org>",
      `Date: ${AT.toUTCString()}`,
      "MIME-Version: 1.0",
      ...(repliesTo === undefined ? [] : ["In-Reply-To: <6@example.org>"]),
      ...body,
    ];
    const parsed = await simpleParser(mail.join("\r\n"));
    const facts = { ownAddress: "yard@example.org", authservId: undefined, uidKey: "1.7" };
    const read = emailMessage(parsed, facts);
    return "message" in read ? read.message : null;
  },
};

const SECRET = `whsec_${randomBytes(32).toString("base64")}`;
const webhook: Provider = {
  ada: "ada",
  earlier: "6",
  // The program itself names the addressee of a text.
  naming: "yard",
  lacks: ["isEdit", "bot", "us"],
  read({ by, in: where, text, names, repliesTo, file = false }) {
    const { name, mimeType, size: sizeBytes } = FILE;
    const body = JSON.stringify({
      ...(by !== "nobody" && { sender: { id: "ada", name: "Ada" } }),
      ...(where === "group" && { target: { kind: "group", id: "5" } }),
      messageId: "7",
      text,
      ...(file && { attachments: [{ name, mimeType, sizeBytes }] }),
      ...(where === "group" && { mentionsAccount: names === "us" || repliesTo === "us" }),
      ...(repliesTo !== undefined && { replyToMessageId: "6" }),
      writtenAt: AT.toISOString(),
    });
    const nowMs = AT.getTime();
    const key = webhookKey(SECRET) ?? assert.fail("no secret");
    const headers = signedWebhookHeaders(key, { id: "7", body, nowMs });
    const request = { method: "POST", path: "", headers, body: Buffer.from(body) };
    const read = readWebhook(request, { secrets: [SECRET], nowMs });
    return "message" in read ? read.message : null;
  },
};

const PROVIDERS = { telegram, slack, discord, email, webhook };

/** The defaults of a file without settings, but open to everyone. */
const open: AccountEntry = {
  enabled: true,
  caller: "cli",
  callers: [],
  approvals: [],
  owners: [],
  direct: { policy: "open", allow: [] },
  groups: { policy: "open", allow: [], requireMention: false },
  onBusy: "enqueue",
  reply: "off",
  config: {},
};

async function received(
  channel: string,
  message: IncomingMessage | null,
): Promise<Received | null> {
  if (message === null) return null;
  const stored: InboundRecord[] = [];
  const store = {
    add: async (record: InboundRecord) => {
      stored.push(record);
      return "stored" as const;
    },
  };
  // Only an account's settings are read.
  const account = { settings: { channel, accountId: "main", entry: open } } as unknown as Account;
  await receiveMessage({ store, now: () => AT.getTime() }, account, { message, lease: null });
  const [record] = stored;
  if (record === undefined) return null;
  const { sender, address, text, mentionsAccount, replyToMessageId, attachments } = record;
  return {
    from: sender.id,
    isDirect: address.target.kind === "user",
    text,
    speaksToUs: mentionsAccount,
    repliesTo: replyToMessageId ?? null,
    files: attachments.map((file) => `${file.name} ${file.mimeType} ${file.sizeBytes}`),
    at: record.writtenAt,
  };
}

const CASES: Readonly<Record<string, { said: Said; is: Partial<Received> | null }>> = {
  "a text": { said: { text: "hello" }, is: {} },
  "a text in a group": { said: { in: "group", text: "hello" }, is: { speaksToUs: false } },
  "a text that names us": { said: { in: "group", text: "hello", names: "us" }, is: {} },
  "an answer to somebody": {
    said: { in: "group", text: "yes", repliesTo: "bob" },
    is: { speaksToUs: false },
  },
  "an answer to us": { said: { in: "group", text: "yes", repliesTo: "us" }, is: {} },
  "a private answer": { said: { text: "yes", repliesTo: "us" }, is: {} },
  "a file with a text": { said: { text: "see", file: true }, is: {} },
  "a file without a text": { said: { file: true }, is: {} },
  nothing: { said: {}, is: null },
  "an edit": { said: { text: "hello!", isEdit: true }, is: null },
  "our own message": { said: { text: "hello", by: "us" }, is: null },
  "a program's message": { said: { text: "beep", by: "bot" }, is: null },
};

for (const [name, { said, is }] of Object.entries(CASES))
  test(`${name} is the same message from every provider that has it [N8]`, async () => {
    for (const [provider, { read, ada, earlier, naming, lacks }] of Object.entries(PROVIDERS)) {
      if (lacks.some((what) => what in said || what === said.by)) continue;
      const text = said.names === undefined ? said.text : `${naming} ${said.text}`;
      const expected: Received | null = is && {
        from: ada,
        isDirect: said.in === undefined,
        text: text ?? "",
        speaksToUs: true,
        repliesTo: said.repliesTo === undefined ? null : earlier,
        files: said.file === true ? [`${FILE.name} ${FILE.mimeType} ${FILE.size}`] : [],
        at: AT.toISOString(),
        ...is,
      };
      const message = await read({ ...said, ...(text !== undefined && { text }) });
      assert.deepEqual(await received(provider, message), expected, provider);
    }
  });

test("a sender who is not on the allowlist, or unknown, is ignored with every provider [N8]", async () => {
  const closed: AccountEntry = {
    ...open,
    direct: { policy: "allowlist", allow: ["somebody-else"] },
  };
  for (const [provider, { read, lacks }] of Object.entries(PROVIDERS)) {
    const message = (await read({ text: "hello" })) ?? assert.fail(provider);
    assert.deepEqual(
      admitMessage(closed, message),
      { kind: "ignored", reason: "the sender is not on the allowlist" },
      provider,
    );
    if (lacks.includes("nobody")) continue;
    const unknown = await read({ text: "hello", by: "nobody" });
    // Telegram has posts of a channel without an author: the channel is the sender, and is on no list either.
    assert.ok(unknown === null || admitMessage(closed, unknown).kind === "ignored", provider);
  }
});

test("our own messages and empty ones are dropped before the account's rules are applied", async () => {
  for (const [provider, { read, lacks }] of Object.entries(PROVIDERS))
    if (!lacks.includes("us"))
      assert.equal(await read({ text: "hello", by: "us" }), null, provider);
});
