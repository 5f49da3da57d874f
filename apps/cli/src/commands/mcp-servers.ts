import { client } from "@switchyard/bus/call";
import {
  addServer,
  connectServer,
  disconnectServer,
  enableServer,
  getServer,
  listServers,
  removeServer,
  resetServer,
  serverLogs,
  updateServer,
  type ServerDeclaration,
  type ServerInfo,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { fieldLines } from "../field-lines.ts";
import {
  adoptionNotes,
  jsonDeclaration,
  optionDeclaration,
  type AddOptions,
} from "../mcp-declaration.ts";
import { printableLine } from "../printable.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { count } from "../quantities.ts";
import { reachOfServer } from "./reach-of-server.ts";

interface Output {
  readonly json?: true;
}

const contracts = {
  addServer,
  connectServer,
  disconnectServer,
  enableServer,
  getServer,
  listServers,
  removeServer,
  resetServer,
  serverLogs,
  updateServer,
};

type Api = ReturnType<typeof client<typeof contracts>>;

async function withApi<T>(terminal: Terminal, question: (api: Api) => Promise<T>): Promise<T> {
  return withBus(await findBus(terminal.env), (bus) => question(client(bus, contracts)));
}

/** One server with its status and its declaration; literal secrets are not shown. */
export async function get(terminal: Terminal, server: string, options: Output): Promise<void> {
  const reply = await withApi(terminal, (api) => api.getServer({ server }));
  if (options.json) return writeJson(terminal, reply);
  const { server: info, declaration, updatedAt } = reply;
  const lines = fieldLines([
    ["server", info.id],
    ["status", info.status],
    ["last error", info.lastError ?? ""],
    ["origin", originOf(info, updatedAt)],
    ["tools", String(info.toolCount)],
    ["offers", offersOf(info)],
    ["version", info.serverVersion ?? ""],
    ["protocol", info.protocolVersion ?? ""],
    ["connected at", info.connectedAt ?? ""],
    ["warnings", (info.warnings ?? []).join("; ")],
    ...Object.entries(declaration)
      .filter(([field]) => field !== "id")
      .map(([field, value]): [string, string] => [
        field,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
  ]);
  for (const line of lines) terminal.out(line);
}

export async function add(
  terminal: Terminal,
  name: string,
  options: AddOptions & Output,
): Promise<void> {
  const server = optionDeclaration(name, options);
  await addDeclared(terminal, server, { ...options, notes: adoptionNotes(name, options) });
}

/** Adds a server from the JSON that its documentation gives for a client's configuration file. */
export async function addJson(
  terminal: Terminal,
  name: string,
  options: Output & { text: string },
): Promise<void> {
  const server = jsonDeclaration(name, options.text);
  await addDeclared(terminal, server, { ...options, notes: adoptionNotes(name) });
}

async function addDeclared(
  terminal: Terminal,
  server: ServerDeclaration,
  options: Output & { notes: readonly string[] },
): Promise<void> {
  if (!options.json) for (const note of options.notes) terminal.note(note);
  await change(terminal, options, "added", (api) => api.addServer({ server }));
  if (options.json) return;
  for (const line of await reachOfServer(server, terminal.env)) terminal.note(line);
}

export async function update(
  terminal: Terminal,
  server: string,
  options: Output & { text: string },
): Promise<void> {
  const changes = jsonDeclaration(null, options.text);
  await change(terminal, options, "updated", (api) => api.updateServer({ server, changes }));
}

export async function enable(
  terminal: Terminal,
  server: string,
  options: Output & { enabled: boolean },
): Promise<void> {
  const { enabled } = options;
  await change(terminal, options, enabled ? "enabled" : "disabled", (api) =>
    api.enableServer({ server, enabled }),
  );
}

/** Reverts to the declaration in the server file. */
export async function reset(terminal: Terminal, server: string, options: Output): Promise<void> {
  const reply = await withApi(terminal, (api) => api.resetServer({ server }));
  if (options.json) return writeJson(terminal, reply);
  terminal.note(`${server} is what the server file says again; edits of the file count`);
}

export async function remove(terminal: Terminal, server: string, options: Output): Promise<void> {
  const reply = await withApi(terminal, (api) => api.removeServer({ server }));
  if (options.json) return writeJson(terminal, reply);
  terminal.note(`${server} is removed; nothing of it runs any more`);
}

/** Connects, anew when it is connected. Exit 1 when it could not. */
export async function connect(
  terminal: Terminal,
  server: string,
  options: Output,
): Promise<ExitCode> {
  const reply = await withApi(terminal, (api) => api.connectServer({ server }));
  if (options.json) writeJson(terminal, reply);
  else terminal.note(statusText(reply.server));
  return reply.server.status === "connected" ? EXIT.ok : EXIT.failed;
}

export async function disconnect(
  terminal: Terminal,
  server: string,
  options: Output,
): Promise<void> {
  const reply = await withApi(terminal, (api) => api.disconnectServer({ server }));
  if (options.json) return writeJson(terminal, reply);
  terminal.note(
    reply.server === null
      ? `no MCP server ${printableLine(server)} is configured; there is nothing to disconnect`
      : `${statusText(reply.server)}; connect it with: ./yard mcp connect ${reply.server.id}`,
  );
}

/** Exit 1 when a server that is enabled is not connected, with the reason of each. */
export async function check(
  terminal: Terminal,
  server: string | undefined,
  options: Output,
): Promise<ExitCode> {
  const { servers } = await withApi(terminal, (api) => api.listServers({}));
  const asksFor = servers.filter(({ id }) => server === undefined || id === server);
  if (server !== undefined && asksFor.length === 0) {
    throw new CliError("unknown_server", `MCP server not found: ${server}`, {
      hint: "see the servers with: ./yard mcp list",
    });
  }
  const failed = notConnected(asksFor);
  if (options.json) writeJson(terminal, { ok: failed.length === 0, servers: asksFor });
  else for (const info of asksFor) terminal.out(statusText(info));
  return failed.length === 0 ? EXIT.ok : EXIT.failed;
}

export async function logs(
  terminal: Terminal,
  server: string,
  options: Output & { tail: number },
): Promise<void> {
  const reply = await withApi(terminal, (api) => api.serverLogs({ server, tail: options.tail }));
  if (options.json) return writeJson(terminal, reply);
  if (reply.lines.length === 0) {
    return terminal.note(
      reply.hasProcess === false
        ? `${server} is reached over HTTP: it is not a process of the broker and has no stderr here; what it logs over the protocol: ./yard mcp messages ${server}`
        : `${server} has written nothing to stderr`,
    );
  }
  for (const line of reply.lines) terminal.out(printableLine(line, 10_000));
}

/** A disabled server is in its intended state. */
export function notConnected(servers: readonly ServerInfo[]): ServerInfo[] {
  return servers.filter(({ status }) => status !== "connected" && status !== "disabled");
}

async function change(
  terminal: Terminal,
  options: Output,
  what: string,
  ask: (api: Api) => Promise<{ server: ServerInfo }>,
): Promise<void> {
  const reply = await withApi(terminal, ask);
  if (options.json) return writeJson(terminal, reply);
  const { id, status } = reply.server;
  const now = status === what ? "" : ` and ${status}`;
  for (const warning of reply.server.warnings ?? [])
    terminal.note(`${terminal.paintNote("yellow", "warning:")} ${printableLine(warning)}`);
  terminal.note(`${id} is ${what}${now}; check it with: ./yard mcp check ${id}`);
  if (reply.server.overridesFile === true)
    terminal.note(
      `this stands above the server file: edits of ${id} there are ignored until: ./yard mcp reset ${id}`,
    );
}

function originOf({ id, origin, overridesFile }: ServerInfo, updatedAt: string | null): string {
  if (origin === "file") return "the server file";
  const changed = `changed by a command ${updatedAt}`;
  return overridesFile === true
    ? `${changed}; its entry in the server file is ignored until: ./yard mcp reset ${id}`
    : changed;
}

function offersOf({ capabilities }: ServerInfo): string {
  return Object.entries(capabilities ?? {})
    .flatMap(([feature, isOffered]) => (isOffered ? [feature] : []))
    .join(", ");
}

function statusText({ id, status, toolCount, lastError }: ServerInfo): string {
  const detail =
    status === "connected" ? count(toolCount, "tool") : printableLine(lastError ?? "", 2_000);
  return detail === "" ? `${id}: ${status}` : `${id}: ${status}, ${detail}`;
}
