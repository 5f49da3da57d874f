import { client } from "@switchyard/bus/call";
import {
  createChatLink,
  listChatLinks,
  revokeChatLink,
  type ChatLink,
} from "@switchyard/contracts/policy/chat-links";
import { findBus, withBus } from "../bus-session.ts";
import { printableLine } from "../printable.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

const contracts = { createChatLink, listChatLinks, revokeChatLink };

interface Output {
  readonly json?: true;
}

export async function link(
  terminal: Terminal,
  { ask, json }: Output & { readonly ask?: true },
): Promise<void> {
  const made = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, contracts).createChatLink({ asks: ask === true }),
  );
  if (json) return writeJson(terminal, made);
  terminal.out(made.code);
  terminal.note(
    `send it to the bot in a private chat before ${made.expiresAt}; it works once. Show it to no one: it decides in your name`,
  );
}

export async function links(
  terminal: Terminal,
  { user, json }: Output & { readonly user?: string },
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, contracts).listChatLinks(user === undefined ? {} : { user }),
  );
  if (json) return writeJson(terminal, reply);
  const lines = tableLines<ChatLink>(
    [
      { title: "ID", value: ({ id }) => id },
      { title: "USER", value: ({ caller }) => caller },
      { title: "ACCOUNT", value: ({ channel, accountId }) => `${channel}/${accountId}` },
      { title: "PERSON", value: ({ personId }) => printableLine(personId), maxWidth: 40 },
      { title: "ASKED", value: ({ asks }) => (asks ? "yes" : "no") },
      { title: "UNTIL", value: ({ expiresAt }) => expiresAt },
    ],
    reply.links,
  );
  if (reply.links.length === 0) terminal.note("no chat is linked");
  else for (const line of lines) terminal.out(line);
}

export async function unlink(terminal: Terminal, id: string, { json }: Output): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, contracts).revokeChatLink({ id }),
  );
  if (json) return writeJson(terminal, reply);
  const { channel, accountId, personId } = reply.link;
  terminal.out(`ended: ${reply.link.id}, ${channel}/${accountId} ${printableLine(personId)}`);
}
