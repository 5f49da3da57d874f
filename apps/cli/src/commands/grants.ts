import { client } from "@switchyard/bus/call";
import { GrantId, type SessionGrant } from "@switchyard/contracts/approval-record";
import { listGrants, revokeGrant } from "@switchyard/contracts/session-grants";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { timeText, type Times } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { actorText } from "./approval-lines.ts";

interface Options {
  readonly json?: true;
}

export async function list(terminal: Terminal, options: Options & Times): Promise<void> {
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { listGrants }).listGrants({ limit: 500 }),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.grants.length === 0) return terminal.note("there are no standing approvals");
  const columns = [
    { title: "ID", value: ({ id }: SessionGrant) => id },
    { title: "TOOL", value: ({ tool }: SessionGrant) => tool.name, maxWidth: 48 },
    { title: "WHO", value: actorText, maxWidth: 72 },
    { title: "SAME", value: ({ sameArguments }: SessionGrant) => sameArguments.join(" ") },
    { title: "USES LEFT", value: ({ usesLeft }: SessionGrant) => String(usesLeft) },
    { title: "UNTIL", value: ({ expiresAt }: SessionGrant) => timeText(expiresAt, options) },
    { title: "BY", value: ({ grantedBy }: SessionGrant) => grantedBy },
  ];
  for (const line of tableLines(columns, reply.grants)) terminal.out(line);
}

export async function revoke(terminal: Terminal, id: string, options: Options): Promise<void> {
  if (!GrantId.safeParse(id).success)
    throw new CliError("usage", `${JSON.stringify(id)} is not a valid id of a standing approval`, {
      hint: "see them with: ./yard grants list",
    });
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { revokeGrant }).revokeGrant({ id }),
  );
  if (options.json) return writeJson(terminal, reply);
  terminal.note(`grant ${id} is revoked; calls of ${reply.grant.tool.name} need a person again`);
}
