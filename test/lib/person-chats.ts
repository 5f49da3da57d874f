import assert from "node:assert/strict";
import { until } from "@switchyard/local-servers/until";
import type { startDiscordServer } from "../../services/channels/test-fixtures/discord-server.ts";
import type { startMailServer } from "../../services/channels/test-fixtures/mail-server.ts";
import type { startSlackServer } from "../../services/channels/test-fixtures/slack-server.ts";
import type { startTelegramServer } from "../../services/channels/test-fixtures/telegram-server.ts";

/** A message as its reader sees it. */
export interface Shown {
  readonly id: string;
  readonly text: string;
  readonly buttons: readonly { readonly label: string; readonly data: string }[];
}

/** One provider as persons see it. */
export interface PersonChat {
  readonly name: string;
  /** Ids of the linked person, and of another one. */
  readonly people: readonly [string, string];
  /** A group of both; null where no test has one. */
  readonly groupId: string | null;
  /** False: a message cannot be changed, so that only its page shows what became of it. */
  readonly isEdited: boolean;
  write(from: string, text: string, repliedTo?: string): void;
  /** Messages with this text in the private chat of a person, or in the group. */
  messages(place: string, part: string): Shown[];
  /** Rejects when no answer comes. */
  press(message: Shown, by: { from: string; data: string; place?: string }): Promise<string>;
}

/** Waits for the answer to a press; a person presses again after that time. */
async function answered<T>(answer: () => T | null): Promise<T> {
  const found = await until(answer, (one) => one !== null, { timeoutMs: 20_000 });
  assert.ok(found !== null);
  return found;
}

type Server<Start extends (...given: never[]) => unknown> = Awaited<ReturnType<Start>>;

const SLACK_GROUP = "C1";
const DISCORD_GROUP = "200";
const slackPlace = (place: string) => (place === SLACK_GROUP ? place : `D${place.slice(1)}`);
const discordPlace = (place: string) => (place === DISCORD_GROUP ? place : `7${place}`);
type SlackBlock = { type: string; elements: Record<string, unknown>[] };
type DiscordRow = { components: { label: string; custom_id: string }[] };

export function slackChat(slack: Server<typeof startSlackServer>): PersonChat {
  return {
    name: "slack",
    people: ["U1", "U666"],
    groupId: SLACK_GROUP,
    isEdited: true,
    write(from, text, repliedTo) {
      const thread = repliedTo === undefined ? {} : { thread_ts: repliedTo };
      slack.push(slack.message({ user: from, channel: slackPlace(from), ...thread }, text));
    },
    messages: (place, part) =>
      slack.messages
        .filter(({ channel }) => channel === slackPlace(place))
        .map(({ ts, text, blocks }) => {
          const all = blocks as SlackBlock[];
          const buttons = all
            .filter(({ type }) => type === "actions")
            .flatMap(({ elements }) => elements)
            .map((one) => ({
              label: (one["text"] as { text: string }).text,
              data: String(one["value"]),
            }));
          const whole = all
            .filter(({ type }) => type === "rich_text")
            .flatMap(({ elements }) => elements)
            .flatMap(({ elements }) => elements as { text: string }[])
            .map((one) => one.text)
            .join("");
          return { id: String(ts), text: whole === "" ? String(text) : whole, buttons };
        })
        .filter(({ text }) => text.includes(part)),
    async press({ id }, { from, data, place }) {
      const where = place === undefined ? {} : { channel: slackPlace(place) };
      const { answer } = slack.press(id, { from, value: data, ...where });
      const { text, isEphemeral } = await answered(answer);
      assert.ok(isEphemeral);
      return text;
    },
  };
}

export function discordChat(discord: Server<typeof startDiscordServer>): PersonChat {
  return {
    name: "discord",
    people: ["42", "666"],
    groupId: DISCORD_GROUP,
    isEdited: true,
    write(from, text, repliedTo) {
      const reply =
        repliedTo === undefined ? {} : { type: 19, message_reference: { message_id: repliedTo } };
      const fields = { author: { id: from, username: "x" }, channel_id: discordPlace(from) };
      discord.push(discord.message({ ...fields, ...reply }, text));
    },
    messages: (place, part) =>
      discord.messages
        .filter(({ channel_id: channel }) => channel === discordPlace(place))
        .map(({ id, content, components }) => {
          const buttons = ((components ?? []) as DiscordRow[])
            .flatMap((row) => row.components)
            .map(({ label, custom_id: data }) => ({ label, data }));
          const text = String(content).replace(/^```\n/, ""); // the message is a code block
          return { id: String(id), text, buttons };
        })
        .filter(({ text }) => text.includes(part)),
    async press({ id }, { from, data, place }) {
      const where = place === undefined ? {} : { channel: discordPlace(place) };
      const { text, isEphemeral } = await answered(discord.press(id, { from, data, ...where }));
      assert.ok(isEphemeral);
      return text;
    },
  };
}

export function telegramChat(telegram: Server<typeof startTelegramServer>): PersonChat {
  return {
    name: "telegram",
    people: ["42", "666"],
    groupId: null,
    isEdited: true,
    write(from, text, repliedTo) {
      const more =
        repliedTo === undefined ? {} : { reply_to_message: { message_id: Number(repliedTo) } };
      const sender = { id: Number(from), is_bot: false, first_name: "A" };
      const fields = { from: sender, chat: { id: sender.id, type: "private" }, ...more };
      telegram.push({ message: telegram.message(fields, text) });
    },
    messages: (person, part) =>
      [...telegram.shown]
        .filter(([, { chat }]) => chat === Number(person))
        .map(([id, { text, buttons }]) => ({
          id: String(id),
          text: String(text),
          buttons: buttons.map(({ text: label, data }) => ({ label, data })),
        }))
        .filter(({ text }) => text.includes(part)),
    press: async ({ id }, { from, data }) =>
      (await answered(telegram.press(Number(id), { from: Number(from), data }).answer)).text,
  };
}

/** Mails with the page of their link as buttons. `origin` is where the gateway serves it. */
export function mailChat(mail: Server<typeof startMailServer>, origin: string): PersonChat {
  const page = async (path: string, form?: Record<string, string>): Promise<string> => {
    const response = await fetch(`${origin}${path}`, {
      ...(form && { method: "POST", headers: { origin }, body: new URLSearchParams(form) }),
    });
    return response.text();
  };
  return {
    name: "email",
    people: ["ann@example.test", "eve@example.test"],
    groupId: null,
    isEdited: false,
    write(from, text) {
      const domain = from.slice(from.indexOf("@") + 1);
      const proof = `mx.test; dmarc=pass header.from=${domain}`;
      mail.push({ From: from, "Authentication-Results": proof, Subject: "Hello" }, text);
    },
    messages: (person, part) =>
      mail.received
        .filter(({ to }) => to.includes(person))
        .map(({ source }) => textOf(source))
        .filter((text) => text.includes(part))
        .map((text) => {
          const [, path = ""] = /(\/decide\/\S+)/.exec(text) ?? [];
          const isQuestion = text.includes("Question: ");
          const buttons = isQuestion
            ? [{ label: "go on", data: "choice=0" }]
            : [{ label: "Approve", data: "verdict=approve" }];
          return { id: path, text, buttons: path === "" ? [] : buttons };
        }),
    async press({ id }, { data }) {
      const press = /name="press" value="([\w-]{22})"/.exec(await page(id))?.[1] ?? "";
      const shown = await page(id, { ...Object.fromEntries(new URLSearchParams(data)), press });
      return /<strong>(.*?)<\/strong>/s.exec(shown)?.[1] ?? shown;
    },
  };
}

/** The text of a mail that is quoted-printable. */
export function textOf(source: string): string {
  const body = source
    .slice(source.indexOf("\r\n\r\n"))
    .replaceAll(/=\r\n/g, "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return Buffer.from(body, "latin1").toString();
}
