import { client } from "@switchyard/bus/call";
import {
  diffAgent,
  listAgentVersions,
  removeAgent,
  rollbackAgent,
} from "@switchyard/contracts/skill-importer/agent-store";
import { findBus, withBus } from "../bus-session.ts";
import { diffLines } from "../skills/diff-lines.ts";
import { type Times } from "../quantities.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { versionLines } from "./version-lines.ts";

interface Options {
  readonly json?: true;
}

export async function remove(terminal: Terminal, name: string, options: Options): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { removeAgent }).removeAgent({ name }),
  );
  if (options.json) return writeJson(terminal, reply);
  const now = reply.current === null ? "no longer listed" : `${reply.current} now`;
  terminal.out(`${name} is ${now}; back with: yard agents rollback ${name} ${reply.digest}`);
}

export async function versions(
  terminal: Terminal,
  name: string,
  options: Options & Times,
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listAgentVersions }).listAgentVersions({ name }),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.versions.length === 0) {
    return terminal.note(`${name} is built in and has no versions`);
  }
  const lines = versionLines(reply, { wide: options.wide, id: "DIGEST", idOf: digestOf });
  for (const line of lines) terminal.out(line);
}

export async function rollback(
  terminal: Terminal,
  name: string,
  { version, json }: Options & { version?: string | undefined },
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { rollbackAgent }).rollbackAgent({ name, digest: version }),
  );
  if (json) return writeJson(terminal, reply);
  terminal.out(`${name} is ${reply.digest} again`);
}

export async function diff(
  terminal: Terminal,
  name: string,
  { from, to, json }: Options & { from?: string; to?: string },
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { diffAgent }).diffAgent({ name, from, to }),
  );
  if (json) return writeJson(terminal, reply);
  for (const line of diffLines(reply)) terminal.out(line);
}

function digestOf({ digest }: { readonly digest: string }): string {
  return digest;
}
