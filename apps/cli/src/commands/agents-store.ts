import { client } from "@switchyard/bus/call";
import { listAgentVersions, removeAgent } from "@switchyard/contracts/agent-store";
import { findBus, withBus } from "../bus-session.ts";
import { printableLine } from "../printable.ts";
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
  terminal.out(`${name} is ${now}; runs that are pinned to ${reply.digest} still find it`);
}

export async function versions(terminal: Terminal, name: string, options: Options): Promise<void> {
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { listAgentVersions }).listAgentVersions({ name }),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.versions.length === 0) {
    return terminal.note(`${name} was never imported; it is a file of the importer, or built in`);
  }
  const lines = tableLines(
    [
      { title: "DIGEST", value: ({ digest }) => digest },
      {
        title: "STATE",
        value: ({ digest, supersededAt }) => {
          if (digest === reply.current) return "current";
          return supersededAt === null ? "stored" : "superseded";
        },
      },
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
