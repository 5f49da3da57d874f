import type { Reply } from "@switchyard/client/client";
import { CliError } from "../cli-error.ts";
import { confirm } from "../confirm.ts";
import { withGateway } from "../gateway-client.ts";
import { printableLine } from "../printable.ts";
import { count, timeText, type Times } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface Json {
  readonly json?: true;
}

interface WebhookChanges {
  readonly url?: string;
  readonly event?: string[];
  readonly agent?: string;
  readonly anyAgent?: true;
}

type Webhook = Reply<"GET /webhooks">["webhooks"][number];
type Dead = Reply<"GET /webhooks/{id}">["dead"][number];
type Hook = Reply<"GET /hooks">["hooks"][number];

export async function list(terminal: Terminal, options: Json & Times): Promise<void> {
  const reply = await withGateway(terminal, (gateway) => gateway.request("GET /webhooks"));
  if (options.json) return writeJson(terminal, reply);
  if (reply.webhooks.length === 0)
    return terminal.note(
      "you have no webhooks; make one with: ./yard webhooks add URL --event 'run.*'",
    );
  const columns = [
    { title: "ID", value: ({ id }: Webhook) => id },
    { title: "STATE", value: stateOf },
    { title: "EVENTS", value: ({ events }: Webhook) => events.join(" "), maxWidth: 40 },
    { title: "AGENT", value: ({ agent }: Webhook) => agent ?? "all" },
    { title: "URL", value: ({ url }: Webhook) => printableLine(url), maxWidth: 60 },
    { title: "MADE", value: ({ createdAt }: Webhook) => timeText(createdAt, options) },
  ];
  for (const line of tableLines(columns, reply.webhooks)) terminal.out(line);
}

/** The secret alone on standard output, so that it can go into a file. */
export async function add(
  terminal: Terminal,
  url: string,
  { event: events, agent, json }: Json & { readonly event: string[]; readonly agent?: string },
): Promise<void> {
  const body = { url, events, ...(agent !== undefined && { agent }) };
  const made = await withGateway(terminal, (gateway) =>
    gateway.request("POST /webhooks", { body }),
  );
  if (json) return writeJson(terminal, made);
  terminal.note(
    `${made.webhook.id} gets ${events.join(", ")}; keep its secret now: it is shown only once`,
  );
  terminal.out(made.secret);
}

/** The secret stays. */
export async function edit(
  terminal: Terminal,
  id: string,
  { url, event: events, agent, anyAgent, json }: Json & WebhookChanges,
): Promise<void> {
  const body = {
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events }),
    ...(agent !== undefined && { agent }),
    ...(anyAgent && { agent: null }),
  };
  if (Object.keys(body).length === 0)
    throw new CliError("usage", "name what is to change", {
      hint: "see it with: ./yard webhooks edit --help",
    });
  const reply = await withGateway(terminal, (gateway) =>
    gateway.request("PATCH /webhooks/{id}", { path: { id }, body }),
  );
  if (json) return writeJson(terminal, reply);
  const { webhook } = reply;
  const whose = webhook.agent === null ? "" : ` of runs of ${webhook.agent}`;
  terminal.out(
    printableLine(`${webhook.id} sends ${webhook.events.join(", ")}${whose} to ${webhook.url}`),
  );
}

export async function remove(
  terminal: Terminal,
  id: string,
  options: Json & { readonly yes?: true },
): Promise<void> {
  await confirm(`end ${id} and forget what it has not delivered?`, options);
  const reply = await withGateway(terminal, (gateway) =>
    gateway.request("DELETE /webhooks/{id}", { path: { id } }),
  );
  if (options.json) return writeJson(terminal, reply);
  terminal.out(`${reply.id} has ended`);
}

/** Lists pending and abandoned deliveries. */
export async function deliveries(
  terminal: Terminal,
  id: string,
  options: Json & Times,
): Promise<void> {
  const reply = await withGateway(terminal, (gateway) =>
    gateway.request("GET /webhooks/{id}", { path: { id } }),
  );
  if (options.json) return writeJson(terminal, reply);
  const { webhook, pending, dead } = reply;
  terminal.note(`${stateOf(webhook)}; ${pending} waiting, ${dead.length} given up`);
  if (webhook.lastError !== null) terminal.note(printableLine(`last error: ${webhook.lastError}`));
  const columns = [
    { title: "DELIVERY", value: ({ deliveryId }: Dead) => deliveryId },
    { title: "EVENT", value: ({ event }: Dead) => event },
    { title: "ATTEMPTS", value: ({ attempts }: Dead) => String(attempts) },
    { title: "LAST", value: ({ at }: Dead) => timeText(at, options) },
    { title: "ERROR", value: ({ error }: Dead) => printableLine(error), maxWidth: 70 },
  ];
  if (dead.length > 0) for (const line of tableLines(columns, dead)) terminal.out(line);
}

export async function redeliver(
  terminal: Terminal,
  { id, delivery: deliveryId }: { readonly id: string; readonly delivery: string | undefined },
  { json }: Json,
): Promise<void> {
  const request = { path: { id }, body: deliveryId === undefined ? {} : { deliveryId } };
  const reply = await withGateway(terminal, (gateway) =>
    gateway.request("POST /webhooks/{id}/redeliver", request),
  );
  if (json) return writeJson(terminal, reply);
  terminal.out(
    `${id} is enabled; sent again: ${count(reply.redelivered, "delivery", "deliveries")}`,
  );
}

/** `yard webhooks hooks`: incoming webhooks, which start runs. */
export async function hooks(terminal: Terminal, { json }: Json): Promise<void> {
  const reply = await withGateway(terminal, (gateway) => gateway.request("GET /hooks"));
  if (json) return writeJson(terminal, reply);
  if (reply.hooks.length === 0)
    return terminal.note("there are no hooks; hooks.json names them, see docs/http.md");
  const columns = [
    { title: "HOOK", value: ({ name }: Hook) => `/hooks/${name}` },
    { title: "AGENT", value: ({ agent }: Hook) => agent },
    { title: "SIGNED", value: ({ signature }: Hook) => signature },
    { title: "EVENTS", value: ({ events }: Hook) => events?.join(" ") ?? "all", maxWidth: 60 },
  ];
  for (const line of tableLines(columns, reply.hooks)) terminal.out(line);
}

function stateOf({ status, reason, failingSince }: Webhook): string {
  if (status === "disabled") return `disabled: ${reason ?? ""}`;
  return failingSince === null ? "enabled" : "failing";
}
