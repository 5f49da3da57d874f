import { setTimeout as pause } from "node:timers/promises";
import { readEvents } from "@switchyard/bus/events";
import { filterOf } from "@switchyard/contracts/define";
import {
  isPartOfResource,
  listResources,
  listResourceTemplates,
  readResource,
  resourceUpdated,
  subscribeResource,
  unsubscribeResource,
  type ResourceContent,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import type { ExitCode } from "../exit-codes.ts";
import { findBus, withBus } from "../bus-session.ts";
import { printable, printableLine } from "../printable.ts";
import { formatBytes } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, writeJsonLine, type Terminal } from "../terminal.ts";
import { exitOfStop, untilStopped } from "../until-stopped.ts";
import { askMcpServer } from "./ask-mcp-server.ts";
import { renewWhile } from "./renew-while.ts";

interface Options {
  readonly json?: true;
}

const WIDTH = 60;

export async function list(terminal: Terminal, server: string, options: Options): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    askMcpServer(bus, listResources, { server, request: {} }),
  );
  if (options.json) return writeJson(terminal, reply);
  const rows = reply.resources.map(({ uri, name, mimeType }) => ({ uri, name, type: mimeType }));
  showTable(terminal, "RESOURCE", rows);
  if (reply.more) terminal.note("the server has more resources than are listed");
}

export async function templates(
  terminal: Terminal,
  server: string,
  options: Options,
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    askMcpServer(bus, listResourceTemplates, { server, request: {} }),
  );
  if (options.json) return writeJson(terminal, reply);
  const rows = reply.templates.map(({ uriTemplate, name, mimeType }) => ({
    uri: uriTemplate,
    name,
    type: mimeType,
  }));
  showTable(terminal, "TEMPLATE", rows);
  if (reply.more) terminal.note("the server has more templates than are listed");
}

/** Text goes to stdout as it is; other content is listed with its size. */
export async function read(
  terminal: Terminal,
  server: string,
  { uri, ...options }: { uri: string } & Options,
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    askMcpServer(bus, readResource, { server, request: { uri } }),
  );
  if (options.json) return writeJson(terminal, reply);
  for (const content of reply.contents) terminal.out(shown(content));
  terminal.note(terminal.paintNote("dim", reply.decision.reason));
}

/** A subscription that is not renewed expires after this time, as does that of a killed command. */
const KEPT_SECONDS = 300;

/**
 * Shows changes as they arrive, until it is interrupted, has shown the requested number, or the requested time is over. Without
 * such a time the subscription is renewed while the command runs.
 */
export async function subscribe(
  terminal: Terminal,
  server: string,
  { uri, count, ttl, ...options }: { uri: string; count?: number; ttl?: number } & Options,
): Promise<ExitCode> {
  const request = { uri, ttlSeconds: ttl ?? KEPT_SECONDS };
  return untilStopped(async (stop) => {
    await withBus(await findBus(terminal.env), async (bus) => {
      const renew = () => askMcpServer(bus, subscribeResource, { server, request });
      const { expiresAt } = await renew();
      const ending = new AbortController();
      const lasting = ttl === undefined ? renewed(terminal, renew, ending) : ended(ttl, ending);
      const signal = AbortSignal.any([stop.signal, ending.signal]);
      const filters = [filterOf(resourceUpdated, { server })];
      const onOpen = (): void =>
        terminal.note(
          `subscribed${ttl === undefined ? "" : ` until ${expiresAt}`}; Ctrl-C ends it`,
        );
      let seen = 0;
      try {
        for await (const event of readEvents(bus, { filters, from: "now", signal, onOpen })) {
          const parsed = resourceUpdated.payload.safeParse(event.payload);
          // Other clients subscribe to other resources of the server, and all changes arrive as events.
          if (!parsed.success || !isPartOfResource(parsed.data.uri, uri)) continue;
          if (options.json) writeJsonLine(terminal, parsed.data);
          else terminal.out(`${parsed.data.at}  ${printableLine(parsed.data.uri)}`);
          seen += 1;
          if (seen === count) break;
        }
      } finally {
        ending.abort();
        await askMcpServer(bus, unsubscribeResource, { server, request: { uri } });
      }
      const refusal = await lasting;
      if (refusal !== null) throw refusal;
    });
    return exitOfStop(stop.reason);
  });
}

/** Resolves with why the subscription cannot last, and ends the reading then; null when nothing is wrong. */
async function renewed(
  terminal: Terminal,
  renew: () => Promise<unknown>,
  ending: AbortController,
): Promise<unknown> {
  const refusal = await renewWhile({
    renew,
    everyMs: KEPT_SECONDS * 500,
    signal: ending.signal,
    onTrouble: (error) =>
      terminal.note(
        error === null
          ? "the subscription is renewed again"
          : `${terminal.paintNote("yellow", "warning:")} the subscription cannot be renewed now, and changes may be missed: ${printableLine(error.message)}`,
      ),
  });
  ending.abort();
  return refusal;
}

/** Ends the reading when the time is over. */
async function ended(seconds: number, ending: AbortController): Promise<null> {
  await pause(seconds * 1_000, undefined, { signal: ending.signal }).catch(() => undefined);
  ending.abort();
  return null;
}

function showTable(
  terminal: Terminal,
  title: string,
  rows: readonly { uri: string; name: string; type: unknown }[],
): void {
  if (rows.length === 0) return terminal.note("the policy lets you read none of this server");
  const lines = tableLines(
    [
      { title, value: (row) => printableLine(row.uri) },
      { title: "NAME", value: (row) => printableLine(row.name), maxWidth: WIDTH },
      {
        title: "TYPE",
        value: (row) => (typeof row.type === "string" ? printableLine(row.type) : "–"),
      },
    ],
    rows,
  );
  for (const line of lines) terminal.out(line);
}

function shown({ uri, mimeType = "no type", text, blob = "" }: ResourceContent): string {
  if (text !== undefined) return printable(text);
  const size = formatBytes(Buffer.byteLength(blob, "base64"));
  return `[${printableLine(uri)}: ${printableLine(mimeType)}, ${size}; --json has the bytes in base64]`;
}
