import { client } from "@switchyard/bus/call";
import {
  diffAgent,
  listAgentVersions,
  removeAgent,
  rollbackAgent,
} from "@switchyard/contracts/agent-store";
import { findBus, withBus } from "../bus-session.ts";
import { printableLine } from "../printable.ts";
import { diffLines } from "../skills/diff-lines.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface Options {
  readonly json?: true;
}

export async function remove(terminal: Terminal, name: string, options: Options): Promise<void> {
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { removeAgent }).removeAgent({ name }),
  );
  if (options.json) return writeJson(terminal, reply);
  const now = reply.current === null ? "no longer listed" : `${reply.current} now`;
  terminal.out(
    `${name} is ${now}; back with: yard agents rollback ${name} --version ${reply.digest}`,
  );
}

export async function versions(terminal: Terminal, name: string, options: Options): Promise<void> {
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { listAgentVersions }).listAgentVersions({ name }),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.versions.length === 0) {
    return terminal.note(`${name} is built in and has no versions`);
  }
  const lines = tableLines(
    [
      { title: "DIGEST", value: ({ digest }) => digest },
      {
        title: "STATE",
        value: ({ digest, supersededAt }) => {
          if (digest === reply.current) return "current";
          if (digest === reply.withheld?.digest) return `withheld: ${reply.withheld.reason}`;
          return supersededAt === null ? "stored" : "superseded";
        },
      },
      { title: "VERDICT", value: ({ verdict }) => verdict?.verdict ?? "not scanned" },
      { title: "IMPORTED", value: ({ provenance }) => provenance.at },
      { title: "BY", value: ({ provenance }) => provenance.by },
      {
        title: "FROM",
        value: ({ provenance: { git, label } }) =>
          printableLine(git?.url ? `${git.url}@${git.commit ?? "?"}` : label),
        maxWidth: 60,
      },
    ],
    reply.versions,
  );
  for (const line of lines) terminal.out(line);
}

export async function rollback(
  terminal: Terminal,
  name: string,
  { version, json }: Options & { version?: string },
): Promise<void> {
  const reply = await withBus(await findBus(process.env), (bus) =>
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
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { diffAgent }).diffAgent({ name, from, to }),
  );
  if (json) return writeJson(terminal, reply);
  for (const line of diffLines(reply)) terminal.out(line);
}
